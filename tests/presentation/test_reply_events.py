"""Replies as streams of events."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from lorebase.errors import OperationCancelledError, UsageError
from lorebase.operation import Cancellation, OperationContext
from lorebase.presentation.bubbles import is_blank
from lorebase.presentation.reply_events import (
    AgentOutputEvent,
    BubbleEnd,
    BubbleStart,
    Completed,
    Delivery,
    TextDelta,
    publish_reply_events,
)

BUBBLES = st.lists(st.text(alphabet="a你 \n👩\u200d\u0301", max_size=30), max_size=5)


class Sleeper:
    """A clock that moves only while somebody sleeps, by `slowness` times what was asked for."""

    def __init__(self, slowness: float = 1) -> None:
        self.slept_ms: list[float] = []
        self.seconds = 0.0
        self.slowness = slowness

    async def sleep(self, seconds: float) -> None:
        self.slept_ms.append(round(seconds * 1000, 6))
        self.seconds += seconds * self.slowness

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2024, 1, 1, tzinfo=UTC)


def context(signal: Cancellation | None = None) -> OperationContext[None]:
    return OperationContext(app=None, signal=signal or Cancellation())


async def published(
    text: Any, delivery: Delivery | None = None, sleeper: Sleeper | None = None
) -> list[AgentOutputEvent]:
    used = sleeper or Sleeper()
    stream = publish_reply_events(text, context(), delivery=delivery, sleep=used.sleep, clock=used)
    return [event async for event in stream]


def bubbles_of(events: list[AgentOutputEvent]) -> list[str]:
    starts = [event for event in events if isinstance(event, BubbleStart)]
    deltas = [event for event in events if isinstance(event, TextDelta)]
    return ["".join(delta.text for delta in deltas if delta.index == start.index) for start in starts]


async def test_a_reply_comes_bubble_by_bubble_and_ends_with_its_totals() -> None:
    """A-101."""
    assert await published("你好\n\nab", Delivery(chunk_size=1)) == [
        BubbleStart(index=0),
        TextDelta(index=0, text="你"),
        TextDelta(index=0, text="好"),
        BubbleEnd(index=0),
        BubbleStart(index=1),
        TextDelta(index=1, text="a"),
        TextDelta(index=1, text="b"),
        BubbleEnd(index=1),
        Completed(bubbles=2, characters=4),
    ]


async def test_defaults_are_240_characters_and_no_pauses() -> None:
    """A-102."""
    sleeper = Sleeper()

    events = await published("知" * 500 + "\n\nb", sleeper=sleeper)

    assert [len(event.text) for event in events if isinstance(event, TextDelta)] == [240, 240, 20, 1]
    assert sleeper.slept_ms == []
    assert Delivery() == Delivery(chunk_size=240, interval_ms=0, bubble_pause_ms=0, max_duration_ms=3000)


def test_the_deltas_of_a_bubble_are_the_bubble() -> None:
    """A-101, A-103."""

    @given(BUBBLES, st.integers(1, 9))
    def check(bubbles: list[str], chunk_size: int) -> None:
        events = asyncio.run(published(bubbles, Delivery(chunk_size=chunk_size)))

        visible = [bubble for bubble in bubbles if not is_blank(bubble)]
        assert bubbles_of(events) == visible
        assert events[-1] == Completed(bubbles=len(visible), characters=len("".join(visible)))

    check()


async def test_blank_bubbles_are_left_out() -> None:
    assert await published(["", " \n", "\u200b"]) == [Completed(bubbles=0, characters=0)]


async def test_pauses_stand_between_deltas_and_between_bubbles_only() -> None:
    """A-102: none before the first delta, none after the last."""
    sleeper = Sleeper()

    await published("abc\n\nd\n\nef", Delivery(chunk_size=1, interval_ms=10, bubble_pause_ms=500), sleeper)

    assert sleeper.slept_ms == [10, 10, 500, 500, 10]


async def test_pauses_end_when_their_time_is_used_up_and_the_rest_comes_at_once() -> None:
    """A-104."""
    sleeper = Sleeper()

    events = await published("a" * 20, Delivery(chunk_size=1, interval_ms=400, max_duration_ms=1000), sleeper)

    assert sleeper.slept_ms == [400, 400, 200]
    assert bubbles_of(events) == ["a" * 20]


async def test_a_pause_that_takes_longer_than_asked_counts_for_what_it_took() -> None:
    """A-104."""
    sleeper = Sleeper(slowness=5)

    await published("a" * 20, Delivery(chunk_size=1, interval_ms=100, max_duration_ms=1000), sleeper)

    assert len(sleeper.slept_ms) == 2


async def test_a_clock_that_stands_still_does_not_make_pauses_endless() -> None:
    """A-104."""
    sleeper = Sleeper(slowness=0)

    await published("a" * 200, Delivery(chunk_size=1, interval_ms=100, max_duration_ms=1000), sleeper)

    assert len(sleeper.slept_ms) == 10


def test_no_pacing_sleeps_longer_than_its_bound() -> None:
    """A-104."""
    milliseconds = st.integers(0, 5000)

    @given(BUBBLES, milliseconds, milliseconds, milliseconds)
    def check(bubbles: list[str], interval_ms: int, bubble_pause_ms: int, max_duration_ms: int) -> None:
        sleeper = Sleeper()
        delivery = Delivery(
            chunk_size=2, interval_ms=interval_ms, bubble_pause_ms=bubble_pause_ms, max_duration_ms=max_duration_ms
        )

        events = asyncio.run(published(bubbles, delivery, sleeper))

        assert sum(sleeper.slept_ms) <= max_duration_ms + 0.001
        assert bubbles_of(events) == [bubble for bubble in bubbles if not is_blank(bubble)]

    check()


async def test_no_time_for_pauses_means_none() -> None:
    """A-104."""
    sleeper = Sleeper()

    await published("abc", Delivery(chunk_size=1, interval_ms=10, max_duration_ms=0), sleeper)

    assert sleeper.slept_ms == []


async def test_time_that_the_consumer_takes_uses_up_no_pause() -> None:
    """A-104."""
    sleeper = Sleeper()
    delivery = Delivery(chunk_size=1, interval_ms=100, max_duration_ms=300)

    async for _ in publish_reply_events("abcd", context(), delivery=delivery, sleep=sleeper.sleep, clock=sleeper):
        sleeper.seconds += 3600

    assert sleeper.slept_ms == [100, 100, 100]


async def test_nothing_is_made_or_slept_before_the_consumer_asks() -> None:
    """A-101: back-pressure."""
    sleeper = Sleeper()
    delivery = Delivery(chunk_size=1, interval_ms=100)
    stream = publish_reply_events("abcd", context(), delivery=delivery, sleep=sleeper.sleep, clock=sleeper)

    slept = [list(sleeper.slept_ms)]
    for _ in range(3):
        await anext(stream)
        slept.append(list(sleeper.slept_ms))
    await stream.aclose()

    assert slept == [[], [], [], [100]]


async def test_the_signal_stops_the_stream_before_the_next_event() -> None:
    """A-101."""
    signal = Cancellation()
    received: list[AgentOutputEvent] = []

    async def consume() -> None:
        async for event in publish_reply_events("abcd", context(signal), delivery=Delivery(chunk_size=1)):
            received.append(event)
            if len(received) == 3:
                signal.cancel()

    with pytest.raises(OperationCancelledError):
        await consume()

    assert received[-1] == TextDelta(index=0, text="b")


async def test_a_signal_given_before_the_start_lets_nothing_through() -> None:
    signal = Cancellation()
    signal.cancel()

    for text in ("a", ""):
        with pytest.raises(OperationCancelledError):
            await anext(publish_reply_events(text, context(signal)))


async def test_the_signal_ends_a_pause() -> None:
    """A-101."""
    signal = Cancellation()
    asleep, ended = asyncio.Event(), []

    async def sleep(seconds: float) -> None:
        asleep.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(seconds)

    async def consume() -> list[AgentOutputEvent]:
        delivery = Delivery(chunk_size=1, interval_ms=1000)
        return [event async for event in publish_reply_events("ab", context(signal), delivery=delivery, sleep=sleep)]

    consumer = asyncio.create_task(consume())
    await asleep.wait()
    signal.cancel()

    with pytest.raises(OperationCancelledError):
        await consumer
    assert ended == [1]


async def test_a_cancelled_task_is_cancelled_inside_a_pause() -> None:
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    async def consume() -> None:
        async for _ in publish_reply_events(
            "ab", context(), delivery=Delivery(chunk_size=1, interval_ms=9), sleep=sleep
        ):
            pass

    consumer = asyncio.create_task(consume())
    await asleep.wait()
    consumer.cancel()

    with pytest.raises(asyncio.CancelledError):
        await consumer
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_two_consumers_at_once_do_not_disturb_each_other() -> None:
    events = await asyncio.gather(*[published(text, Delivery(chunk_size=1, interval_ms=1)) for text in ("ab", "你好")])

    assert [bubbles_of(each) for each in events] == [["ab"], ["你好"]]


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 0},
        {"chunk_size": -1},
        {"interval_ms": -1},
        {"bubble_pause_ms": -1},
        {"max_duration_ms": -1},
        {"interval_ms": float("nan")},
        {"chunk_size": None},
        {"chunk_size": True},
    ],
)
def test_a_delivery_that_cannot_work_is_refused(options: dict[str, Any]) -> None:
    """A-102."""
    with pytest.raises(UsageError, match=next(iter(options))):
        Delivery(**options)


def test_half_a_surrogate_pair_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(UsageError, match="surrogate"):
        publish_reply_events("ok\n\n\ud83d", context())


@pytest.mark.parametrize(
    "event", [BubbleStart(index=0), TextDelta(index=1, text="知"), Completed(bubbles=1, characters=2)]
)
def test_events_survive_json(event: AgentOutputEvent) -> None:
    """A-105."""
    adapter: TypeAdapter[AgentOutputEvent] = TypeAdapter(AgentOutputEvent)

    assert adapter.validate_json(event.model_dump_json()) == event
