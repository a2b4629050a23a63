"""Counts that an embedded Milvus answered, kept beside its file for as long as the file stays as it is.

Milvus Lite loads a whole collection before it counts: seconds for 100,000 chunks. A build in which nothing has changed
asks only for counts, so it needs no Milvus where they are known.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

ALL, ON, OFF = "", "searchable == true", "searchable == false"
LASTING = frozenset({ALL, ON, OFF})
"""Expressions whose counts a build asks for again."""

_SEPARATOR = ": "


def question_of(collection: str, expression: str) -> str:
    """How many rows of a collection an expression matches."""
    return f"{collection}{_SEPARATOR}{expression}"


def expression_of(question: str) -> str:
    """The expression that a question is about."""
    return question.partition(_SEPARATOR)[2]


class _KeptCounts(BaseModel):
    """What the file beside the database holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: tuple[int, int, int]
    counts: dict[str, int]


class KnownCounts:
    """Counts of one database file. Its owner calls every method while it holds the file's lock.

    A count is kept until the next write through this owner. It is kept in a file when the database is closed, with the
    inode, size and time of change that the database has then; whoever finds another file there takes no count from it.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(f"{database.name}.counts")
        self._counts: dict[str, int] = {}

    def get(self, question: str) -> int | None:
        """The answer to a count that was asked since the last write; None where it has to be asked."""
        return self._counts.get(question)

    def keep(self, question: str, count: int) -> None:
        """Keep an answer until the next write."""
        self._counts[question] = count

    def forget(self) -> None:
        """Drop what is kept, in the file too: the database is about to change, or nobody knows what it holds."""
        self._counts.clear()
        with contextlib.suppress(OSError):  # an unwritable folder keeps the database from changing as well
            self._path.unlink(missing_ok=True)

    def take(self) -> dict[str, int]:
        """Forget what is known; returns it."""
        known = dict(self._counts)
        self.forget()
        return known

    def give_back(self, known: dict[str, int], collection: str, *, shifts: dict[str, int]) -> None:
        """Know again what was taken, after a write that changed the counts of one collection by known numbers.

        Args:
            known: What was taken before the write.
            collection: The collection that was written.
            shifts: By how much its counts have changed, by expression; its other counts are not known any more.
        """
        for question, count in known.items():
            expression = expression_of(question)
            if question != question_of(collection, expression):
                self.keep(question, count)
            elif expression in shifts:
                self.keep(question, count + shifts[expression])

    def leave_to_parent(self) -> None:
        """In a forked child: know nothing; the file stays as the parent, which owns it, wants it."""
        self._counts = {}

    def load(self) -> None:
        """Take up what was kept in the file, if the database is still the one it was kept for."""
        self._counts.clear()
        with contextlib.suppress(OSError, ValidationError):
            kept = _KeptCounts.model_validate_json(self._path.read_bytes())
            if kept.database == self._state():
                self._counts.update(kept.counts)

    def save(self) -> None:
        """Keep in the file what is known about the closed database."""
        if not self._counts:
            return
        with contextlib.suppress(OSError):  # without it the next owner asks Milvus
            partial = self._path.with_name(f".{self._path.name}.{os.getpid()}")
            partial.write_text(_KeptCounts(database=self._state(), counts=self._counts).model_dump_json())
            partial.replace(self._path)

    def _state(self) -> tuple[int, int, int]:
        found = self._database.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
