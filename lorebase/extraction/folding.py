"""Where a name stands in a text, whatever its width, case, accents' form and line breaks are there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import regex

from lorebase.index.words import UNSPACED_SCRIPTS

_UNSPACED = regex.compile("[" + "".join(rf"\p{{Script={script}}}" for script in UNSPACED_SCRIPTS) + "]")
# Not `regex`: that lets another thread run during each search, and waits for its turn longer than the search takes.
_ASCII_GAP = re.compile(r"\s{2,}")
_SPACES = dict.fromkeys([*range(9, 14), *range(28, 32)], " ")
_PLURALS = ("s", "es")


class FoldedText:
    """A text to look for names in: compatibility forms and case are folded, white space counts as one space.

    A name of a script that parts its words is found as whole words, a plural ending after it allowed: `AI` does not
    stand in `said`, `GPU` stands in `GPUs`.

    Args:
        text: Any text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._origins = _folded_ascii(text) if text.isascii() else _folded_anyhow(text)

    def find(self, name: str) -> tuple[int, int] | None:
        """First place of a name: its first code point and one past its last."""
        return next(self.find_all(name), None)

    def find_all(self, name: str) -> Iterator[tuple[int, int]]:
        """All places of a name, from left to right, not overlapping."""
        wanted = folded(name)
        if not wanted:
            return
        start = self._folded.find(wanted)
        while start >= 0:
            end = start + len(wanted)
            if self._stands_alone(start, end):
                yield self._origins[start], self._origins[end - 1] + 1
                start = self._folded.find(wanted, end)
            else:
                start = self._folded.find(wanted, start + 1)

    def written(self, place: tuple[int, int]) -> str:
        """What stands at a place, as the text writes it, a line break in it as a space."""
        return " ".join(self._text[slice(*place)].split())

    def pairs(self) -> set[str]:
        """Every two neighbouring characters, and every single one, as they are compared."""
        text = self._folded
        return {text[at : at + 2] for at in range(len(text) - 1)} | set(text)

    def _stands_alone(self, start: int, end: int) -> bool:
        text = self._folded
        if start > 0 and _joins(text[start]) and _joins(text[start - 1]):
            return False
        if unicodedata.combining(text[end : end + 1] or " "):
            return False
        if not _joins(text[end - 1]):
            return True
        return any(not _joins(text[at : at + 1]) for at in self._word_ends(end))

    def _word_ends(self, end: int) -> Iterator[int]:
        yield end
        for plural in _PLURALS:
            if self._folded.startswith(plural, end):
                yield end + len(plural)


def _folded_ascii(text: str) -> tuple[str, Sequence[int]]:
    """As `_folded_anyhow`, many times faster."""
    pieces: list[str] = []
    origins: list[int] = []
    start = 0
    for gap in _ASCII_GAP.finditer(text):
        pieces.append(text[start : gap.start() + 1])
        origins.extend(range(start, gap.start() + 1))
        start = gap.end()
    pieces.append(text[start:])
    origins.extend(range(start, len(text)))
    return "".join(pieces).lower().translate(_SPACES), origins


def _folded_anyhow(text: str) -> tuple[str, Sequence[int]]:
    pieces: list[str] = []
    origins: list[int] = []
    for place, char in enumerate(text):
        for piece in _folded_char(char):
            if piece == " " and pieces and pieces[-1] == " ":
                continue
            pieces.append(piece)
            origins.append(place)
    return "".join(pieces), origins


@lru_cache(maxsize=1 << 14)
def folded(name: str) -> str:
    """A name as it is compared: two spellings of one name that differ in width, case or spaces are equal."""
    return " ".join("".join(_folded_char(char) for char in name).split())


@lru_cache(maxsize=1 << 15)
def _folded_char(char: str) -> str:
    if char.isspace():
        return " "
    if unicodedata.category(char) == "Cf":  # soft hyphens and joiners do not tell names apart
        return ""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())


@lru_cache(maxsize=1 << 15)
def _joins(char: str) -> bool:
    """Whether a character belongs to the word beside it."""
    return bool(char) and (char.isalnum() or bool(unicodedata.combining(char))) and not _UNSPACED.match(char)
