"""What the style of a Word paragraph means: heading of a level, item of a list, or neither."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

_MAX_HEADING_LEVEL = 9
_TITLE_STYLES = {"title": 0, "subtitle": 1}


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What matters of a style.

    Attributes:
        heading_level: 0 for the document's title, from 1 for headings, None for other paragraphs.
        list_id: Numbering instance of a list item, None outside of lists.
        list_level: Depth in its list, from 0.
    """

    heading_level: int | None = None
    list_id: str | None = None
    list_level: int = 0


class Styles:
    """Looks up paragraph styles, inherited ones included."""

    def __init__(self, styles: etree._Element) -> None:
        elements = styles.findall(f"{W}style")
        self._elements = {element.get(f"{W}styleId", ""): element for element in elements}
        self._default = next((e.get(f"{W}styleId", "") for e in elements if _is_default_paragraph(e)), "")
        self._known: dict[str, ParagraphStyle] = {}

    def of(self, paragraph: etree._Element) -> ParagraphStyle:
        """The style of a paragraph, with what it sets itself."""
        properties = paragraph.find(f"{W}pPr")
        if properties is None:
            return self._named(self._default)
        base = self._named(_value(properties, "pStyle") or self._default)
        return _with_properties(base, properties)

    def _named(self, style_id: str, depth: int = 0) -> ParagraphStyle:
        if style_id in self._known:
            return self._known[style_id]
        element = self._elements.get(style_id)
        if element is None or depth > len(self._elements):
            return ParagraphStyle()
        base = ParagraphStyle()
        if parent := _value(element, "basedOn"):
            base = self._named(parent, depth + 1)
        properties = element.find(f"{W}pPr")
        style = base if properties is None else _with_properties(base, properties)
        name = (_value(element, "name") or "").strip().lower()
        level = _level_of_name(name)
        if level is not None:
            style = ParagraphStyle(level, style.list_id, style.list_level)
        self._known[style_id] = style
        return style


class Numbering:
    """Counts the items of numbered lists."""

    def __init__(self, numbering: etree._Element | None) -> None:
        self._formats: dict[tuple[str, int], str] = {}
        self._abstract: dict[str, str] = {}
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        if numbering is None:
            return
        for abstract in numbering.findall(f"{W}abstractNum"):
            for level in abstract.findall(f"{W}lvl"):
                key = (abstract.get(f"{W}abstractNumId", ""), _int(level.get(f"{W}ilvl", "0")))
                self._formats[key] = _value(level, "numFmt") or "bullet"
        for number in numbering.findall(f"{W}num"):
            self._abstract[number.get(f"{W}numId", "")] = _value(number, "abstractNumId") or ""

    def next_marker(self, list_id: str, level: int) -> str:
        """Marker of the next item at this depth: "-" for bullets, "3." for numbers of any form."""
        counts = self._counts[list_id]
        for deeper in [depth for depth in counts if depth > level]:
            del counts[deeper]
        counts[level] = counts.get(level, 0) + 1
        number_format = self._formats.get((self._abstract.get(list_id, ""), level), "bullet")
        return "-" if number_format in ("bullet", "none") else f"{counts[level]}."


def _with_properties(base: ParagraphStyle, properties: etree._Element) -> ParagraphStyle:
    heading_level, list_id, list_level = base.heading_level, base.list_id, base.list_level
    outline = _value(properties, "outlineLvl")
    if outline is not None:
        level = _int(outline) + 1
        heading_level = level if level <= _MAX_HEADING_LEVEL else None
    numbering = properties.find(f"{W}numPr")
    if numbering is not None:
        list_id = _value(numbering, "numId") or list_id
        list_level = _int(_value(numbering, "ilvl") or str(list_level))
        # "0" takes a paragraph out of the list that its style puts it in (ECMA-376, 17.9.18).
        list_id = None if list_id == "0" else list_id
    return ParagraphStyle(heading_level, list_id, list_level)


def _level_of_name(name: str) -> int | None:
    if name in _TITLE_STYLES:
        return _TITLE_STYLES[name]
    level = name.removeprefix("heading ")
    return int(level) if name.startswith("heading ") and level.isdecimal() else None


def _is_default_paragraph(style: etree._Element) -> bool:
    return style.get(f"{W}type") == "paragraph" and style.get(f"{W}default") in ("1", "true")


def _value(element: etree._Element, name: str) -> str | None:
    child = element.find(f"{W}{name}")
    return None if child is None else child.get(f"{W}val")


def _int(text: str) -> int:
    return int(text) if text.isdecimal() else 0
