"""Questions and answers in tables and records: CSV, JSON lines, sheets of workbooks, Markdown tables."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lorebase.faq.columns import FaqValues, is_faq, roles_of, values_of

_DELIMITERS = (",", ";", "\t", "|")
_CELL = " | "
_MARKDOWN_BAR = re.compile(r"(?<!\\)\|")
_MARKDOWN_RULE = re.compile(r"^[\s|:-]+$")


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row with what it says, or why that cannot be told.

    Attributes:
        row: Number of the row without the header, or of the record, from 1.
        line: Line of the file that it begins on, from 1; None where that is not known.
        values: What it says; None where it cannot be told.
        fault: Why not.
    """

    row: int
    line: int | None
    values: FaqValues | None
    fault: str = ""


def read_csv(text: str, columns: Mapping[str, str]) -> list[FoundRow] | None:
    """The rows of a CSV text, its delimiter being that under which its header names a question and an answer.

    Args:
        text: The whole file.
        columns: Names of columns by role, where they are unusual.

    Returns:
        The rows; None where no delimiter makes it a table of questions and answers.
    """
    csv.field_size_limit(sys.maxsize)  # the limit is one of the csv module, for all readers
    text = text.removeprefix("\ufeff")
    skipped = 0
    if text[:4].lower() == "sep=":
        text = text.partition("\n")[2]
        skipped = 1
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
        try:
            rows = _numbered(reader, skipped)
        except csv.Error:
            continue
        if rows and is_faq(roles := roles_of(rows[0][1], columns)):
            return [
                FoundRow(number, line, values_of(cells, roles))
                for number, (line, cells) in enumerate(rows[1:], start=1)
            ]
    return None


def _numbered(reader: Iterator[list[str]], skipped: int) -> list[tuple[int, list[str]]]:
    """Rows that hold anything, with the line that each begins on."""
    rows = []
    begins = skipped + 1
    for cells in reader:
        if any(cell.strip() for cell in cells):
            rows.append((begins, cells))
        begins = skipped + 1 + getattr(reader, "line_num", 0)
    return rows


def read_records(text: str, columns: Mapping[str, str]) -> list[FoundRow] | None:
    """The records of JSON lines, or of a JSON list of objects.

    Returns:
        The records; None where none of them has a question and an answer.
    """
    found = []
    for number, (line, record) in enumerate(_records(text.removeprefix("\ufeff")), start=1):
        if isinstance(record, str):
            found.append(FoundRow(number, line, None, record))
            continue
        names = list(record)
        roles = roles_of(names, columns)
        if not is_faq(roles):
            found.append(FoundRow(number, line, None, "it has no question or no answer"))
            continue
        found.append(FoundRow(number, line, values_of([_cell(record[name]) for name in names], roles)))
    return found if any(row.values for row in found) else None


def _records(text: str) -> Iterator[tuple[int | None, dict[str, object] | str]]:
    """Objects with their lines, or why a line is none."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, list):
        for value in whole:
            yield None, value if isinstance(value, dict) else "it is no JSON object"
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"it is no JSON: {error}"
            continue
        yield number, value if isinstance(value, dict) else "it is no JSON object"


def _cell(value: object) -> str | Sequence[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [str(member) for member in value if member is not None]
    return "" if value is None else str(value)


def read_lines(text: str, columns: Mapping[str, str]) -> list[FoundRow] | None:
    """The rows of a parsed table: a line a row, its cells apart by " | ", the first line its header.

    A row with more cells than the header has a bar in one of them: which one cannot be told, so it has a fault.

    Returns:
        The rows; None where the header names no question or no answer.
    """
    lines = text.splitlines()
    names = lines[0].split(_CELL) if lines else []
    roles = roles_of(names, columns)
    if not is_faq(roles):
        return None
    rows = []
    for number, line in enumerate(lines[1:], start=1):
        cells = line.split(_CELL)
        if len(cells) > len(names):
            fault = f"it has {len(cells)} cells where the header has {len(names)}: a cell must not hold {_CELL!r}"
            rows.append(FoundRow(number, None, None, fault))
        else:
            rows.append(FoundRow(number, None, values_of(cells, roles)))
    return rows


def read_markdown_table(text: str, columns: Mapping[str, str]) -> list[FoundRow] | None:
    """The rows of a Markdown table; None where its header names no question or no answer."""
    lines = [line for line in text.splitlines() if line.strip()]
    cells = [_markdown_cells(line) for line in lines if not _MARKDOWN_RULE.match(line)]
    roles = roles_of(cells[0], columns) if cells else {}
    if not is_faq(roles):
        return None
    return [FoundRow(number, None, values_of(row, roles)) for number, row in enumerate(cells[1:], start=1)]


def _markdown_cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.replace("\\|", "|").replace("<br>", "\n").strip() for cell in _MARKDOWN_BAR.split(inner)]
