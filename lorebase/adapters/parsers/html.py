"""Web pages: what a reader sees, with headings, lists, tables and code; never scripts, styles or navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from lorebase.adapters.parsers.html_tables import is_layout_table, table_cells, table_rows
from lorebase.adapters.parsers.html_text import all_text, inline_text, is_block, tag_of, without_han_breaks
from lorebase.documents.building import DocumentBuilder, one_line
from lorebase.documents.unreadable import unreadable

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NEVER_TEXT = tuple(
    "script style template noscript head iframe object embed svg canvas audio video datalist select button input "  # noqa: SIM905 (one line a thought, not one a word)
    "textarea".split()
)
_NAVIGATION_ROLES = ("navigation", "menu", "menubar", "search")
_INVISIBLE_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_PAGE_PARTS = ("html", "body", "main", "article")


def read_html(text: str, builder: DocumentBuilder, *, name: str) -> None:
    """Add the visible text of a page to a document.

    Raises:
        UnreadableDocumentError: CORRUPT, where elements are nested over 2,048 deep: the library drops what lies deeper.
    """
    # Given as UTF-8 bytes, a page may name any encoding in itself: lxml does not look.
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise unreadable(name, "CORRUPT", "its elements are nested too deeply")
    if root is None:
        return
    title = one_line(root.findtext(".//title") or "")
    _remove(root, _NEVER_TEXT)
    kept = etree.tostring(root)
    _remove_navigation(root)
    if not one_line(all_text(root)):
        # A page that is nothing but navigation says what it says there.
        root = etree.fromstring(kept, etree.HTMLParser(encoding="utf-8"))
    if title and root.find(".//h1") is None:
        builder.add_heading(title, 0)
    try:
        _Walk(builder).visit(root)
    except RecursionError:
        builder.warn("STRUCTURE_LOST", "The page is nested too deeply; its text was kept without its structure.")
        builder.add_paragraph("\n".join(line for piece in root.itertext() if (line := str(piece).strip())))


class _Walk:
    """Visits the elements of a page in reading order; text between blocks becomes paragraphs."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._loose: list[str] = []

    def visit(self, element: etree._Element) -> None:
        """Add what an element holds; what stands loose at its end becomes a paragraph."""
        self._children(element)
        self._flush()

    def _children(self, element: etree._Element) -> None:
        self._loose.append(element.text or "")
        for child in element:
            self._child(child)
            self._loose.append(child.tail or "")

    def _child(self, child: etree._Element) -> None:
        tag = tag_of(child)
        if tag == "br":
            self._loose.append("\n")
        elif not is_block(child):
            self._loose.append(inline_text(child))
        else:
            self._flush()
            self._block(child, tag)
            self._flush()

    def _block(self, element: etree._Element, tag: str) -> None:
        if tag in _HEADINGS and element.find(".//table") is None:
            self._builder.add_heading(inline_text(element), _HEADINGS[tag])
        elif tag == "pre":
            self._builder.add_code(all_text(element))
        elif tag in ("ul", "ol") and not _holds_structure(element):
            self._builder.add_list(list(_items(element, 0)))
        elif tag == "table" and is_layout_table(element):
            for cell in table_cells(element):
                self.visit(cell)
        elif tag == "table":
            self._table(element)
        else:
            self._children(element)

    def _table(self, table: etree._Element) -> None:
        for caption in table.findall("caption"):
            self._builder.add_paragraph(inline_text(caption))
        rows, header_rows = table_rows(table)
        self._builder.add_table(rows, header_rows=header_rows)

    def _flush(self) -> None:
        text = "\n".join(filter(None, (one_line(without_han_breaks(line)) for line in _lines(self._loose))))
        self._loose.clear()
        self._builder.add_paragraph(text)


def _lines(pieces: list[str]) -> Iterator[str]:
    """Line breaks of the source are spaces, those of `br` are kept: they stand as pieces of their own."""
    line: list[str] = []
    for piece in pieces:
        if piece == "\n":
            yield "".join(line)
            line = []
        else:
            line.append(piece)
    yield "".join(line)


def _items(element: etree._Element, depth: int) -> Iterator[tuple[int, str, str]]:
    ordered = tag_of(element) == "ol"
    number = int(start) if ordered and (start := element.get("start", "1")).isdecimal() else 1
    for child in element:
        tag = tag_of(child)
        if tag in ("ul", "ol"):
            yield from _items(child, depth + 1)
        elif text := inline_text(child, without=("ul", "ol")):
            yield depth, f"{number}." if ordered else "-", text
            number += 1
        if tag not in ("ul", "ol"):
            for inner in _outermost_lists(child):
                yield from _items(inner, depth + 1)
        if child.tail and child.tail.strip():
            yield depth, "-", child.tail


def _outermost_lists(element: etree._Element) -> Iterator[etree._Element]:
    for child in element:
        if tag_of(child) in ("ul", "ol"):
            yield child
        else:
            yield from _outermost_lists(child)


def _holds_structure(element: etree._Element) -> bool:
    """Whether a list is a page's layout: its items hold headings, tables or code."""
    return next(element.iter("h1", "h2", "h3", "h4", "h5", "h6", "table", "pre"), None) is not None


def _remove(root: etree._Element, tags: tuple[str, ...]) -> None:
    for element in list(root.iter(*tags)):
        _drop(element)


def _remove_navigation(root: etree._Element) -> None:
    for element in list(root.iter()):
        if tag_of(element) not in _PAGE_PARTS and _is_hidden_or_navigation(element):
            _drop(element)


def _is_hidden_or_navigation(element: etree._Element) -> bool:
    return (
        tag_of(element) == "nav"
        or element.get("role", "") in _NAVIGATION_ROLES
        or element.get("hidden") is not None
        or element.get("aria-hidden", "") == "true"
        or _INVISIBLE_STYLE.search(element.get("style", "")) is not None
    )


def _drop(element: etree._Element) -> None:
    """Remove an element and keep the text after it."""
    parent = element.getparent()
    if parent is None:
        return
    tail = element.tail or ""
    before = element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    parent.remove(element)
