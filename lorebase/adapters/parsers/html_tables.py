"""Tables of web pages: told apart from tables that only lay out the page, and turned into rows of cells."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from lorebase.adapters.parsers.html_text import all_text, inline_text, tag_of

_LAYOUT_SIGNS = ("h1", "h2", "h3", "h4", "h5", "h6", "table", "pre", "form")
_MAX_SPAN = 1000  # as the HTML standard limits colspan
_MAX_CELL_CHARS = 4000


def is_layout_table(table: etree._Element) -> bool:
    """Whether a table arranges the page: it holds headings or tables, or has one column, or a cell is a whole text."""
    if table.get("role") in ("presentation", "none"):
        return True
    if any(element is not table for element in table.iter(*_LAYOUT_SIGNS)):
        return True
    rows = [list(_cells_of(row)) for row in _rows_of(table)]
    if max((len(row) for row in rows), default=0) <= 1:
        return True
    return any(len(all_text(cell)) > _MAX_CELL_CHARS for row in rows for cell in row)


def table_cells(table: etree._Element) -> Iterator[etree._Element]:
    """Captions and cells of a table, in reading order; what stands wrongly between them included."""
    for child in table:
        tag = tag_of(child)
        if tag in ("thead", "tbody", "tfoot", "tr"):
            yield from table_cells(child)
        else:
            yield child


def table_rows(table: etree._Element) -> tuple[list[list[str]], int]:
    """Rows of cell texts, a merged cell once and "" elsewhere, and how many rows at the top name the columns."""
    rows: list[list[str]] = []
    header_rows = 0
    pending: dict[int, int] = {}
    for row in _rows_of(table):
        cells = list(_cells_of(row))
        if not cells:
            continue
        rows.append(_row_texts(cells, pending))
        if header_rows == len(rows) - 1 and _is_header(row, cells):
            header_rows += 1
    return rows, header_rows if header_rows < len(rows) else 0


def _row_texts(cells: list[etree._Element], pending: dict[int, int]) -> list[str]:
    """Texts of one row; `pending` counts, by column, the rows that a cell further up still covers."""
    texts: list[str] = []
    for cell in cells:
        while pending.get(len(texts), 0) > 0:
            pending[len(texts)] -= 1
            texts.append("")
        column, width = len(texts), _span(cell, "colspan")
        texts.extend([inline_text(cell), *[""] * (width - 1)])
        if (height := _span(cell, "rowspan")) > 1:
            pending.update(dict.fromkeys(range(column, column + width), height - 1))
    for column in [column for column, left in pending.items() if column >= len(texts) and left > 0]:
        pending[column] -= 1
    return texts


def _span(cell: etree._Element, attribute: str) -> int:
    value = cell.get(attribute, "1").strip()
    return min(max(int(value), 1), _MAX_SPAN) if value.isascii() and value.isdecimal() else 1


def _is_header(row: etree._Element, cells: list[etree._Element]) -> bool:
    parent = row.getparent()
    if parent is not None and tag_of(parent) == "thead":
        return True
    return len(cells) > 1 and all(tag_of(cell) == "th" for cell in cells)


def _rows_of(table: etree._Element) -> Iterator[etree._Element]:
    for child in table:
        if tag_of(child) == "tr":
            yield child
        elif tag_of(child) in ("thead", "tbody", "tfoot"):
            yield from _rows_of(child)


def _cells_of(row: etree._Element) -> Iterator[etree._Element]:
    return (child for child in row if tag_of(child) in ("td", "th"))
