"""Migrating every base of a registry: its tree, its memory, and what the registry says about where the tree lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lorebase.clock import Clock
from lorebase.registry.layout.detection import looks_like_knowledge_tree
from lorebase.registry.layout.paths import knowledge_tree
from lorebase.registry.migration.local import migrate_memory, migrate_tree
from lorebase.registry.migration.moving import Observer, unobserved
from lorebase.registry.migration.outcome import MigrationOutcome
from lorebase.registry.migration.plan import SameDevice, on_same_device
from lorebase.registry.reading import JsonObject
from lorebase.registry.record import read_record, stored_record
from lorebase.registry.stores import Change, RegistryStore


@dataclass(frozen=True, slots=True)
class RegisteredMigration:
    """What became of a registry's bases.

    Attributes:
        outcomes: Of each base, by id: its tree, then its memory.
        repointed: Bases whose record was, or would be, pointed at the new place.
        warnings: What of the registry could not be read.
    """

    outcomes: tuple[MigrationOutcome, ...]
    repointed: tuple[str, ...]
    warnings: tuple[str, ...]


def migrate_registered(
    store: RegistryStore,
    agent_root: Path,
    *,
    clock: Clock,
    default_root: Path | None = None,
    base_id: str | None = None,
    apply: bool = True,
    same_device: SameDevice = on_same_device,
    observer: Observer = unobserved,
) -> RegisteredMigration:
    """Migrate each base from the folder that its record names, or in place where it names none.

    Registries of former versions are understood. A record is rewritten only where its tree has moved; then it is
    stored in the present form. A kill between the move and the record is made good by the next call.

    Args:
        store: The registry.
        agent_root: Where trees and memories belong.
        clock: Gives `updated_at` of records that change.
        default_root: The root below which bases without a folder of their own are looked for; a record whose tree
            comes to lie there names no folder afterwards. None: every record names its folder.
        base_id: Only this base; one that the registry does not have gives no outcome.
        apply: False only says what would be done.
        same_device: Decides between renaming and copying.
        observer: Told after every change to the disk.

    Raises:
        ConflictError: Another process migrates, or holds the registry.
        CorruptObjectError: The registry cannot be read.
        NewerFormatError: A newer program wrote it.
        UnavailableError: The registry does not answer.
    """
    stored = store.read_all()
    outcomes: list[MigrationOutcome] = []
    repointed: list[str] = []
    is_default_place = default_root is not None and default_root.resolve() == agent_root.resolve()
    for known_id, data in stored.by_id.items():
        if base_id not in {None, known_id}:
            continue
        root_dir = read_record(data, known_id, clock.now()).record.root_dir
        target = knowledge_tree(agent_root, known_id)
        source = agent_root / Path(root_dir).expanduser() if root_dir else target
        tree, memory = (
            move(source, agent_root, known_id, apply=apply, same_device=same_device, observer=observer)
            for move in (migrate_tree, migrate_memory)
        )
        outcomes += [tree, memory]
        if root_dir and source.resolve() != target.resolve() and _has_moved(tree, source, target):
            repointed.append(known_id)
            if apply:
                _repoint(store, known_id, "" if is_default_place else str(target), clock)
    return RegisteredMigration(tuple(outcomes), tuple(repointed), stored.warnings)


def _has_moved(tree: MigrationOutcome, source: Path, target: Path) -> bool:
    """Whether the tree is at the target and no more at the source, by this call or by one that was killed after it."""
    if tree.status == "moved":
        return True
    return looks_like_knowledge_tree(target) and not looks_like_knowledge_tree(source)


def _repoint(store: RegistryStore, base_id: str, root_dir: str, clock: Clock) -> None:
    def revise(data: JsonObject) -> Change[None]:
        now = clock.now()
        record = read_record(data, base_id, now).record
        return Change(None, stored_record(record.model_copy(update={"root_dir": root_dir, "updated_at": now})))

    store.change(base_id, revise)
