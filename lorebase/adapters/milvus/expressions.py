"""Typed filters as Milvus expressions: the one place where a value becomes part of an expression."""

from __future__ import annotations

import re

from lorebase.index.filters import check_filter
from lorebase.index.ports import AnyOf, Condition, Equals, Filter, HasAllTags, HasAnyTag, NoneOf

MATCHES_ALL = ""

# Milvus Lite 2.5.1 unescapes only \\ and \" in a literal, and its lexer refuses line breaks there; servers unescape
# like Go. Control characters are therefore stored percent-encoded, and a literal means the same to both.
_UNSAFE = re.compile(r"[%\x00-\x1f\x7f]")
_ENCODED = re.compile(r"%([0-9A-F]{2})")


def stored_text(value: str) -> str:
    """How a text stands in a collection: itself, with control characters and percent signs as %XX."""
    return _UNSAFE.sub(lambda match: f"%{ord(match.group()):02X}", value)


def restored_text(stored: str) -> str:
    """What `stored_text` was given."""
    return _ENCODED.sub(lambda match: chr(int(match.group(1), 16)), stored)


def literal(value: str | int | bool) -> str:  # noqa: FBT001 (a value to print, not a switch)
    """The value as a literal of an expression; text is quoted so that it can only be compared with."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    escaped = stored_text(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def render(where: Filter) -> str | None:
    """The expression for a filter.

    Returns:
        The expression, `MATCHES_ALL` for a filter without restriction, None where nothing can match: Milvus Lite
        refuses empty lists, so these are decided here.

    Raises:
        UsageError: The filter is not one that an index takes.
    """
    check_filter(where)
    if any(isinstance(condition, AnyOf) and not condition.values for condition in where):
        return None
    return " and ".join(part for part in map(_render_condition, where) if part)


def _render_condition(condition: Condition) -> str:
    match condition:
        case Equals(field=name, value=value):
            return f"{name} == {literal(value)}"
        case AnyOf(field=name, values=values):
            return f"{name} in {_list(values)}"
        case NoneOf(field=name, values=values):
            return f"{name} not in {_list(values)}" if values else MATCHES_ALL
        case HasAllTags(tags=tags):
            return f"array_contains_all(tags, {_list(tags)})" if tags else MATCHES_ALL
        case HasAnyTag(tags=tags):
            return f"array_contains_any(tags, {_list(tags)})" if tags else MATCHES_ALL


def _list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(literal, values))}]"
