"""Reading any JSON without raising: what does not fit is left out or becomes a default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

JsonObject: TypeAlias = dict[str, object]

_NOT_IN_LINES = re.compile(r"\s+")


def text_of(value: object) -> str:
    """The value as trimmed text; lists, objects and null are the empty text.

    Halves of surrogate pairs, which no file can hold, become `?`.
    """
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8").strip()
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number_text(value)
        case _:
            return ""


def line_of(value: object) -> str:
    """The value as text on one line, runs of white space being one blank."""
    return _NOT_IN_LINES.sub(" ", text_of(value)).strip()


def texts_of(value: object) -> tuple[str, ...]:
    """The members of a list as trimmed texts, without blanks and repetitions; a text alone counts as its lines."""
    members = value.splitlines() if isinstance(value, str) else value
    if not isinstance(members, list | tuple):
        return ()
    return tuple(dict.fromkeys(text for member in members if (text := line_of(member))))


def object_of(value: object) -> JsonObject:
    """The value if it is an object, otherwise an empty one."""
    return {str(key): member for key, member in value.items()} if isinstance(value, Mapping) else {}


def members_of(value: object) -> list[object]:
    """The members of a list; anything else has none."""
    return list(value) if isinstance(value, list | tuple) else []


def count_of(value: object) -> int:
    """The value if it is a whole number from 0 to 2^53, otherwise 0."""
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1 << 53
    return value if fits and isinstance(value, int) else 0


def first_given(data: Mapping[str, object], *names: str) -> object:
    """The value under the first of the names that has one; None where none has."""
    return next((data[name] for name in names if data.get(name) is not None), None)


def _number_text(value: float) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        return ""
