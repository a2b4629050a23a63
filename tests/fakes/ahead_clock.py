"""A clock that is wrong by a constant time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


class AheadClock:
    """The machine's clock, ahead by a time that may be negative."""

    def __init__(self, ahead: timedelta) -> None:
        self._ahead = ahead

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def monotonic(self) -> float:
        return time.monotonic()
