"""A clock that stands still."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass
class FixedClock:
    moment: datetime = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
    seconds: float = 0.0

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.seconds
