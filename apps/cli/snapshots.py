"""Snapshots from the command line: their history, rolling back, cleaning up, and forgetting a document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.documents.model import SourceDocument
from lorebase.errors import UsageError
from lorebase.ids import is_slug
from lorebase.recipes.loading import load_recipe
from lorebase.runs.cleaning import CleaningReport, clean_up
from lorebase.runs.documents import is_in_source, recipe_of
from lorebase.runs.forgetting import ForgetResult, forget_document
from lorebase.runs.history import BaseHistory, SnapshotLine, base_history
from lorebase.runs.rollback import RollbackResult, roll_back

if TYPE_CHECKING:
    from lorebase.recipes.model import KnowledgeRecipe
    from lorebase.workspace import Workspace

_MOVES_SHOWN = 10
_UNIT_STEP = 1000
_UNITS = ("B", "KB", "MB", "GB", "TB")
_TRACES_SHOWN = 10


class ForgetAnswer(ForgetResult):
    """What was removed, and whether the next build would take the document in again."""

    in_source: Literal["yes", "no", "unknown"] = Field(
        description="Whether the document still lies in its source; unknown where the source cannot be looked into."
    )


def history_of(name: str, workspace: Workspace) -> BaseHistory:
    """The history of a base.

    Raises:
        NotFoundError: It has no snapshot in this workspace.
    """
    return base_history(workspace.object_store, _layout(name))


def history_lines(history: BaseHistory) -> Iterator[str]:
    """The history as lines of text."""
    yield f"{history.name}: {len(history.snapshots)} snapshot(s), newest first"
    for snapshot in history.snapshots:
        mark = "* live" if snapshot.live else "      "
        yield (
            f"  {mark}  {snapshot.snapshot_id}  {snapshot.built_at:%Y-%m-%d %H:%M:%S} UTC  "
            f"{snapshot.documents} documents, {snapshot.chunks} chunks  {', '.join(snapshot.queries)}"
        )
        yield f"          {_changes(snapshot)}"
    yield "Moves of the pointer, newest first:"
    for move in history.moves[:_MOVES_SHOWN]:
        yield f"  {move.sequence:>4}  {move.moved_at:%Y-%m-%d %H:%M:%S} UTC  {move.cause:<8}  to {move.snapshot_id}"
    if len(history.moves) > _MOVES_SHOWN:
        yield f"  and {len(history.moves) - _MOVES_SHOWN} more: --json lists them."


async def rolled_back(name: str, target: str, workspace: Workspace) -> RollbackResult:
    """Make an earlier snapshot live; see `roll_back`."""
    return await roll_back(workspace, _layout(name), target)


def rollback_lines(result: RollbackResult) -> Iterator[str]:
    """The rollback as lines of text."""
    if result.moved:
        yield f"{result.name}: {result.to_snapshot_id} is live now, in the place of {result.from_snapshot_id}."
    else:
        yield f"{result.name}: {result.to_snapshot_id} is live already."
    yield f"  {result.documents} documents, {result.chunks} chunks; query modes: {', '.join(result.queries)}"
    if result.staged:
        yield f"  {result.staged} index entities were written again from stored artifacts; no model was called."
    for issue in result.repaired:
        yield f"  {issue.code} {issue.subject.id}: {issue.message}"
    if result.moved:
        yield "  The next build takes the sources as they are then: change them, or it brings the newer state back."


async def cleaned_up(name: str, workspace: Workspace, *, keep: int, apply: bool) -> CleaningReport:
    """Remove what nothing kept needs; see `clean_up`."""
    return await clean_up(workspace, _layout(name), keep=keep, apply=apply)


def cleaning_lines(report: CleaningReport) -> Iterator[str]:
    """What was freed, as lines of text."""
    kept, removed = len(report.kept_snapshots), len(report.removed_snapshots)
    yield f"{report.name}: keeps {kept} snapshot(s), removes {removed}."
    for freed in report.freed:
        if freed.count:
            yield f"  {freed.kind.replace('_', ' '):<16} {freed.count:>7}  {readable_bytes(freed.size_bytes):>10}"
    for index in report.index:
        what = "collection dropped" if index.dropped else "entities"
        yield f"  {'index':<16} {index.entities:>7}  {what} in {index.collection}"
    total = f"{report.freed_count} files, {readable_bytes(report.freed_bytes)}"
    yield f"Freed {total}." if report.applied else f"Would free {total}. Nothing was removed: add --apply to do it."


async def forgotten(name: str, document: str, workspace: Workspace, recipe_file: Path | None) -> ForgetAnswer:
    """Remove a document from every store; see `forget_document`.

    Args:
        name: The base.
        document: Id or name of the document.
        workspace: Where the base is.
        recipe_file: The recipe, to look for the document in its source; by default the live snapshot's.
    """
    layout = _layout(name)
    recipe = load_recipe(recipe_file) if recipe_file else None
    result = await forget_document(workspace, layout, document)
    answer = _in_source(result, recipe, workspace)
    return ForgetAnswer(**result.model_dump(), in_source=answer)


def forgotten_lines(answer: ForgetAnswer) -> Iterator[str]:
    """What was removed, as lines of text."""
    label = f"{answer.document_name} ({answer.document_id})" if answer.document_name else answer.document_id
    yield f"{answer.name}: forgot {label}."
    for artifact, rows in answer.rows_removed.items():
        yield f"  rows removed      {rows:>7}  {artifact}"
    for collection, entities in answer.entities_removed.items():
        yield f"  entities removed  {entities:>7}  {collection}"
    yield f"  objects deleted   {answer.objects_deleted:>7}"
    yield f"  manifests deleted {answer.manifests_deleted:>7}"
    yield f"  ledger entries    {answer.ledger_entries_deleted:>7}"
    for snapshot in answer.snapshots_rewritten:
        yield f"  snapshot {snapshot.before} is {snapshot.after} now"
    yield f"  found in a search of everything that remains: {len(answer.traces)}"
    for key in answer.traces[:_TRACES_SHOWN]:
        yield f"    {key}"
    yield from _source_warning(answer)


def _source_warning(answer: ForgetAnswer) -> Iterator[str]:
    name = answer.document_name or "its name"
    remedy = f'remove it there, or add it to the source\'s `exclude: ["{name}"]` in the recipe.'
    if answer.in_source == "yes":
        yield f"Warning: it still lies in its source {answer.source}. The next build takes it in again: {remedy}"
    elif answer.in_source == "unknown":
        yield f"Whether it still lies in its source was not checked (--recipe FILE does it). If so, {remedy}"


def _in_source(
    result: ForgetResult, recipe: KnowledgeRecipe | None, workspace: Workspace
) -> Literal["yes", "no", "unknown"]:
    live = SnapshotStore(workspace.object_store, BaseLayout(result.name)).live()
    recipe = recipe or (recipe_of(live) if live else None)
    if recipe is None or not result.document_name:
        return "unknown"
    document = SourceDocument(result.document_id, result.document_name, result.source, "", "", 0)
    found = is_in_source(workspace, recipe, document)
    return "unknown" if found is None else "yes" if found else "no"


def _changes(snapshot: SnapshotLine) -> str:
    changes = snapshot.changes
    if changes is None:
        return "the oldest that is kept"
    return (
        f"documents +{changes.documents_added} -{changes.documents_removed} ~{changes.documents_changed}, "
        f"chunks +{changes.chunks_added} -{changes.chunks_removed}"
    )


def readable_bytes(size_bytes: int) -> str:
    """A length in a unit that reads well."""
    size, place = float(size_bytes), 0
    while size >= _UNIT_STEP and place < len(_UNITS) - 1:
        size, place = size / _UNIT_STEP, place + 1
    return f"{size:.{1 if place else 0}f} {_UNITS[place]}"


def _layout(name: str) -> BaseLayout:
    if not is_slug(name):
        raise UsageError(f"{name!r} is no name of a knowledge base.", remedy="Use a-z, 0-9 and hyphens.")
    return BaseLayout(name)
