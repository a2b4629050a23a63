"""CSV and TSV: one table, its delimiter found by trying."""

from __future__ import annotations

import csv
import io
import sys

from lorebase.documents.building import DocumentBuilder

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_LINES = 50


def read_delimited(text: str, builder: DocumentBuilder, *, delimiter: str = "") -> None:
    """Add the rows of a text as one table, the first row as its header.

    Args:
        text: The whole file.
        builder: Takes the table.
        delimiter: The one to use; empty to choose among comma, semicolon, tab and bar.
    """
    # The limit is one of the csv module, for all readers; a field may be as long as its file.
    csv.field_size_limit(sys.maxsize)
    text = text.removeprefix("\ufeff")
    first, _, rest = text.partition("\n")
    if first.strip().lower().startswith("sep=") and len(first.strip()) == len("sep=,"):
        delimiter, text = first.strip()[-1], rest
    try:
        rows = list(_rows(text, delimiter or _best_delimiter(text)))
    except csv.Error as error:
        builder.warn("INVALID_TABLE", f"The rows could not be read as a table ({error}); the lines were kept as text.")
        builder.add_paragraph(text)
        return
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    builder.add_table(rows, header_rows=1 if len(rows) > 1 and _is_header(rows[0]) else 0)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True))


def _best_delimiter(text: str) -> str:
    """The delimiter that gives most columns to most rows of the beginning, the same number to each."""
    sample = "\n".join(text.split("\n", _SAMPLE_LINES)[:_SAMPLE_LINES])
    return max(_DELIMITERS, key=lambda delimiter: (_evenness(sample, delimiter), -_DELIMITERS.index(delimiter)))


def _evenness(sample: str, delimiter: str) -> float:
    try:
        widths = [len(row) for row in _rows(sample, delimiter) if row]
    except csv.Error:
        return 0.0
    commonest = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
    if commonest <= 1:
        # Rows without any delimiter say nothing; rare ones still beat none.
        return sum(1 for width in widths if width > 1) / (len(widths) + 1) / 10
    return widths.count(commonest) / len(widths) + min(commonest, 100) / 1000


def _is_header(row: list[str]) -> bool:
    return not any(_is_number(cell) for cell in row)


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True
