"""Which task run of a process works on which item, so that two of them never pay for the same one."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future


class Claims:
    """Items under way, by key. Safe for several threads and event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[None]] = {}

    def take(self, keys: Iterable[str]) -> tuple[set[str], dict[str, Future[None]]]:
        """Claim those items that nobody works on.

        Returns:
            The claimed items, each to be released once its result is recorded or given up; and of the others the
            futures that are done when they are released.
        """
        mine: set[str] = set()
        others: dict[str, Future[None]] = {}
        with self._lock:
            for key in keys:
                if key in mine:
                    continue
                if key in self._under_way:
                    others[key] = self._under_way[key]
                else:
                    future: Future[None] = Future()
                    future.set_running_or_notify_cancel()  # who waits for it and is cancelled cannot end it
                    self._under_way[key] = future
                    mine.add(key)
        return mine, others

    def release(self, keys: Iterable[str]) -> None:
        """Let go of claimed items, whether they were finished or not; unknown ones are passed over."""
        with self._lock:
            ended = [future for key in keys if (future := self._under_way.pop(key, None)) is not None]
        for future in ended:
            future.set_result(None)
