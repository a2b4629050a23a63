"""Migrating a tree or a memory inside an object store: copy, verify every digest, and only then delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lorebase.artifacts.store import ObjectInventory
from lorebase.errors import MigrationError
from lorebase.fingerprint import sha256_of
from lorebase.registry.layout.detection import looks_like_knowledge_prefix
from lorebase.registry.layout.paths import knowledge_prefix, memory_prefix
from lorebase.registry.migration.journal import JournalRecord, Phase
from lorebase.registry.migration.moving import Observer, unobserved
from lorebase.registry.migration.outcome import MigrationOutcome, MovedFolder, What, outcome
from lorebase.registry.migration.plan import MEMORY_NAMES, TREE_NAMES
from lorebase.registry.migration.reasons import listed, refusal


def migrate_tree_objects(
    store: ObjectInventory,
    source: str,
    base_id: str,
    *,
    agent_prefix: str = "",
    apply: bool = True,
    observer: Observer = unobserved,
) -> MigrationOutcome:
    """Move the objects of a tree below `<agent prefix>/domain_knowledge/<base id>`, without its memory.

    A store has no renaming of folders: while objects are copied, readers of the target see a part of them. The journal
    lies at `<target>.migration.json` until the end; the same call goes on from it after a kill. Two processes that do
    so at once copy the same bytes, and delete only what was verified.

    Args:
        store: Where both prefixes lie.
        source: Prefix of the old tree, without slashes at its ends; empty for the store itself.
        base_id: The base.
        agent_prefix: The agent's root in the store.
        apply: False only says what would be done.
        observer: Told after every change.

    Returns:
        The outcome, as of a local migration; the mode is always `copy`.

    Raises:
        UsageError: `base_id` is no id of a base.
        UnavailableError: The store does not answer; the journal is kept, the same call goes on.
    """
    places = _Prefixes("tree", base_id, source.strip("/"), knowledge_prefix(base_id, agent_prefix))
    return _Migration(store, places, observer).outcome(apply=apply)


def migrate_memory_objects(
    store: ObjectInventory,
    source: str,
    base_id: str,
    *,
    agent_prefix: str = "",
    apply: bool = True,
    observer: Observer = unobserved,
) -> MigrationOutcome:
    """Move `04_memory` of an old tree below `<agent prefix>/memory/<base id>`; else as `migrate_tree_objects`."""
    places = _Prefixes("memory", base_id, source.strip("/"), memory_prefix(base_id, agent_prefix))
    return _Migration(store, places, observer).outcome(apply=apply)


@dataclass(frozen=True, slots=True)
class _Prefixes:
    what: What
    base_id: str
    source: str
    target: str

    @property
    def names(self) -> Mapping[str, str]:
        return TREE_NAMES if self.what == "tree" else MEMORY_NAMES

    @property
    def journal(self) -> str:
        return f"{self.target}.migration.json"

    def old(self, name: str) -> str:
        return f"{self.source}/{name}" if self.source else name

    def new(self, name: str) -> str:
        return f"{self.target}/{name}" if name else self.target

    def record(self, phase: Phase, moves: tuple[tuple[str, str], ...]) -> JournalRecord:
        return JournalRecord(
            phase=phase,
            what=self.what,
            base_id=self.base_id,
            source=self.source,
            target=self.target,
            mode="copy",
            moves=moves,
        )


class _Migration:
    def __init__(self, store: ObjectInventory, places: _Prefixes, observer: Observer) -> None:
        self._store = store
        self._places = places
        self._observer = observer

    def outcome(self, *, apply: bool) -> MigrationOutcome:
        try:
            record = self._record()
            if record is None:
                moves = self._found()
                if settled := self._settled(moves):
                    return self._said(settled, applied=apply)
                self._require_movable(moves)
                if not apply:
                    return self._said("moved", applied=False, folders=self._sized(moves))
                record = self._begin(moves)
            elif not apply:
                return self._said("resumed", applied=False)
            return self._carried_out(record)
        except MigrationError as error:
            return self._said(error.facts["reason"], applied=apply, detail=error.facts["detail"])

    def _record(self) -> JournalRecord | None:
        if not self._store.exists(self._places.journal):
            return None
        record = JournalRecord.model_validate_json(self._store.get(self._places.journal))
        if record.source != self._places.source:
            raise refusal("OTHER_MIGRATION", record.source or "the root of the store")
        return record

    def _found(self) -> tuple[tuple[str, str], ...]:
        return tuple(names for names in self._places.names.items() if self._store.list(self._places.old(names[0])))

    def _settled(self, moves: tuple[tuple[str, str], ...]) -> str | None:
        places = self._places
        is_tree = places.what == "tree"
        if not moves or (is_tree and not looks_like_knowledge_prefix(self._store, places.source)):
            return "nothing_to_move"
        if places.source == places.target and moves[0][0] == moves[0][1]:
            return "already_in_place"
        if places.source == places.target:
            return None
        occupied = looks_like_knowledge_prefix(self._store, places.target) if is_tree else self._at_target()
        return "target_occupied" if occupied else None

    def _require_movable(self, moves: tuple[tuple[str, str], ...]) -> None:
        if len({new for _, new in moves}) < len(moves):
            raise refusal("LAYOUT_CONFLICT")
        for old, _ in moves:
            if f"{self._places.target}/".startswith(f"{self._places.old(old)}/"):
                raise refusal("TARGET_INSIDE_SOURCE", self._places.old(old))
        if self._places.source != self._places.target and (keys := self._at_target()):
            raise refusal("TARGET_NOT_EMPTY", listed(keys))

    def _at_target(self) -> list[str]:
        return self._store.list(self._places.target)

    def _begin(self, moves: tuple[tuple[str, str], ...]) -> JournalRecord:
        in_place = self._places.source == self._places.target
        record = self._places.record("begun", tuple(names for names in moves if not in_place or names[0] != names[1]))
        if not self._store.put_if(self._places.journal, record.model_dump_json().encode(), None):
            return self._record() or record
        self._observer("begun")
        return record

    def _carried_out(self, record: JournalRecord) -> MigrationOutcome:
        if record.phase == "begun":
            self._copy(record)
            self._write(self._places.record("staged", record.moves))
            self._observer("staged")
        remaining = self._delete_originals(record)
        folders = self._sized_at_target(record)
        self._store.delete([self._places.journal])
        self._observer("journal removed")
        code = "source_remains" if remaining else "moved"
        return self._said(code, applied=True, detail=listed(remaining), folders=folders, remaining=remaining)

    def _copy(self, record: JournalRecord) -> None:
        for key, copy in self._pairs(record):
            content = self._store.get(key)
            if not self._holds(copy, content):
                self._store.put(copy, content)
                self._observer(f"copied {key}")
            if not self._holds(copy, content):
                # The originals are untouched: the copies go, and so does the journal.
                self._store.delete([copy for _, copy in self._pairs(record)])
                self._store.delete([self._places.journal])
                raise refusal("VERIFICATION_FAILED", key)

    def _delete_originals(self, record: JournalRecord) -> list[str]:
        remaining = []
        for key, copy in self._pairs(record):
            if self._holds(copy, self._store.get(key)):
                self._store.delete([key])
                self._observer(f"deleted {key}")
            else:
                remaining.append(key)
        return remaining

    def _pairs(self, record: JournalRecord) -> list[tuple[str, str]]:
        return [
            (key, self._places.new(new) + key.removeprefix(self._places.old(old)))
            for old, new in record.moves
            for key in self._store.list(self._places.old(old))
        ]

    def _holds(self, key: str, content: bytes) -> bool:
        return self._store.exists(key) and sha256_of(self._store.get(key)) == sha256_of(content)

    def _write(self, record: JournalRecord) -> None:
        self._store.put(self._places.journal, record.model_dump_json().encode())

    def _sized(self, moves: tuple[tuple[str, str], ...]) -> list[MovedFolder]:
        return [self._folder(old, new, self._places.old(old)) for old, new in moves]

    def _sized_at_target(self, record: JournalRecord) -> list[MovedFolder]:
        return [self._folder(old, new, self._places.new(new)) for old, new in record.moves]

    def _folder(self, old: str, new: str, prefix: str) -> MovedFolder:
        entries = self._store.entries(prefix)
        size_bytes = sum(entry.size_bytes for entry in entries)
        return MovedFolder(name=old, new_name=new, files=len(entries), size_bytes=size_bytes)

    def _said(
        self,
        code: str,
        *,
        applied: bool,
        detail: str = "",
        folders: list[MovedFolder] | None = None,
        remaining: list[str] | None = None,
    ) -> MigrationOutcome:
        return outcome(
            code,
            what=self._places.what,
            base_id=self._places.base_id,
            source=self._places.source or "/",
            target=self._places.target,
            applied=applied,
            detail=detail,
            mode="copy" if folders is not None else None,
            folders=folders or (),
            remaining=remaining or (),
        )
