"""Reply events: a reply as a stream that the consumer pulls, with pauses that are bounded and can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import regex
from pydantic import BaseModel, ConfigDict, Field

from lorebase.clock import Clock, SystemClock
from lorebase.errors import UsageError
from lorebase.operation import CancelSignal, OperationContext, until_cancelled
from lorebase.presentation.bubbles import ReplyInput, is_blank, reply_bubble_texts
from lorebase.presentation.pieces import text_pieces

_LONE_SURROGATE = regex.compile(r"\p{Cs}")

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BubbleStart(_Event):
    """A bubble begins."""

    type: Literal["bubble_start"] = "bubble_start"
    index: int = Field(ge=0, description="Position of the bubble among those published.")


class TextDelta(_Event):
    """More text of the bubble that began last."""

    type: Literal["text_delta"] = "text_delta"
    index: int = Field(ge=0)
    text: str = Field(min_length=1, description="Joined, the texts of a bubble are the bubble.")


class BubbleEnd(_Event):
    """A bubble is whole."""

    type: Literal["bubble_end"] = "bubble_end"
    index: int = Field(ge=0)


class Completed(_Event):
    """The reply is whole; the last event."""

    type: Literal["completed"] = "completed"
    bubbles: int = Field(ge=0)
    characters: int = Field(ge=0, description="Code points in all texts.")


AgentOutputEvent: TypeAlias = Annotated[BubbleStart | TextDelta | BubbleEnd | Completed, Field(discriminator="type")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a reply is cut and paced.

    Attributes:
        chunk_size: Most code points in one delta, at least 1.
        interval_ms: Pause between two deltas of a bubble, milliseconds, at least 0.
        bubble_pause_ms: Pause between two bubbles, likewise.
        max_duration_ms: Most milliseconds of all pauses together; 0 for none. What is left then comes without pauses.

    Raises:
        UsageError: A value is no whole number, or below what it must be.
    """

    chunk_size: int = 240
    interval_ms: int = 0
    bubble_pause_ms: int = 0
    max_duration_ms: int = 3000

    def __post_init__(self) -> None:
        least = {"chunk_size": 1, "interval_ms": 0, "bubble_pause_ms": 0, "max_duration_ms": 0}
        for name, lowest in least.items():
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise UsageError(
                    f"A delivery has {name}={value!r}.", remedy=f"Give a whole number of at least {lowest}."
                )


def publish_reply_events(
    text: ReplyInput,
    context: OperationContext[Any],
    *,
    delivery: Delivery | None = None,
    sleep: Sleep = asyncio.sleep,
    clock: Clock | None = None,
) -> AsyncGenerator[AgentOutputEvent, None]:
    """Publish a reply as events; each is made when the consumer asks for it, so a slow consumer is never run over.

    Blank bubbles are left out. Nothing is sent before the first delta of a reply or after its last one but events:
    pauses stand only between deltas and between bubbles. Time that the consumer takes counts for nothing.

    Args:
        text: The reply, in any form that `reply_bubble_texts` takes; read at once.
        context: Its signal stops the stream at the next event, or inside a pause.
        delivery: How it is cut and paced.
        sleep: Waits; given seconds.
        clock: Measures how long a pause really took.

    Returns:
        The events, to be gone through once. Close it (`aclose`) where it is left before its end.

    Raises:
        UsageError: The reply has no readable form, or half of a surrogate pair, which no output can encode.
        OperationCancelledError: From the stream, once the signal was given.
    """
    bubbles = [bubble for bubble in reply_bubble_texts(text) if not is_blank(bubble)]
    if any(_LONE_SURROGATE.search(bubble) for bubble in bubbles):
        raise UsageError(
            "The reply has half of a surrogate pair, which cannot be written as UTF-8.",
            remedy="Decode the text again, or replace what is no character.",
        )
    used = delivery or Delivery()
    pacing = _Pacing(used.max_duration_ms, context.signal, sleep, clock or SystemClock())
    return _stream(bubbles, used, pacing, context.signal)


async def _stream(
    bubbles: Sequence[str], delivery: Delivery, pacing: _Pacing, signal: CancelSignal
) -> AsyncGenerator[AgentOutputEvent, None]:
    for index, bubble in enumerate(bubbles):
        if index:
            await pacing.pause(delivery.bubble_pause_ms)
        signal.raise_if_cancelled()
        yield BubbleStart(index=index)
        for at, piece in enumerate(text_pieces(bubble, delivery.chunk_size)):
            if at:
                await pacing.pause(delivery.interval_ms)
            signal.raise_if_cancelled()
            yield TextDelta(index=index, text=piece)
        signal.raise_if_cancelled()
        yield BubbleEnd(index=index)
    signal.raise_if_cancelled()
    yield Completed(bubbles=len(bubbles), characters=sum(map(len, bubbles)))


class _Pacing:
    """Pauses until the time for them is used up."""

    def __init__(self, max_duration_ms: int, signal: CancelSignal, sleep: Sleep, clock: Clock) -> None:
        self._left_ms: float = max_duration_ms
        self._signal = signal
        self._sleep = sleep
        self._clock = clock

    async def pause(self, wanted_ms: int) -> None:
        pause_ms = min(wanted_ms, self._left_ms)
        if pause_ms <= 0:
            return
        began = self._clock.monotonic()
        await until_cancelled(self._sleep(pause_ms / 1000), self._signal)
        # A loaded machine wakes late: what was really slept counts, and never less than was asked for.
        self._left_ms -= max(pause_ms, (self._clock.monotonic() - began) * 1000)
