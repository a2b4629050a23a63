"""The registry file of a workspace whose registry is elsewhere by now: what it alone holds, and taking that over."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from lorebase.errors import ConfigurationError, LorebaseError, NotFoundError
from lorebase.registry.envelope import Envelope, success
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.reading import JsonObject
from lorebase.registry.stores import Change, RegistryStore, StoredBases

IMPORT_COMMAND: Final = "lorebase kb import"
_NAMED: Final = 5

Result = TypeVar("Result")


class ImportedBases(BaseModel):
    """What was taken over from a registry file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    imported: tuple[str, ...] = Field(description="Ids of the bases that the registry has now.")
    there_already: tuple[str, ...] = Field(description="Ids that it had before; its own records stayed as they are.")
    put_aside: str | None = Field(description="Where the file is now; null where it was left in its place.")


class SucceedingRegistryStore:
    """A registry that took the place of a file; see `RegistryStore`.

    As long as the file lies there, a base that stands in it alone is neither hidden nor made a second time: reading all
    warns of it, and whatever is asked about it is refused with the command that takes it over.

    Args:
        store: The registry.
        former: The file.
    """

    def __init__(self, store: RegistryStore, former: FileRegistryStore) -> None:
        self._store = store
        self._former = former

    def read_all(self) -> StoredBases:
        """Every base; see `RegistryStore`."""
        stored = self._store.read_all()
        try:
            left = left_behind(self._former, stored.by_id)
        except LorebaseError as error:
            return StoredBases(stored.by_id, (*stored.warnings, f"BASES_LEFT_BEHIND: {error}"))
        said = (f"BASES_LEFT_BEHIND: {' '.join(left_behind_message(self._former, left))}",) if left else ()
        return StoredBases(stored.by_id, (*stored.warnings, *said))

    def read_one(self, base_id: str) -> StoredBases:
        """One base; see `RegistryStore`."""
        stored = self._store.read_one(base_id)
        if base_id not in stored.by_id:
            self._require_not_left(base_id)
        return stored

    def insert(self, base_id: str, data: JsonObject) -> bool:
        """Add a base; see `RegistryStore`."""
        if base_id not in self._store.read_one(base_id).by_id:
            self._require_not_left(base_id)
        return self._store.insert(base_id, data)

    def change(self, base_id: str, revise: Callable[[JsonObject], Change[Result]]) -> Result | None:
        """Revise a base; see `RegistryStore`."""
        done = self._store.change(base_id, revise)
        if done is None:
            self.read_one(base_id)
        return done

    def delete(self, base_id: str) -> bool:
        """Remove a base; see `RegistryStore`."""
        done = self._store.delete(base_id)
        if not done:
            self._require_not_left(base_id)
        return done

    def _require_not_left(self, base_id: str) -> None:
        if self._former.path.exists() and base_id in self._former.read_one(base_id).by_id:
            raise ConfigurationError(
                f"The knowledge base {base_id!r} is still in {self._former.path}, not in the registry.",
                remedy=f"Take it over with `{IMPORT_COMMAND}`, or move that file away.",
                base_id=base_id,
            )


def left_behind(former: FileRegistryStore, present: Collection[str]) -> tuple[str, ...]:
    """Ids that a file has and a registry lacks, sorted.

    Raises:
        CorruptObjectError: The file cannot be read, and there is no backup.
        NewerFormatError: A newer program wrote it.
    """
    if not former.path.exists():
        return ()
    return tuple(base_id for base_id in former.read_all().by_id if base_id not in present)


def left_behind_message(former: FileRegistryStore, left: Collection[str]) -> tuple[str, str]:
    """What is left behind, and how it is taken over."""
    some = ", ".join(sorted(left)[:_NAMED]) + (", ..." if len(left) > _NAMED else "")
    return (
        f"{len(left)} knowledge base(s) are in {former.path} and not in the registry ({some}).",
        f"Take them over with `{IMPORT_COMMAND}`, or move that file away.",
    )


def import_bases(store: RegistryStore, former: FileRegistryStore, *, put_aside: bool) -> Envelope[ImportedBases]:
    """Take over every base of a file that the registry does not have; the same call finishes what was interrupted.

    Args:
        store: The registry.
        former: The file.
        put_aside: Whether the file is renamed afterwards, so that nobody takes it for the registry.

    Returns:
        What was taken over; a warning for each base that stands in both and differs, and for each unusable entry.

    Raises:
        NotFoundError: There is no such file.
        CorruptObjectError: It cannot be read, and there is no backup.
        NewerFormatError: A newer program wrote it.
    """
    if not former.path.exists():
        raise NotFoundError(
            f"There is no registry file {former.path}.", remedy="Name the file: `lorebase kb import FILE`."
        )
    read = former.read_all()
    present = store.read_all().by_id
    imported = [base_id for base_id, data in read.by_id.items() if store.insert(base_id, data)]
    differing = [base_id for base_id, data in read.by_id.items() if base_id in present and present[base_id] != data]
    warnings = [
        f"DIFFERENT_BASE: {base_id!r} is in the registry with other values; those stayed." for base_id in differing
    ]
    done = ImportedBases(
        imported=tuple(imported),
        there_already=tuple(base_id for base_id in read.by_id if base_id not in imported),
        put_aside=str(former.put_aside()) if put_aside else None,
    )
    return success(done, (*read.warnings, *warnings))
