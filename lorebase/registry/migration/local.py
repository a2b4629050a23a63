"""Migrating a tree or a memory on local folders: gather beside the target, publish, tidy up; or put back."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from lorebase.errors import MigrationError
from lorebase.registry.layout.detection import looks_like_knowledge_tree, looks_like_legacy_knowledge_root
from lorebase.registry.layout.folders import LEGACY_SOURCE, SOURCE_RAW
from lorebase.registry.migration.copying import delete_originals, gather_by_copying, throw_copies_away
from lorebase.registry.migration.journal import JournalRecord, LocalJournal, Phase, locked_journal, read_journal
from lorebase.registry.migration.moving import Observer, gather_by_renaming, publish, put_back, unobserved
from lorebase.registry.migration.outcome import MigrationOutcome, Mode, MovedFolder, outcome
from lorebase.registry.migration.plan import (
    MovePlan,
    Places,
    SameDevice,
    files_below,
    memory_places,
    moved_folder,
    on_same_device,
    planned_move,
    require_movable,
    tree_places,
)
from lorebase.registry.migration.reasons import listed, refusal, refusal_of
from lorebase.registry.migration.survey import survey


def migrate_tree(
    source: Path,
    agent_root: Path,
    base_id: str,
    *,
    apply: bool = True,
    same_device: SameDevice = on_same_device,
    observer: Observer = unobserved,
) -> MigrationOutcome:
    """Move the tree of a base to `<agent root>/domain_knowledge/<base id>`, without its memory.

    `01_source_truth` gets its new name on the way. The tree appears at the target at once, when it is complete. A
    process that is killed meanwhile leaves a journal beside the target; the same call goes on from it.

    Args:
        source: The folder that holds the tree's folders.
        agent_root: The agent's root; it may be `source` itself.
        base_id: The base.
        apply: False only says what would be done.
        same_device: Decides between renaming and copying.
        observer: Told after every change; what it raises as `OSError` counts as an error of that change.

    Returns:
        `skipped`, `moved` or `failed` with its reason. After `failed` everything lies where it lay, unless the reason
        is RESTORE_INCOMPLETE, or TIDYING_FAILED: the target is complete then.

    Raises:
        UsageError: `base_id` is no id of a base, or a path is no UTF-8.
        ConflictError: Another process migrates to the same place.
    """
    return _migrate(tree_places(source, agent_root, base_id), apply, same_device, observer)


def migrate_memory(
    source: Path,
    agent_root: Path,
    base_id: str,
    *,
    apply: bool = True,
    same_device: SameDevice = on_same_device,
    observer: Observer = unobserved,
) -> MigrationOutcome:
    """Move `04_memory` of an old tree to `<agent root>/memory/<base id>`; otherwise as `migrate_tree`."""
    return _migrate(memory_places(source, agent_root, base_id), apply, same_device, observer)


def _migrate(places: Places, apply: bool, same_device: SameDevice, observer: Observer) -> MigrationOutcome:  # noqa: FBT001 (private, from two keyword-only callers)
    try:
        if places.source == places.target:
            return _renamed_in_place(places, observer, apply=apply)
        foreseen = _foreseen(places, same_device)
        if apply and foreseen.status == "moved":
            return _applied(places, same_device, observer)
        return foreseen.model_copy(update={"applied": apply})
    except MigrationError as error:
        return _failed(error, places, applied=apply)
    except OSError as error:
        return _failed(refusal_of(error), places, applied=apply)


def _foreseen(places: Places, same_device: SameDevice) -> MigrationOutcome:
    """How the migration would end; nothing is changed."""
    record = read_journal(places.journal)
    _require_own(record, places)
    if record is not None:
        return _said("resumed", places, applied=False, mode=record.mode)
    if settled := _settled(places):
        return _said(settled, places, applied=False)
    plan = planned_move(places, places.found(), same_device)
    return _said("moved", places, applied=False, mode=plan.mode, folders=plan.folders)


def _settled(places: Places) -> str | None:
    """Why there is nothing to do, if so."""
    is_tree = places.what == "tree"
    if not places.found() or (is_tree and not looks_like_legacy_knowledge_root(places.source)):
        return "nothing_to_move"
    if looks_like_knowledge_tree(places.target) if is_tree else files_below(places.target):
        return "target_occupied"
    return None


def _renamed_in_place(places: Places, observer: Observer, *, apply: bool) -> MigrationOutcome:
    """The tree is where it belongs: at most its first folder has its older name."""
    old, new = places.target / LEGACY_SOURCE, places.target / SOURCE_RAW
    if not looks_like_knowledge_tree(places.target):
        return _said("nothing_to_move", places, applied=apply)
    if not os.path.lexists(old):
        return _said("already_in_place", places, applied=apply)
    if os.path.lexists(new):
        raise refusal("LAYOUT_CONFLICT")
    surveys = {name: survey(places.target / name) for name, _ in places.found()}
    require_movable(surveys, places.names, places.target, in_place=True)
    if apply:
        old.rename(new)
        observer(f"renamed {LEGACY_SOURCE}")
    return _said("renamed_in_place", places, applied=apply, detail=f"{LEGACY_SOURCE} -> {SOURCE_RAW}", mode="rename")


def _applied(places: Places, same_device: SameDevice, observer: Observer) -> MigrationOutcome:
    places.target.parent.mkdir(parents=True, exist_ok=True)
    with locked_journal(places.journal) as journal:
        record = journal.record
        _require_own(record, places)
        if record is not None:
            return _carried_out(MovePlan(places, record.moves, record.mode), journal, record.phase, observer)
        # Between the first look and the lock another process may have done it.
        if settled := _settled(places):
            return _said(settled, places, applied=True)
        return _carried_out(planned_move(places, places.found(), same_device), journal, "begun", observer)


def _carried_out(plan: MovePlan, journal: LocalJournal, phase: Phase, observer: Observer) -> MigrationOutcome:
    if not _is_published(plan, phase):
        try:
            journal.write(plan.record("begun"))
            observer("begun")
            _gather(plan, observer)
            journal.write(plan.record("staged"))
            observer("staged")
            publish(plan.places, observer)
        except (MigrationError, OSError) as error:
            _undo(plan, journal, error, observer)
            if isinstance(error, OSError) and error.errno == errno.EXDEV and plan.mode == "rename":
                # The device numbers were equal, yet the system does not rename there: overlays and bind mounts.
                return _carried_out(planned_move(plan.places, plan.moves, _never), journal, "begun", observer)
            raise
    return _tidied_up(plan, journal, observer)


def _tidied_up(plan: MovePlan, journal: LocalJournal, observer: Observer) -> MigrationOutcome:
    try:
        remaining = delete_originals(plan, observer) if plan.mode == "copy" else []
        folders = plan.folders or _folders_at(plan)
        journal.remove()
        observer("journal removed")
    except (MigrationError, OSError) as error:
        raise _untidy(error) from error
    return _said(
        "source_remains" if remaining else "moved",
        plan.places,
        applied=True,
        detail=listed(remaining),
        mode=plan.mode,
        folders=folders,
        remaining=remaining,
    )


def _untidy(error: MigrationError | OSError) -> MigrationError:
    known = refusal_of(error) if isinstance(error, OSError) else error
    return refusal("TIDYING_FAILED", known.facts["detail"])


def _gather(plan: MovePlan, observer: Observer) -> None:
    if plan.mode == "rename":
        gather_by_renaming(plan, observer)
    else:
        gather_by_copying(plan, observer)


def _undo(plan: MovePlan, journal: LocalJournal, cause: MigrationError | OSError, observer: Observer) -> None:
    """Put everything back; a journal that says `staged` says `begun` first, so that a kill in between gathers again.

    Raises:
        MigrationError: RESTORE_INCOMPLETE; the journal is kept.
    """
    record = journal.record
    phase = "begun" if record is None else record.phase
    if _is_published(plan, phase):
        raise _untidy(cause) from cause
    try:
        if phase == "staged":
            journal.write(plan.record("begun"))
        if plan.mode == "rename":
            put_back(plan, observer)
        else:
            throw_copies_away(plan, observer)
        journal.remove()
    except OSError as error:
        raise refusal("RESTORE_INCOMPLETE", refusal_of(error).facts["detail"]) from error


def _is_published(plan: MovePlan, phase: Phase) -> bool:
    """Whether all is at the target: it was gathered, and what was gathered is no longer beside it."""
    is_beside = os.path.lexists(plan.places.staging)
    return phase == "staged" and not is_beside and all(os.path.lexists(new) for _, new in plan.published())


def _folders_at(plan: MovePlan) -> list[MovedFolder]:
    """What an interrupted migration moved, counted where it lies now."""
    places = plan.published()
    return [moved_folder(old, new, survey(at)) for (old, new), (_, at) in zip(plan.moves, places, strict=True)]


def _require_own(record: JournalRecord | None, places: Places) -> None:
    if record is not None and record.source != str(places.source):
        raise refusal("OTHER_MIGRATION", record.source)


def _never(_one: Path, _other: Path) -> bool:
    return False


def _failed(error: MigrationError, places: Places, *, applied: bool) -> MigrationOutcome:
    return _said(error.facts["reason"], places, applied=applied, detail=error.facts["detail"])


def _said(
    code: str,
    places: Places,
    *,
    applied: bool,
    detail: str = "",
    mode: Mode | None = None,
    folders: Iterable[MovedFolder] = (),
    remaining: Iterable[str] = (),
) -> MigrationOutcome:
    return outcome(
        code,
        what=places.what,
        base_id=places.base_id,
        source=str(places.source),
        target=str(places.target),
        applied=applied,
        detail=detail,
        mode=mode,
        folders=folders,
        remaining=remaining,
    )
