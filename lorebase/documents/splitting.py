"""Cutting a parsed document into chunks that fit an embedding model."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial

from lorebase.documents.boundaries import first_word_start
from lorebase.documents.cuts import Cuts
from lorebase.documents.fitting import Fitter, Setting
from lorebase.documents.model import Block, Chunk, ParsedDocument, indexed_text_of
from lorebase.documents.sections import Section, sections_of
from lorebase.errors import InvalidRecipeError
from lorebase.ids import chunk_id_of

MIN_MAX_TOKENS = 8

_WORTH_A_COUNT = 0.15


def split_document(
    parsed: ParsedDocument,
    count_tokens: Callable[[str], int],
    *,
    max_tokens: int,
    overlap_tokens: int,
    source: str,
) -> list[Chunk]:
    """Cut a document into chunks, in reading order, losing nothing.

    A chunk lies in one section (and on one page, where there are pages). Small blocks of a section share a chunk;
    what is too long is cut at the largest boundary that fits: block, sentence or table row, clause, word, grapheme.
    Chunks that go on inside a table carry its header. `count_tokens(chunk.indexed_text) <= max_tokens` holds for
    every chunk: a heading path of more than half the limit loses its outer titles first, a table header of more than
    half the limit is left away. Without overlap every character but white space is in exactly one chunk.

    Args:
        parsed: The document; blank text gives no chunks.
        count_tokens: Counter of the embedding model; it is given O(length) characters in all. A single code point
            with more than `max_tokens` tokens is a chunk of its own all the same.
        max_tokens: Longest indexed text of a chunk, at least `MIN_MAX_TOKENS`.
        overlap_tokens: Most tokens of the chunk before that a chunk repeats, from the start of a sentence or a word;
            at most half of `max_tokens`. Tables are not repeated: their headers are.
        source: Name of the document's source in the recipe.

    Raises:
        InvalidRecipeError: The limits contradict each other.
    """
    if max_tokens < MIN_MAX_TOKENS or not 0 <= overlap_tokens <= max_tokens // 2:
        raise InvalidRecipeError(
            f"Chunks cannot have max_tokens={max_tokens} with overlap_tokens={overlap_tokens}.",
            remedy=f"max_tokens is at least {MIN_MAX_TOKENS}, overlap_tokens from 0 to half of max_tokens.",
            faults=[f"max_tokens={max_tokens}, overlap_tokens={overlap_tokens}"],
        )
    fitter = Fitter(parsed.text, count_tokens, max_tokens=max_tokens)
    make_chunk = partial(_chunk, parsed, source)
    chunks: list[Chunk] = []
    for section in sections_of(parsed):
        for start, stop, setting in _SectionSplitter(section, fitter, overlap_tokens).spans():
            chunks.append(make_chunk(section, len(chunks), start, stop, setting, fitter.tokens(start, stop, setting)))
    return chunks


class _SectionSplitter:
    """Goes through one section, chunk by chunk."""

    def __init__(self, section: Section, fitter: Fitter, overlap_tokens: int) -> None:
        self._section = section
        self._fitter = fitter
        self._text = fitter.text
        self._overlap_tokens = overlap_tokens
        self._path = fitter.fitting_path(section.heading_path)
        self._cuts: Cuts | None = None

    def spans(self) -> Iterator[tuple[int, int, Setting]]:
        """Start, end and setting of each chunk."""
        end = _trim_end(self._text, self._section.start, self._section.end)
        reached = _trim_start(self._text, self._section.start, end)
        start = reached
        while reached < end:
            start, stop, setting = self._next(start, reached, end)
            yield start, _trim_end(self._text, start, stop), setting
            before, reached = start, _trim_start(self._text, stop, end)
            start = self._overlap_start(before, reached) if reached < end else reached

    def _next(self, start: int, reached: int, end: int) -> tuple[int, int, Setting]:
        """The chunk from `start` on; it goes beyond `reached`, if need be by not repeating what is before that."""
        for setting in self._settings(start):
            stop = self._reach(start, end, setting)
            while reached < stop < end:
                cut = self._cut(start, stop, reached)
                if self._fitter.fits(start, cut, setting):
                    return start, cut, setting
                # Fewer characters can have more tokens, where a token is cut in two.
                stop = cut - 1
            if stop > reached:
                return start, stop, setting
            if start < reached:
                return self._next(reached, reached, end)
        # Not even one code point fits beside nothing: the counter breaks its contract; going on beats an endless loop.
        return start, start + 1, Setting()

    def _reach(self, start: int, end: int, setting: Setting) -> int:
        """How far the chunk may go: as the fitter says, or to the end of the sentence just behind that if it fits."""
        stop = self._fitter.fit(start, end, setting)
        if start < stop < end:
            sentence_end = self._ready_cuts.first_sentence_start(stop + 1, end)
            near = sentence_end - stop <= (stop - start) * _WORTH_A_COUNT
            if near and self._fitter.fits(start, sentence_end, setting):
                return sentence_end
        return stop

    def _cut(self, start: int, stop: int, reached: int) -> int:
        header_ends = [end for end in self._ready_cuts.header_ends if not self._header_at(end)]
        cut = self._ready_cuts.best(start, stop, after=reached, before_header_ends=header_ends)
        # A cut before white space that nothing follows inside the reach would repeat itself.
        return cut if self._text[reached:cut].strip() else stop

    @property
    def _ready_cuts(self) -> Cuts:
        if self._cuts is None:
            self._cuts = Cuts(self._text, self._section)
        return self._cuts

    def _settings(self, start: int) -> list[Setting]:
        """What is put before the chunk's text, the fullest setting first."""
        settings = [Setting(self._path), Setting()]
        if header := self._header_at(start):
            settings.insert(0, Setting(self._path, header))
        return [setting for setting in settings if not setting.is_empty or setting is settings[-1]]

    def _header_at(self, start: int) -> str:
        """Header of the table whose rows go on at this place; empty outside of tables and in headers."""
        block = _block_at(self._section, start)
        header_end = block.start + block.header_chars
        if not block.header_chars or not header_end <= start < block.end:
            return ""
        return self._fitter.fitting_header(self._path, self._text[block.start : header_end].rstrip("\n"))

    def _overlap_start(self, before: int, reached: int) -> int:
        """Where the next chunk begins, so that it repeats the end of the one that began at `before`."""
        if not self._overlap_tokens or any(
            _block_at(self._section, at).kind == "table" for at in (reached - 1, reached)
        ):
            return reached
        earliest = self._fitter.fit_backwards(before + 1, reached, self._overlap_tokens)
        for first_start in (self._ready_cuts.first_sentence_start, partial(first_word_start, self._text)):
            start = _trim_start(self._text, first_start(earliest, reached), reached)
            if start < reached and self._fitter.count(self._text[start:reached]) <= self._overlap_tokens:
                return start
        return reached


