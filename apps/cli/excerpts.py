"""The part of a result that a person should see first: where the words of the query stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lorebase.index.words import passage_words, query_words

EXCERPT_CHARS = 320
_SENTENCE_ENDS = ".!?。！？；"


def excerpt(text: str, query: str, *, keep_lines: int = 0, max_chars: int = EXCERPT_CHARS) -> str:
    """The stretch of a text that holds most of what the query asks for, with … where something was left out.

    Args:
        text: The text of a result.
        query: What was asked. A word counts the more, the longer it is and the fewer sentences of the text hold it.
        keep_lines: Lines at the beginning that are shown in any case, such as the header of a table.
        max_chars: Longest excerpt.
    """
    pieces = _pieces(text)
    if sum(len(piece) + 1 for piece in pieces) <= max_chars:
        return "\n".join(pieces)
    head = pieces[: min(keep_lines, len(pieces) - 1)]
    body = pieces[len(head) :]
    scores = _scores(body, query)
    start = max(range(len(body)), key=lambda place: (scores[place], -place))
    shown = list(head)
    room = max_chars - sum(map(len, head))
    end = start
    while end < len(body) and (end == start or len(body[end]) < room):
        shown.append(body[end][: max(room, max_chars // 2)])
        room -= len(body[end]) + 1
        end += 1
    before = "… " if start > 0 else ""
    after = " …" if end < len(body) or len(body[end - 1]) > len(shown[-1]) else ""
    shown[len(head)] = f"{before}{shown[len(head)]}"
    return "\n".join(shown) + after


def _pieces(text: str) -> list[str]:
    """Lines, long ones cut after the ends of their sentences."""
    pieces: list[str] = []
    for line in text.splitlines():
        start = 0
        for place, character in enumerate(line):
            is_end = character in _SENTENCE_ENDS and (
                character not in ".!?" or line[place + 1 : place + 2] in {"", " "}
            )
            if is_end and place - start > EXCERPT_CHARS // 4:
                pieces.append(line[start : place + 1].strip())
                start = place + 1
        pieces.append(line[start:].strip())
    return [piece for piece in pieces if piece]


def _scores(pieces: Sequence[str], query: str) -> list[float]:
    wanted = set(query_words(query))
    words = [wanted & set(passage_words(piece)) for piece in pieces]
    spread = Counter(word for found in words for word in found)
    return [sum(_weight(word) / spread[word] for word in found) for found in words]


def _weight(word: str) -> int:
    """Long words tell more than short ones; a Chinese pair tells as much as a word of six letters."""
    return len(word) if word.isascii() else 3 * len(word)
