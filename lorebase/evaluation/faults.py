"""Faults of a data set's files, gathered so that all of them are told at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lorebase.errors import InvalidDataSetError, NotFoundError

_SHOWN = 10


class Faults:
    """Faults with their places."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, file: Path, place: int | str | None, message: str) -> None:
        """Remember a fault; `place` is a line, counted from 1, or a path inside the file."""
        where = f":{place}" if place is not None else ""
        self._found.append(f"{file}{where}: {message}")

    def raise_if_any(self, path: Path) -> None:
        """End when there are faults.

        Raises:
            InvalidDataSetError: With the first ten in its message and all in its facts.
        """
        if self._found:
            more = len(self._found) - _SHOWN
            listed = "; ".join(self._found[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
            raise InvalidDataSetError(f"{path} has faults: {listed}.", remedy="Mend them.", faults=self._found)


def json_lines(file: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and objects of a JSONL file in UTF-8; blank lines are passed over."""
    for line, text in numbered_lines(file):
        try:
            row = json.loads(text)
        except ValueError as error:
            faults.add(file, line, f"no JSON ({error})")
            continue
        if isinstance(row, dict):
            yield line, row
        else:
            faults.add(file, line, "no JSON object")


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and lines that are not blank.

    Raises:
        NotFoundError: There is no such file.
        InvalidDataSetError: It is not UTF-8.
    """
    try:
        content = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {file}.") from error
    except UnicodeDecodeError as error:
        raise InvalidDataSetError(f"{file} is not UTF-8 (byte {error.start}).", remedy="Save it as UTF-8.") from error
    # Only line feeds end a row: JSON may hold U+2028 and others that splitlines() would cut at.
    yield from ((number, line) for number, line in enumerate(content.split("\n"), start=1) if line.strip())


def text_of(row: dict[str, Any], *names: str) -> str:
    """The first of these fields that is a text and not blank, trimmed; empty where there is none."""
    found = (row[name].strip() for name in names if isinstance(row.get(name), str))
    return next((text for text in found if text), "")
