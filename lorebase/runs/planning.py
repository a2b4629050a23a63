"""What a step still has to do: its identity, its partitions, which of them are finished, and their grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS
from lorebase.artifacts.manifest import Manifest, PartitionEntry
from lorebase.fingerprint import fingerprint
from lorebase.runs.groups import GroupWork, PartitionWork
from lorebase.runs.records import StepRunRecord
from lorebase.runs.step import Step, StepExecutionContext

WEIGHT_OF_A_TASK_RUN = 2048.0
"""Chunks that one task run takes on: seconds of work, so that orchestration costs little of it."""

BYTES_OF_A_CHUNK = 2048


def step_identity(step: Step, context: StepExecutionContext) -> dict[str, str]:
    """Everything but its inputs that decides what a step makes, by name, as text that people can compare.

    A setting declared with `json_schema_extra={"affects_result": False}` (a batch size) is no part of it.
    """
    neutral = {
        name
        for name, field in type(step).model_fields.items()
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("affects_result") is False
    }
    settings = step.model_dump(mode="json", exclude=neutral)
    return {
        "type": step.type_name,
        "code_version": str(step.code_version),
        "schema": step.produces.schema_fingerprint,
        **{f"settings.{name}": repr(value) for name, value in settings.items()},
        **step.identity(context),
    }


def step_fingerprint(identity: Mapping[str, str]) -> str:
    """Digest of a step's identity."""
    return fingerprint("step", dict(identity))


def partitions_of_step(step: Step, step_digest: str, inputs: Mapping[str, Manifest]) -> list[PartitionWork]:
    """The partitions that a step has to make: one wherever its first input has one, or a single one over all of them.

    Args:
        step: The step.
        step_digest: Its fingerprint.
        inputs: Manifests of the artifacts it reads, by name; those that it reads if present may be absent.
    """
    works = []
    by_number = {name: {entry.index: entry for entry in manifest.partitions} for name, manifest in inputs.items()}
    first = step.requires[0].name
    if step.spans_partitions:
        whole = {name: manifest.partitions for name, manifest in inputs.items() if manifest.partitions}
        return [_whole_work(first, step_digest, whole)] if first in whole else []
    for index in sorted(by_number[first]):
        entries = {name: entry for name, of_one in by_number.items() if (entry := of_one.get(index)) is not None}
        digests = [[name, entry.sha256] for name, entry in sorted(entries.items())]
        key = fingerprint("partition", step_digest, index, digests)
        inputs_of_one = {name: (entry,) for name, entry in entries.items()}
        works.append(PartitionWork(index, key, inputs_of_one, _weight(first, entries[first])))
    return works


def _whole_work(first: str, step_digest: str, entries: Mapping[str, tuple[PartitionEntry, ...]]) -> PartitionWork:
    """The one partition of a step that spans partitions; it is new whenever any partition of an input is."""
    digests = [[name, [[one.index, one.sha256] for one in of_one]] for name, of_one in sorted(entries.items())]
    key = fingerprint("whole", step_digest, digests)
    return PartitionWork(0, key, entries, sum(_weight(first, entry) for entry in entries[first]))


def _weight(artifact: str, entry: PartitionEntry) -> float:
    if artifact == SOURCE_DOCUMENTS.name:
        return float(entry.rows)
    return entry.size_bytes / BYTES_OF_A_CHUNK if artifact == "parsed_documents" else float(entry.rows)


def group_partitions(works: Sequence[PartitionWork], weight: float = WEIGHT_OF_A_TASK_RUN) -> tuple[GroupWork, ...]:
    """Neighbouring partitions put together until each group weighs enough for a task run."""
    bundles: list[list[PartitionWork]] = []
    load = 0.0
    for work in works:
        if not bundles or load + work.weight > weight:
            bundles.append([])
            load = 0.0
        bundles[-1].append(work)
        load += work.weight
    return tuple(
        GroupWork(
            key=fingerprint("group", [work.key for work in bundle]),
            label=f"{place} of {len(bundles)}",
            partitions=tuple(bundle),
        )
        for place, bundle in enumerate(bundles, start=1)
    )


def why_it_runs(previous: StepRunRecord | None, identity: Mapping[str, str], changed_inputs: Sequence[str]) -> str:
    """One sentence on what differs from the run before: `settings changed: max_tokens 200 -> 300`."""
    if previous is None:
        return "it was not built before"
    parts = []
    before = previous.identity
    for name in sorted({*before, *identity}):
        if before.get(name) == identity.get(name):
            continue
        label, _, short = name.partition(".")
        what = f"{label} changed: {short}" if short else f"{name} changed:"
        parts.append(f"{what} {before.get(name, 'unset')} -> {identity.get(name, 'unset')}")
    if changed_inputs:
        parts.append(f"inputs changed: {', '.join(changed_inputs)}")
    if not parts and previous.status not in {"succeeded", "skipped"}:
        parts.append(f"the run before left it {previous.status}")
    if not parts and previous.counts.failed_items:
        parts.append(f"{previous.counts.failed_items} items failed in the run before")
    return "; ".join(parts) or "its partitions are not all finished"
