"""How much of a text fits into a number of tokens, found with few counts: tokenizers do not add up exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from lorebase.documents.boundaries import last_grapheme_start, last_word_start
from lorebase.documents.model import indexed_text_of

_FULL_ENOUGH = 0.94
_MAX_GROWTH = 4.0
_SHRINK_A_LITTLE_MORE = 0.97
_MAX_COUNTS = 6
_SAMPLE_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Setting:
    """What a chunk's text is indexed with."""

    heading_path: tuple[str, ...] = ()
    table_header: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the text stands alone."""
        return not self.heading_path and not self.table_header


class Fitter:
    """Counts stretches of one text as they will be indexed, and learns how many characters a token has in it."""

    def __init__(self, text: str, count_tokens: Callable[[str], int], *, max_tokens: int) -> None:
        self.text = text
        self.count = count_tokens
        self._max_tokens = max_tokens
        sample = text[:_SAMPLE_CHARS]
        self._chars_per_token = len(sample) / max(1, count_tokens(sample))
        self._overhead = lru_cache(maxsize=64)(self._count_setting)
        # A stretch is asked about up to three times in a row: while it is found, checked and recorded.
        self._count_stretch = lru_cache(maxsize=8)(self._count_indexed)

    def tokens(self, start: int, stop: int, setting: Setting) -> int:
        """Tokens of the chunk `text[start:stop]` as it is indexed, white space at its end left away."""
        while stop > start and self.text[stop - 1].isspace():
            stop -= 1
        return self._count_stretch(start, stop, setting)

    def fits(self, start: int, stop: int, setting: Setting) -> bool:
        """Whether that chunk is within the limit."""
        return self.tokens(start, stop, setting) <= self._max_tokens

    def fit(self, start: int, end: int, setting: Setting) -> int:
        """A place up to `end` to which a chunk from `start` fits, close to the furthest; `start` if nothing fits."""
        overhead = self._overhead(setting)
        room = self._max_tokens - overhead
        if room <= 0:
            return start
        fitting, too_far = start, end + 1
        guess = start + max(1, int(room * self._chars_per_token))
        for counts in range(1, 64):
            guess = min(max(guess, fitting + 1), too_far - 1, end)
            used = max(1, self.tokens(start, guess, setting) - overhead)
            ratio = room / used
            if used <= room:
                fitting = guess
                self._chars_per_token = max(0.05, (guess - start) / used)
                if guess == end or used >= room * _FULL_ENOUGH:
                    break
                guess = start + int((guess - start) * min(ratio, _MAX_GROWTH))
            else:
                too_far = guess
                guess = start + int((guess - start) * ratio * _SHRINK_A_LITTLE_MORE)
            if too_far - fitting <= 1 or (counts >= _MAX_COUNTS and fitting > start):
                break
        return fitting

    def fit_backwards(self, earliest: int, end: int, max_tokens: int) -> int:
        """The place from `earliest` on from which `text[place:end]` has at most `max_tokens`, close to the first."""
        start = max(earliest, end - max(1, int(max_tokens * self._chars_per_token)))
        while start < end and (used := self.count(self.text[start:end])) > max_tokens:
            start = end - int((end - start) * min(0.9, max_tokens / used))
        return start

    def fitting_path(self, heading_path: tuple[str, ...]) -> tuple[str, ...]:
        """The heading path in at most half of the limit: outer titles go first, then the end of the last one."""
        half = self._max_tokens // 2
        while len(heading_path) > 1 and self._overhead(Setting(heading_path)) > half:
            heading_path = heading_path[1:]
        while heading_path and (used := self._overhead(Setting(heading_path))) > half:
            title = _shortened(heading_path[0], half / used)
            heading_path = (title,) if title else ()
        return heading_path

    def fitting_header(self, heading_path: tuple[str, ...], header: str) -> str:
        """The table header, or nothing where it takes more than half of the limit, or with the path three quarters."""
        alone, together = Setting((), header), Setting(heading_path, header)
        is_short = self._overhead(alone) * 2 <= self._max_tokens
        return header if is_short and self._overhead(together) * 4 <= self._max_tokens * 3 else ""

    def _count_indexed(self, start: int, stop: int, setting: Setting) -> int:
        return self.count(indexed_text_of(setting.heading_path, setting.table_header, self.text[start:stop]))

    def _count_setting(self, setting: Setting) -> int:
        return (
            self.count(indexed_text_of(setting.heading_path, setting.table_header, "")) if not setting.is_empty else 0
        )


def _shortened(title: str, share: float) -> str:
    """The beginning of a title, about this share of it, at least one character shorter."""
    stop = min(int(len(title) * share), len(title) - 1)
    cut = last_word_start(title, 0, stop) or last_grapheme_start(title, 0, stop)
    return title[:cut].strip()