def _block_at(section: Section, position: int) -> Block:
    """The block at a position, or the last one before it."""
    blocks = (*section.headings, *section.bodies)
    index = bisect_right(blocks, position, key=lambda block: block.start)
    return blocks[max(0, index - 1)]


def _chunk(
    parsed: ParsedDocument,
    source: str,
    section: Section,
    position: int,
    start: int,
    stop: int,
    setting: Setting,
    tokens: int,
) -> Chunk:
    text = parsed.text[start:stop]
    first = _block_at(section, start)
    bodies = [block for block in section.bodies if block.start < stop and block.end > start]
    first_row, last_row = _rows_of(parsed.text, bodies, start, stop)
    return Chunk(
        chunk_id=chunk_id_of(
            parsed.document_id,
            parsed.revision_id,
            position,
            indexed_text_of(setting.heading_path, setting.table_header, text),
        ),
        document_id=parsed.document_id,
        revision_id=parsed.revision_id,
        document_name=parsed.name,
        source=source,
        position=position,
        text=text,
        start=start,
        end=stop,
        heading_path=setting.heading_path,
        table_header=setting.table_header,
        page=first.page,
        page_label=first.page_label,
        kind=bodies[0].kind if bodies else first.kind,
        tokens=tokens,
        first_row=first_row,
        last_row=last_row,
    )


def _rows_of(text: str, bodies: list[Block], start: int, stop: int) -> tuple[int | None, int | None]:
    """First and last row of the one table that a chunk holds rows of, from 1; None where it holds none or more."""
    tables = [block for block in bodies if block.kind == "table"]
    if len(bodies) != 1 or len(tables) != 1:
        return None, None
    first_line = tables[0].start + tables[0].header_chars
    if stop <= first_line:
        return None, None
    begin = max(start, first_line)
    return text.count("\n", first_line, begin) + 1, text.count("\n", first_line, stop) + 1


def _trim_start(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _trim_end(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end
