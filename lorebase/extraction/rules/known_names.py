"""Finds the names of a gazetteer in texts, the longest at each place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lorebase.extraction.folding import FoldedText, folded
from lorebase.extraction.gazetteer import GazetteerEntry


@dataclass(frozen=True, slots=True)
class KnownName:
    """A place where a name of an entry stands."""

    entry: GazetteerEntry
    start: int
    end: int


class KnownNames:
    """A gazetteer made ready for search.

    Args:
        entries: Where two share a name, the first has it.
    """

    def __init__(self, entries: Sequence[GazetteerEntry]) -> None:
        self._by_head: dict[str, list[tuple[str, str, GazetteerEntry]]] = {}
        for entry in entries:
            for name in entry.names:
                key = folded(name)
                if key:
                    self._by_head.setdefault(key[:2], []).append((key, name, entry))

    def find(self, text: str) -> list[KnownName]:
        """Names in a text, by their places, none overlapping another."""
        if not self._by_head:
            return []
        found = sorted(self._candidates(FoldedText(text)), key=lambda known: (known.start, known.start - known.end))
        chosen: list[KnownName] = []
        for known in found:
            if not chosen or known.start >= chosen[-1].end:
                chosen.append(known)
        return chosen

    def _candidates(self, text: FoldedText) -> Iterator[KnownName]:
        for head in text.pairs() & self._by_head.keys():
            for _, name, entry in self._by_head[head]:
                for start, end in text.find_all(name):
                    yield KnownName(entry, start, end)
