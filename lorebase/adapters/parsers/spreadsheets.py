"""Workbooks: a sheet is a page and a table; cells have the values that were last calculated."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from typing import TypeAlias

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError, SheetTypeEnum

from lorebase.adapters.parsers.office_containers import check_container
from lorebase.documents.building import DocumentBuilder
from lorebase.documents.unreadable import unreadable

_Cell: TypeAlias = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta


def read_workbook(content: bytes, builder: DocumentBuilder, *, name: str, is_container: bool) -> None:
    """Add every sheet of a workbook, its name as heading; a sheet that cannot be read becomes a warning.

    Args:
        content: The file.
        builder: Takes the sheets.
        name: The document, for messages.
        is_container: Whether the format is a zip container (xlsx), not the older one (xls).
    """
    if is_container:
        check_container(content, name=name)
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
    except PasswordError as error:
        raise unreadable(name, "ENCRYPTED") from error
    except (CalamineError, OSError, ValueError) as error:
        raise unreadable(name, "CORRUPT", "no workbook can be made of it") from error
    with workbook:
        for number, sheet in enumerate(workbook.sheets_metadata, start=1):
            if sheet.typ != SheetTypeEnum.WorkSheet:
                continue
            builder.start_page(number, sheet.name)
            try:
                _add_sheet(workbook.get_sheet_by_name(sheet.name), builder)
            except (CalamineError, OSError, ValueError) as error:
                builder.warn("PAGE_FAILED", f"Sheet {number} ({sheet.name}) cannot be read: {error}.")


def _add_sheet(sheet: CalamineSheet, builder: DocumentBuilder) -> None:
    rows = [row for row in _rows(sheet) if any(row)]
    builder.headings.leave(1)
    if not rows:
        return
    builder.add_heading(sheet.name, 1)
    first = next((index for index, row in enumerate(rows) if sum(map(bool, row)) > 1), 0)
    for title in rows[:first]:
        builder.add_paragraph(" ".join(filter(None, title)))
    table = rows[first:]
    builder.add_table(table, header_rows=1 if len(table) > 1 and _is_header(table[0]) else 0)


def _rows(sheet: CalamineSheet) -> Iterator[list[str]]:
    for row in sheet.iter_rows():
        yield [_shown(cell) for cell in row]


def _is_header(row: list[str]) -> bool:
    filled = [cell for cell in row if cell]
    return len(filled) > 1 and not any(cell[0].isdecimal() or cell[0] in "-+." for cell in filled)


def _shown(cell: _Cell) -> str:
    """A cell as people read it: whole numbers without a fraction, dates as 2025-03-31."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        # Spreadsheets calculate with 15 digits; the rest is the binary form showing through.
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.15g}"  # noqa: PLR2004 (as above)
    if isinstance(cell, dt.datetime):
        return cell.date().isoformat() if cell.time() == dt.time() else cell.isoformat(" ", "seconds")
    return cell if isinstance(cell, str) else str(cell)
