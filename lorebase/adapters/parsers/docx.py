"""Word documents: body text in reading order with headings, lists, tables, text boxes and notes."""

from __future__ import annotations

import io
from collections.abc import Iterator

import docx
from docx.document import Document
from docx.opc.exceptions import OpcError
from lxml import etree

from lorebase.adapters.parsers.docx_styles import Numbering, Styles, W
from lorebase.adapters.parsers.docx_text import footnote_ids, paragraph_text, text_boxes
from lorebase.adapters.parsers.office_containers import CONTAINER_FAULTS, check_container, xml_root
from lorebase.documents.building import DocumentBuilder, one_line
from lorebase.documents.unreadable import unreadable

_FAULTS: tuple[type[Exception], ...] = (OpcError, *CONTAINER_FAULTS)
_NOTES = {"footnotes": f"{W}footnote", "endnotes": f"{W}endnote"}
_MAX_CELL_PARAGRAPHS = 12
_MAX_CELL_CHARS = 2000


def read_docx(content: bytes, builder: DocumentBuilder, *, name: str) -> None:
    """Add a Word document; deleted text of tracked changes, headers and footers are left out."""
    check_container(content, name=name)
    try:
        document = docx.Document(io.BytesIO(content))
        walk = _Walk(builder, document)
        walk.container(document.element.body)
        walk.flush_list()
    except _FAULTS as error:
        raise unreadable(name, "CORRUPT", f"no Word document can be made of it: {type(error).__name__}") from error


class _Walk:
    """Visits the blocks of a document in reading order; neighbouring list paragraphs become one list."""

    def __init__(self, builder: DocumentBuilder, document: Document) -> None:
        self._builder = builder
        self._styles = Styles(document.styles.element)
        self._numbering = Numbering(_part_root(document, "numbering"))
        self._notes = dict(_note_texts(document))
        self._items: list[tuple[int, str, str]] = []

    def container(self, element: etree._Element) -> None:
        """Add the blocks of a body, a cell, a text box or a content control."""
        for child in element:
            if child.tag == f"{W}p":
                self._paragraph(child)
            elif child.tag == f"{W}tbl":
                self.flush_list()
                self._table(child)
            elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins", f"{W}moveTo"):
                self.container(child)

    def flush_list(self) -> None:
        """End the list that is being gathered."""
        if self._items:
            self._builder.add_list(self._items)
            self._items = []

    def _paragraph(self, paragraph: etree._Element) -> None:
        text = paragraph_text(paragraph)
        style = self._styles.of(paragraph)
        if text.strip():
            if style.heading_level is not None:
                self.flush_list()
                self._builder.add_heading(text, style.heading_level)
            elif style.list_id is not None:
                marker = self._numbering.next_marker(style.list_id, style.list_level)
                self._items.append((style.list_level, marker, text))
            else:
                self.flush_list()
                self._builder.add_paragraph(text)
        for note_id in footnote_ids(paragraph):
            if note := self._notes.get(note_id):
                self.flush_list()
                self._builder.add_paragraph(note)
        for box in text_boxes(paragraph):
            self.flush_list()
            self.container(box)
            self.flush_list()

    def _table(self, table: etree._Element) -> None:
        rows = list(_rows_of(table))
        if self._is_layout(rows):
            for row in rows:
                for cell in _cells_of(row):
                    self.container(cell)
                    self.flush_list()
            return
        texts = [list(_row_texts(row)) for row in rows]
        header_rows = sum(1 for row in rows if row.find(f"{W}trPr/{W}tblHeader") is not None)
        if not header_rows and len(texts) > 1 and _could_be_header(texts[0]):
            header_rows = 1
        self._builder.add_table(texts, header_rows=header_rows if header_rows < len(rows) else 0)

    def _is_layout(self, rows: list[etree._Element]) -> bool:
        """Whether a table lays out a page: one column, tables or headings inside, or whole texts in its cells."""
        cells = [cell for row in rows for cell in _cells_of(row)]
        if len(cells) <= len(rows):
            return True
        return any(self._is_page_part(cell) for cell in cells)

    def _is_page_part(self, cell: etree._Element) -> bool:
        paragraphs = [child for child in cell.iter(f"{W}p") if next(child.iter(f"{W}t"), None) is not None]
        return (
            next(cell.iter(f"{W}tbl"), None) is not None
            or len(paragraphs) > _MAX_CELL_PARAGRAPHS
            or any(self._styles.of(paragraph).heading_level is not None for paragraph in paragraphs)
            or next(cell.iter(f"{W}txbxContent", f"{W}footnoteReference", f"{W}endnoteReference"), None) is not None
            or sum(len(text.text or "") for text in cell.iter(f"{W}t")) > _MAX_CELL_CHARS
        )


def _rows_of(element: etree._Element) -> Iterator[etree._Element]:
    for child in element:
        if child.tag == f"{W}tr":
            yield child
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"):
            yield from _rows_of(child)


def _cells_of(element: etree._Element) -> Iterator[etree._Element]:
    for child in element:
        if child.tag == f"{W}tc":
            yield child
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"):
            yield from _cells_of(child)


def _row_texts(row: etree._Element) -> Iterator[str]:
    """Texts of a row's cells; a merged cell has its text once."""
    for cell in _cells_of(row):
        yield " ".join(filter(None, (paragraph_text(paragraph) for paragraph in cell.iter(f"{W}p"))))
        span = cell.find(f"{W}tcPr/{W}gridSpan")
        width = span.get(f"{W}val", "1") if span is not None else "1"
        for _ in range(int(width) - 1 if width.isdecimal() else 0):
            yield ""


def _could_be_header(texts: list[str]) -> bool:
    return sum(1 for text in texts if text.strip()) > 1


def _part_root(document: Document, kind: str) -> etree._Element | None:
    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(f"/{kind}"):
            return xml_root(relation.target_part.blob)
    return None


def _note_texts(document: Document) -> Iterator[tuple[str, str]]:
    """Texts of footnotes and endnotes by kind and id, as `footnote_ids` names them."""
    for kind, tag in _NOTES.items():
        root = _part_root(document, kind)
        for note in root.iter(tag) if root is not None else ():
            text = one_line(" ".join(paragraph_text(paragraph) for paragraph in note.iter(f"{W}p")))
            if text and note.get(f"{W}type") is None:
                note_id = note.get(f"{W}id", "")
                yield f"{kind}:{note_id}", f"[{note_id}] {text}"
