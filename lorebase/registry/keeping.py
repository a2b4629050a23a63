"""Records between the store and the commands: read and normalised, revised as one with being stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lorebase.clock import Clock
from lorebase.registry.base_changes import Applied
from lorebase.registry.content import BaseFolders
from lorebase.registry.layout import is_base_id
from lorebase.registry.problems import Problem
from lorebase.registry.reading import JsonObject
from lorebase.registry.record import (
    BaseStatistics,
    KnowledgeBaseRecord,
    ReadRecord,
    RecordHead,
    read_head,
    read_record,
    stored_record,
)
from lorebase.registry.stores import Change, RegistryStore

BASE_NOT_FOUND = "BASE_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class BasesRead:
    """The heads of every base of a registry.

    Attributes:
        heads: The default base first, then by id.
        warnings: What of the registry was left out.
    """

    heads: tuple[RecordHead, ...]
    warnings: tuple[str, ...]


class RecordKeeper:
    """Reads and revises records.

    Args:
        store: Where they are kept.
        clock: Gives `updated_at`.
        statistics: Counts what is in a base; None keeps the figures that are stored.
        folders: Where trees lie; None where the registry makes no folders.
    """

    def __init__(
        self,
        store: RegistryStore,
        *,
        clock: Clock,
        statistics: Callable[[str], BaseStatistics] | None = None,
        folders: BaseFolders | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.folders = folders
        self._statistics = statistics

    def read_all(self) -> BasesRead:
        """Every base without its types; the store is read once."""
        stored = self.store.read_all()
        now = self.clock.now()
        heads = [read_head(data, base_id, now) for base_id, data in stored.by_id.items()]
        placed = [replace(head, root_dir=self._root_dir_of(head)) for head in heads]
        return BasesRead(tuple(sorted(placed, key=lambda head: (not head.is_default, head.id))), stored.warnings)

    def read(self, base_id: str) -> ReadRecord | None:
        """One base; None where there is none."""
        if not is_base_id(base_id):
            return None
        stored = self.store.read_one(base_id)
        if base_id not in stored.by_id:
            return None
        read = read_record(stored.by_id[base_id], base_id, self.clock.now())
        return ReadRecord(self.placed(read.record), (*stored.warnings, *read.warnings))

    def counted(self, record: KnowledgeBaseRecord) -> KnowledgeBaseRecord:
        """The record with its figures counted now, where something counts them."""
        if self._statistics is None:
            return record
        return record.model_copy(update={"statistics": self._statistics(record.id)})

    def insert(self, record: KnowledgeBaseRecord) -> bool:
        """Add a base; False where its id is taken."""
        if self.folders is not None and not record.root_dir:
            self.folders.make(record.id)
        return self.store.insert(record.id, stored_record(record))

    def revise(
        self, base_id: str, step: Callable[[KnowledgeBaseRecord], Applied | Problem]
    ) -> Applied | Problem | None:
        """Revise a base and store it, with its figures counted again.

        Args:
            base_id: The base.
            step: Makes the new record of the stored one; called again where another process was faster.

        Returns:
            The revised record with warnings, or why the change was refused; None where there is no such base.
        """
        if not is_base_id(base_id):
            return None
        statistics = self._statistics(base_id) if self._statistics is not None else None

        def revised(data: JsonObject) -> Change[Applied | Problem]:
            read = read_record(data, base_id, self.clock.now())
            record = read.record.model_copy(update={"statistics": statistics}) if statistics else read.record
            outcome = step(record)
            if isinstance(outcome, Problem):
                return Change(outcome)
            applied = Applied(self.placed(outcome.record), (*read.warnings, *outcome.warnings))
            return Change(applied, stored_record(outcome.record))

        return self.store.change(base_id, revised)

    def placed(self, record: KnowledgeBaseRecord) -> KnowledgeBaseRecord:
        """The record with the folder of its tree. A default place is not stored, so that a root can be moved."""
        return record.model_copy(update={"root_dir": self._root_dir_of(record)})

    def _root_dir_of(self, base: KnowledgeBaseRecord | RecordHead) -> str:
        if base.root_dir or self.folders is None:
            return base.root_dir
        return str(self.folders.tree_of(base.id))


def not_found_message(base_id: str) -> str:
    """The sentence about a base that there is not."""
    return f"There is no knowledge base {base_id[:80]!r}."
