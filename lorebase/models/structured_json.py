"""JSON in a model's answer, however it is wrapped or slightly broken; but never an answer that is only half there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import orjson
from json_repair import repair_json

from lorebase.models.thinking import without_thinking

_FENCED = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n?(.*?)```", re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_MOST_REPAIRED_CHARS = 200_000  # the repair takes seconds for more


def json_candidates(text: str) -> Iterator[Any]:
    """Objects and arrays that an answer may mean, the likeliest first; none for one that breaks off.

    Read as they stand: the whole answer, what stands in code fences, the longest stretch from a bracket to its closing
    one. After that the same repaired: trailing commas, single or typographic quotes, unescaped quotes, Python's words.

    Args:
        text: An answer; a thought at its head is passed over.
    """
    answer = without_thinking(text).strip().lstrip("\ufeff")
    pieces = [answer, *(match.strip() for match in _FENCED.findall(answer)), *_bracketed(answer)]
    for piece in pieces:
        found = _strict(piece)
        if found is not None:
            yield found
    for piece in pieces[1:] or pieces:
        found = _repaired(piece)
        if found is not None:
            yield found


def _strict(piece: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        found = orjson.loads(piece)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict | list) else None


def _repaired(piece: str) -> Any:  # noqa: ANN401 (any JSON)
    if len(piece) > _MOST_REPAIRED_CHARS or piece[:1] not in _CLOSERS or _end_of(piece, 0) is None:
        return None
    try:
        found = cast("Any", repair_json(piece, return_objects=True, skip_json_loads=True))
    except (RecursionError, ValueError):
        return None
    return found if isinstance(found, dict | list) and found else None


def _bracketed(text: str) -> list[str]:
    """Stretches from an opening bracket to its closing one, the longest first; none inside another."""
    pieces = []
    start = 0
    while (match := re.compile(r"[{\[]").search(text, start)) is not None:
        end = _end_of(text, match.start())
        if end is None:
            break  # from here on the answer breaks off
        pieces.append(text[match.start() : end])
        start = end
    return sorted(pieces, key=len, reverse=True)


def _end_of(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, brackets in double-quoted texts not counted; None where it is not."""
    expected: list[str] = []
    is_quoted = is_escaped = False
    for place in range(start, len(text)):
        char = text[place]
        if is_escaped:
            is_escaped = False
        elif is_quoted:
            is_escaped = char == "\\"
            is_quoted = char != '"'
        elif char == '"':
            is_quoted = True
        elif char in _CLOSERS:
            expected.append(_CLOSERS[char])
        elif char in "}]":
            if not expected or expected.pop() != char:
                return None
            if not expected:
                return place + 1
    return None
