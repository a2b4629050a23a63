"""Where a section is best cut: at blocks, then sentences, then clauses, words and graphemes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from lorebase.documents.boundaries import (
    last_clause_start,
    last_grapheme_start,
    last_line_start,
    last_space_end,
    last_word_start,
    line_starts,
    sentence_starts,
)
from lorebase.documents.model import Block
from lorebase.documents.sections import Section

# A cut of this kind is taken only where it leaves at least half of what would have fitted; smaller units follow.
_IN_THE_SECOND_HALF: tuple[Callable[[str, int, int], int], ...] = (
    last_line_start,
    last_clause_start,
    last_space_end,
)


class Cuts:
    """The places where one section may be cut, by how well they keep together what belongs together."""

    def __init__(self, text: str, section: Section) -> None:
        structural: set[int] = set()
        sentences: set[int] = set()
        within_rows: set[int] = set()
        self.header_ends: set[int] = set()
        for block in section.bodies:
            structural.add(block.start)
            if block.kind == "table":
                header_end = block.start + block.header_chars
                # A header goes with its first row, and lines of a header with each other.
                sentences.update(cut for cut in line_starts(text, block.start, block.end) if cut > header_end)
                within_rows.update(sentence_starts(text, block.start, block.end))
                self.header_ends.update([header_end] if block.header_chars else [])
            else:
                sentences.update(sentence_starts(text, block.start, block.end))
                structural.update(_item_starts(text, block))
        for heading in section.headings:
            sentences.update(sentence_starts(text, heading.start, heading.end))
        # Cut there, a chunk would be a bare heading.
        structural.difference_update([section.bodies[0].start] if section.headings and section.bodies else [])
        self._text = text
        self._structural = sorted(structural)
        self._sentences = sorted(sentences | structural)
        self._within_rows = sorted(within_rows)

    def best(self, start: int, stop: int, *, after: int, before_header_ends: Iterable[int] = ()) -> int:
        """The best place to cut `text[start:stop]`.

        Args:
            start: Where the chunk begins.
            stop: As far as it may reach.
            after: The cut lies beyond this place, at `start` or further.
            before_header_ends: Ends of table headers at which to cut rather than inside the first row.

        Returns:
            A place in `(after, stop]`.
        """
        half = max(after, start + (stop - start) // 2)
        for cuts, beyond in ((self._structural, half), (self._sentences, after), (self._within_rows, half)):
            if (cut := _last_up_to(cuts, stop)) > beyond:
                return cut
        if ends := [end for end in before_header_ends if after < end <= stop]:
            return max(ends)
        for last_before in _IN_THE_SECOND_HALF:
            if (cut := last_before(self._text, start, stop)) > half:
                return cut
        for last_before in (last_word_start, last_grapheme_start):
            if (cut := last_before(self._text, start, stop)) > after:
                return cut
        return stop

    def first_sentence_start(self, start: int, end: int) -> int:
        """The first place in `[start, end)` where a sentence begins, or `end`."""
        index = bisect_right(self._sentences, start - 1)
        return min(self._sentences[index], end) if index < len(self._sentences) else end


def _item_starts(text: str, block: Block) -> Iterable[int]:
    return line_starts(text, block.start, block.end) if block.kind in ("list", "code") else ()


def _last_up_to(cuts: list[int], stop: int) -> int:
    index = bisect_right(cuts, stop)
    return cuts[index - 1] if index else -1
