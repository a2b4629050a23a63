"""Reply events as plain text and back, for consumers of a protocol that knows only streams of text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TypeVar

import regex

from lorebase.presentation.bubbles import BUBBLE_SEPARATOR, is_blank
from lorebase.presentation.reply_events import AgentOutputEvent, BubbleEnd, BubbleStart, Completed, TextDelta

_PART = regex.compile(r"[\r\n]|[^\r\n]+")

ItemT = TypeVar("ItemT")


async def serialize_output_events(events: AsyncIterable[AgentOutputEvent]) -> AsyncGenerator[str, None]:
    r"""The text of the deltas as it comes, with a blank line (`\n\n`) between two bubbles.

    Yields:
        Texts, none of them empty. A bubble that has a blank line of its own cannot be told from two bubbles.
    """
    async with _closed_at_the_end(events) as stream:
        async for event in stream:
            match event:
                case BubbleStart(index=index) if index > 0:
                    yield BUBBLE_SEPARATOR
                case TextDelta(text=text):
                    yield text
                case _:
                    pass


async def text_output_events(chunks: AsyncIterable[str]) -> AsyncGenerator[AgentOutputEvent, None]:
    """Events of a text that comes in chunks, cut anywhere: the bubbles that the whole text has, without blank ones.

    Yields:
        Events as soon as they are certain: text is passed on with its chunk, line breaks and what may be a blank
        line wait for what follows.
    """
    reading = _BubbleReading()
    async with _closed_at_the_end(chunks) as stream:
        async for chunk in stream:
            for event in reading.events_of(chunk):
                yield event
    for event in reading.last_events():
        yield event


class _BubbleReading:
    """The bubbles of a text that comes bit by bit."""

    def __init__(self) -> None:
        self._bubbles = 0
        self._characters = 0
        self._is_open = False
        self._is_over = False  # a blank line followed: the next visible text begins another bubble
        self._is_line_visible = False
        self._held = ""  # line breaks and blank characters that belong to the bubble only if visible text follows

    def events_of(self, chunk: str) -> Iterator[AgentOutputEvent]:
        for part in _PART.findall(chunk):
            if part == "\n":
                self._end_line()
            elif part == "\r" or (not self._is_line_visible and is_blank(part)):
                self._held += part
            else:
                yield from self._visible(part)

    def last_events(self) -> Iterator[AgentOutputEvent]:
        if self._is_open:
            yield BubbleEnd(index=self._bubbles - 1)
        yield Completed(bubbles=self._bubbles, characters=self._characters)

    def _end_line(self) -> None:
        if self._is_line_visible:
            self._held += "\n"
        else:
            self._is_over = True
            self._held = ""
        self._is_line_visible = False

    def _visible(self, part: str) -> Iterator[AgentOutputEvent]:
        if self._is_open and self._is_over:
            yield BubbleEnd(index=self._bubbles - 1)
            self._is_open = False
        if not self._is_open:
            yield BubbleStart(index=self._bubbles)
            self._bubbles += 1
            self._is_open = True
        self._is_over = False
        text = self._held + part
        self._held = ""
        self._is_line_visible = True
        self._characters += len(text)
        yield TextDelta(index=self._bubbles - 1, text=text)


@asynccontextmanager
async def _closed_at_the_end(items: AsyncIterable[ItemT]) -> AsyncIterator[AsyncIterator[ItemT]]:
    """The items; a generator among them is closed also where its consumer leaves before the end."""
    stream = aiter(items)
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
