"""Events as text and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from lorebase.operation import OperationContext
from lorebase.presentation.bubbles import is_blank, reply_bubble_texts
from lorebase.presentation.event_streams import serialize_output_events, text_output_events
from lorebase.presentation.reply_events import (
    AgentOutputEvent,
    BubbleEnd,
    BubbleStart,
    Completed,
    Delivery,
    TextDelta,
    publish_reply_events,
)

CHUNKS = st.lists(st.text(alphabet="ab你 \t\n\n\n\r\u200b", max_size=8), max_size=12)


async def stream_of(chunks: Sequence[str]) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk


async def events_of(chunks: Sequence[str]) -> list[AgentOutputEvent]:
    return [event async for event in text_output_events(stream_of(chunks))]


async def text_of(reply: str, chunk_size: int = 240) -> list[str]:
    events = publish_reply_events(reply, OperationContext(app=None), delivery=Delivery(chunk_size=chunk_size))
    return [text async for text in serialize_output_events(events)]


def texts_of(events: list[AgentOutputEvent]) -> list[str]:
    texts: dict[int, str] = {}
    for event in events:
        if isinstance(event, TextDelta):
            texts[event.index] = texts.get(event.index, "") + event.text
    return [texts[index] for index in sorted(texts)]


async def test_text_of_events_has_a_blank_line_between_bubbles() -> None:
    """A-105."""
    assert await text_of("你好\n\nabc", chunk_size=2) == ["你好", "\n\n", "ab", "c"]


async def test_events_of_text_come_as_soon_as_they_are_certain() -> None:
    """A-105."""
    assert await events_of(["ab", "c\n", "\n", " d"]) == [
        BubbleStart(index=0),
        TextDelta(index=0, text="ab"),
        TextDelta(index=0, text="c"),
        BubbleEnd(index=0),
        BubbleStart(index=1),
        TextDelta(index=1, text=" d"),
        BubbleEnd(index=1),
        Completed(bubbles=2, characters=5),
    ]


async def test_no_text_gives_an_empty_reply() -> None:
    assert await events_of([]) == [Completed(bubbles=0, characters=0)]
    assert await events_of(["", "\n \n"]) == [Completed(bubbles=0, characters=0)]


def test_wherever_a_text_is_cut_its_bubbles_are_those_of_the_whole_text() -> None:
    """A-105, A-100."""

    @given(CHUNKS)
    def check(chunks: list[str]) -> None:
        events = asyncio.run(events_of(chunks))

        whole = [bubble for bubble in reply_bubble_texts("".join(chunks)) if not is_blank(bubble)]
        assert texts_of(events) == whole
        assert events[-1] == Completed(bubbles=len(whole), characters=sum(map(len, whole)))

    check()


def test_events_written_as_text_and_read_again_have_the_same_bubbles() -> None:
    """A-105."""

    @given(st.text(alphabet="ab你 \n👩\u200d", max_size=60), st.integers(1, 9))
    def check(reply: str, chunk_size: int) -> None:
        chunks = asyncio.run(text_of(reply, chunk_size))

        events = asyncio.run(events_of(chunks))

        assert texts_of(events) == [bubble for bubble in reply_bubble_texts(reply) if not is_blank(bubble)]

    check()


async def test_leaving_a_stream_closes_the_one_it_reads() -> None:
    closed: list[str] = []

    async def chunks() -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            closed.append("chunks")

    stream = serialize_output_events(text_output_events(chunks()))

    assert await anext(stream) == "a"
    await stream.aclose()
    assert closed == ["chunks"]


async def test_one_chunk_is_read_for_one_text_asked_for() -> None:
    """A-101: back-pressure reaches the source."""
    read: list[str] = []

    async def chunks() -> AsyncIterator[str]:
        for chunk in ("a", "b", "c"):
            read.append(chunk)
            yield chunk

    stream = serialize_output_events(text_output_events(chunks()))
    await anext(stream)
    await stream.aclose()

    assert read == ["a"]
