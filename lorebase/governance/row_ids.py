"""Ids of rows: 64-bit whole numbers that rise with time and need no round trip to a database."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Protocol

from lorebase.clock import Clock
from lorebase.errors import ConfigurationError

_EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
WORKER_BITS = 10
_SEQUENCE_BITS = 12
_WORKERS = 1 << WORKER_BITS


class IdGenerator(Protocol):
    """Gives every row its identity."""

    def next_id(self) -> int:
        """A number from 1 to 2^63 - 1 that no other call gets."""
        ...


class SnowflakeIds:
    """41 bits of milliseconds since 2025, 10 bits of worker, 12 bits of sequence; safe for threads.

    Ids of one generator always rise, also when the clock goes back or more than 4,096 are asked for in a millisecond:
    then the next millisecond is borrowed. Generators that run at the same time need different workers.
    """

    def __init__(self, clock: Clock, worker: int) -> None:
        """Args: clock: Time of day. worker: 0 to 1,023."""
        if not 0 <= worker < _WORKERS:
            raise ConfigurationError(f"A worker number is 0 to {_WORKERS - 1}, not {worker}.")
        self._clock = clock
        self._worker = worker
        self._lock = threading.Lock()
        self._tick = 0
        self._sequence = -1

    def next_id(self) -> int:
        """The next number."""
        now = int((self._clock.now() - _EPOCH).total_seconds() * 1000)
        with self._lock:
            if now > self._tick:
                self._tick, self._sequence = now, -1
            self._sequence += 1
            if self._sequence >> _SEQUENCE_BITS:
                self._tick, self._sequence = self._tick + 1, 0
            return (self._tick << WORKER_BITS | self._worker) << _SEQUENCE_BITS | self._sequence
