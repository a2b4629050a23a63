"""JSON and JSON lines: one paragraph a record, one line a value, as "path: value"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from lorebase.documents.building import DocumentBuilder


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object as its members in order; keys that stand twice are both kept."""

    members: tuple[tuple[str, _Value], ...]

    @classmethod
    def of(cls, pairs: list[tuple[str, _Value]]) -> _Object:
        return cls(tuple(pairs))


_Value: TypeAlias = "_Object | list[_Value] | str | bool | None"


def read_json(text: str, builder: DocumentBuilder) -> None:
    """Add the records of a JSON text; a text that is no JSON is read as JSON lines, or kept as it is."""
    try:
        value = _parse(text)
    except (ValueError, RecursionError):
        read_json_lines(text, builder)
        return
    _add(value, builder)


def read_json_lines(text: str, builder: DocumentBuilder) -> None:
    """Add one record a line; lines that are no JSON are kept as they are, with a warning."""
    broken: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            lines = list(_lines(_parse(line), ""))
        except (ValueError, RecursionError):
            broken.append(number)
            lines = [line]
        builder.add_paragraph("\n".join(lines))
    if broken:
        shown = ", ".join(str(number) for number in broken[:5])
        builder.warn("INVALID_JSON", f"{len(broken)} line(s) are no JSON and were kept as text, first: {shown}.")


def _parse(text: str) -> _Value:
    # Numbers stay as they are written: no digit is lost to a float.
    value: _Value = json.loads(
        text, object_pairs_hook=_Object.of, parse_float=str, parse_int=str, parse_constant=str, strict=False
    )
    return value


def _add(value: _Value, builder: DocumentBuilder) -> None:
    if isinstance(value, _Object):
        for is_nested, members in groupby(value.members, key=lambda member: isinstance(member[1], (_Object, list))):
            if not is_nested:
                builder.add_paragraph("\n".join(_lines(_Object(tuple(members)), "")))
                continue
            for key, member in members:
                _add_member(key, member, builder)
    elif isinstance(value, list):
        _add_records(value, builder)
    else:
        builder.add_paragraph(_shown(value))


def _add_member(key: str, member: _Value, builder: DocumentBuilder) -> None:
    """A part of the top level: a list of records under its name, anything else as lines with their paths."""
    if isinstance(member, list) and _is_record_list(member):
        builder.add_heading(key, 1)
        _add_records(member, builder)
        builder.headings.leave(1)
    else:
        builder.add_paragraph("\n".join(_lines(member, key)))


def _add_records(records: list[_Value], builder: DocumentBuilder) -> None:
    if not any(isinstance(record, (_Object, list)) for record in records):
        builder.add_paragraph("\n".join(_shown(record) for record in records))
        return
    for record in records:
        builder.add_paragraph("\n".join(_lines(record, "")))


def _is_record_list(value: _Value) -> bool:
    return isinstance(value, list) and any(isinstance(member, _Object) for member in value)


def _lines(value: _Value, path: str) -> Iterator[str]:
    if isinstance(value, _Object):
        if not value.members and path:
            yield f"{path}:"
        for key, member in value.members:
            yield from _lines(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        if not any(isinstance(member, (_Object, list)) for member in value):
            shown = ", ".join(_shown(member) for member in value)
            yield f"{path}: {shown}" if path else shown
            return
        for index, member in enumerate(value):
            yield from _lines(member, f"{path}[{index}]")
    else:
        yield f"{path}: {_shown(value)}" if path else _shown(value)


def _shown(value: _Value) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
