"""Where records are kept: the port that the file and the database implement alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from lorebase.registry.reading import JsonObject

FORMAT: Final = 1
"""Form of what is stored. A registry of a higher one was written by a newer program and is left alone."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class StoredBases:
    """Everything that a registry holds.

    Attributes:
        by_id: The stored object of every base, by id, sorted by id.
        warnings: What of the registry could not be used, each sentence beginning with its code.
    """

    by_id: Mapping[str, JsonObject]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change(Generic[Result]):
    """What a revision of a base comes to.

    Attributes:
        result: What the caller gets.
        data: The base's new object; None leaves the stored one as it is.
    """

    result: Result
    data: JsonObject | None = None


class RegistryStore(Protocol):
    """Keeps one JSON object for each base. Safe to use from many threads and processes; nothing written is lost.

    Every method raises `NewerFormatError` where a newer program wrote the registry, `CorruptObjectError` where it
    cannot be read and there is no backup, `ConflictError` where another process held it for too long, and
    `UnavailableError` where a database does not answer. Ids are of the right form: callers see to that.
    """

    def read_all(self) -> StoredBases:
        """Every base, read once."""
        ...

    def read_one(self, base_id: str) -> StoredBases:
        """The base alone; nothing where there is no such base."""
        ...

    def insert(self, base_id: str, data: JsonObject) -> bool:
        """Add a base; False, and nothing happens, where the id is taken."""
        ...

    def change(self, base_id: str, revise: Callable[[JsonObject], Change[Result]]) -> Result | None:
        """Read a base, revise it and store it, as one.

        Args:
            base_id: The base.
            revise: Makes the new object of the stored one; called again where another process was faster.

        Returns:
            The result of the revision that counted; None where there is no such base.
        """
        ...

    def delete(self, base_id: str) -> bool:
        """Remove a base; False where there is none."""
        ...
