"""The partitions of a step: one wherever its first input has one, or a single one over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, VECTOR_INDEX, ArtifactKind
from lorebase.artifacts.manifest import Manifest, PartitionEntry
from lorebase.runs.planning import partitions_of_step
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class _PerPartition(Step):
    type_name: ClassVar[str] = "per_partition"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (CHUNKS, EMBEDDINGS)
    produces: ClassVar[ArtifactKind[Any]] = VECTOR_INDEX

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[Any]]:
        return []  # only how its work is divided is looked at here


class _Spanning(_PerPartition):
    type_name: ClassVar[str] = "spanning"
    spans_partitions: ClassVar[bool] = True


def manifest(kind: ArtifactKind[Any], **digests: str) -> Manifest:
    entries = [
        PartitionEntry(index=int(name[1:]), sha256=digest, rows=10, size_bytes=100) for name, digest in digests.items()
    ]
    return Manifest(artifact=kind.name, step_fingerprint="", partition_count=8, partitions=tuple(entries))


INPUTS = {"chunks": manifest(CHUNKS, p0="a", p3="b"), "embeddings": manifest(EMBEDDINGS, p0="c", p3="d")}


def test_a_step_has_a_partition_wherever_its_first_input_has_one() -> None:
    works = partitions_of_step(_PerPartition(), "digest", INPUTS)

    assert [(work.index, [entry.sha256 for entry in work.inputs["embeddings"]]) for work in works] == [
        (0, ["c"]),
        (3, ["d"]),
    ]


def test_a_spanning_step_has_one_partition_with_everything() -> None:
    works = partitions_of_step(_Spanning(), "digest", INPUTS)

    assert len(works) == 1
    assert [entry.sha256 for entry in works[0].inputs["chunks"]] == ["a", "b"]
    assert [entry.sha256 for entry in works[0].inputs["embeddings"]] == ["c", "d"]
    assert works[0].weight == 20


def test_a_spanning_partition_is_new_when_any_partition_of_any_input_is() -> None:
    key = partitions_of_step(_Spanning(), "digest", INPUTS)[0].key

    others = [
        partitions_of_step(_Spanning(), "digest", {**INPUTS, "embeddings": manifest(EMBEDDINGS, p0="c", p3="x")}),
        partitions_of_step(_Spanning(), "digest", {**INPUTS, "chunks": manifest(CHUNKS, p0="a", p4="b")}),
        partitions_of_step(_Spanning(), "digest", {**INPUTS, "chunks": manifest(CHUNKS, p0="a")}),
        partitions_of_step(_Spanning(), "other", INPUTS),
    ]

    assert len({key, *(works[0].key for works in others)}) == 5
    assert partitions_of_step(_Spanning(), "digest", INPUTS)[0].key == key


def test_a_spanning_step_without_input_has_nothing_to_do() -> None:
    assert (
        partitions_of_step(_Spanning(), "digest", {"chunks": manifest(CHUNKS), "embeddings": manifest(EMBEDDINGS)})
        == []
    )
