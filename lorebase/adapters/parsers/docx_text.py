"""Text of Word paragraphs: runs, tabs, breaks and fields, without what was deleted."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from lorebase.adapters.parsers.docx_styles import W

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_SKIPPED = frozenset(
    {
        f"{W}del",
        f"{W}moveFrom",
        f"{W}pPr",
        f"{W}rPr",
        f"{W}instrText",
        f"{W}delText",
        f"{W}txbxContent",
        # The picture of a drawing for programs that cannot draw it: the same text once more.
        f"{_MC}Fallback",
    }
)
_SIGNS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-", f"{W}softHyphen": ""}
_NOTE_REFERENCES = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}


def paragraph_text(paragraph: etree._Element) -> str:
    """What a paragraph says; a note reference as its number in brackets; text boxes are not part of it."""
    return "".join(_pieces(paragraph))


def footnote_ids(paragraph: etree._Element) -> list[str]:
    """The notes that a paragraph refers to, as "footnotes:2"."""
    return [
        f"{_NOTE_REFERENCES[str(reference.tag)]}:{reference.get(f'{W}id', '')}"
        for reference in paragraph.iter(*_NOTE_REFERENCES)
        if not any(ancestor.tag in _SKIPPED for ancestor in reference.iterancestors())
    ]


def text_boxes(paragraph: etree._Element) -> Iterator[etree._Element]:
    """Contents of the outermost text boxes that are anchored in a paragraph."""
    for box in paragraph.iter(f"{W}txbxContent"):
        outer = list(box.iterancestors(f"{W}txbxContent", f"{_MC}Fallback", f"{W}del"))
        if not any(ancestor in outer for ancestor in paragraph.iter(f"{W}txbxContent", f"{_MC}Fallback", f"{W}del")):
            yield box


def _pieces(element: etree._Element) -> Iterator[str]:
    for child in element:
        tag = child.tag
        if tag in (f"{W}t", _MATH_TEXT):
            yield child.text or ""
        elif tag in _SIGNS:
            yield _SIGNS[tag]
        elif tag in _NOTE_REFERENCES:
            yield f"[{child.get(f'{W}id', '')}]"
        elif tag not in _SKIPPED and len(child):
            yield from _pieces(child)
