"""Forgetting in what runs have left: their records, and what their task runs have finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from pydantic import ValidationError

from lorebase.artifacts.manifest import ArtifactReference
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import NotFoundError
from lorebase.runs.groups import GroupRecord
from lorebase.runs.records import Issue, RecipeRunRecord, StepRunRecord, count_by_code


def forget_in_runs(
    store: ObjectStore,
    layout: BaseLayout,
    *,
    references: Mapping[str, ArtifactReference],
    snapshots: Mapping[str, str],
    subjects: AbstractSet[str],
    joined: AbstractSet[str] = frozenset(),
) -> int:
    """Let the records of all runs refer to what took the place of the old, and take out issues. Blocking.

    A record that refers to the rewritten artifacts lets the next build skip what the document alone has changed.

    Args:
        store: The object store.
        layout: The base.
        references: New reference of each old manifest key.
        snapshots: New id of each old snapshot id.
        subjects: Ids whose issues go.
        joined: Artifacts whose rows are made of several documents. The other documents of a row that went still have
            something to say, so the next build must not skip the step that made it.

    Returns:
        How many files were changed.
    """
    changed = 0
    for key in store.list(layout.runs):
        try:
            record = RecipeRunRecord.model_validate_json(store.get(key))
        except (NotFoundError, ValidationError):
            continue
        new = _without(record, references, snapshots, subjects, joined)
        if new != record:
            store.put(key, new.model_dump_json(indent=1).encode())
            changed += 1
    return changed


def forget_in_groups(
    store: ObjectStore, layout: BaseLayout, *, objects: AbstractSet[str], subjects: AbstractSet[str]
) -> int:
    """Take partitions out of group records that made one of the objects, or have an issue of a subject. Blocking.

    Returns:
        How many records were changed or deleted.
    """
    changed = 0
    for key in store.list(layout.finished):
        try:
            record = GroupRecord.model_validate_json(store.get(key))
        except (NotFoundError, ValidationError):
            continue
        kept = tuple(
            result
            for result in record.partitions
            if result.entry.sha256 not in objects and not any(issue.subject.id in subjects for issue in result.issues)
        )
        if len(kept) == len(record.partitions):
            continue
        changed += 1
        if kept:
            new = record.model_copy(update={"partitions": kept})
            store.put(key, new.model_dump_json(exclude_defaults=True).encode())
        else:
            store.delete([key])
    return changed


def _without(
    record: RecipeRunRecord,
    references: Mapping[str, ArtifactReference],
    snapshots: Mapping[str, str],
    subjects: AbstractSet[str],
    joined: AbstractSet[str],
) -> RecipeRunRecord:
    issues, counts = _remaining(record.issues, record.issues_by_code, subjects)
    return record.model_copy(
        update={
            "step_records": tuple(_step_without(step, references, subjects, joined) for step in record.step_records),
            "artifacts": {name: references.get(old.manifest_key, old) for name, old in record.artifacts.items()},
            "issues": issues,
            "issues_by_code": counts,
            "snapshot_id": snapshots.get(record.snapshot_id, record.snapshot_id),
        }
    )


def _step_without(
    step: StepRunRecord,
    references: Mapping[str, ArtifactReference],
    subjects: AbstractSet[str],
    joined: AbstractSet[str],
) -> StepRunRecord:
    issues, counts = _remaining(step.issues, step.issues_by_code, subjects)
    runs_again = any(old.artifact in joined and old.manifest_key in references for old in step.output_artifacts)
    return step.model_copy(
        update={
            "step_fingerprint": "" if runs_again else step.step_fingerprint,
            "input_artifacts": tuple(references.get(old.manifest_key, old) for old in step.input_artifacts),
            "output_artifacts": tuple(references.get(old.manifest_key, old) for old in step.output_artifacts),
            "issues": issues,
            "issues_by_code": counts,
        }
    )


def _remaining(
    issues: Sequence[Issue], counts: Mapping[str, int], subjects: AbstractSet[str]
) -> tuple[tuple[Issue, ...], dict[str, int]]:
    """The issues of other subjects, and their counts."""
    gone = count_by_code(issue for issue in issues if issue.subject.id in subjects)
    left = {code: count - gone.get(code, 0) for code, count in counts.items()}
    kept = tuple(issue for issue in issues if issue.subject.id not in subjects)
    return kept, {code: count for code, count in left.items() if count > 0}
