"""Names of entities are embedded once, and what that does to resolution."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.extraction.name_vectors import ENTITY_NAME_VECTORS, NameVector
from lorebase.extraction.resolution_record import merges_of, undo_merge
from lorebase.models.ports import EmbeddingBatch
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.runs.forgetting import forget_document
from lorebase.runs.plan import plan_build
from lorebase.runs.records import RecipeRunRecord, StepRunRecord
from tests.fakes.workspace import CountingEmbedder, FakeWorkspace, recipe_in
from tests.runs.snapshot_checks import LAYOUT, build_of

RECIPE = """
name: demo
sources: [{folder: documents}]
partitions: 8
models: {embedding: {provider: local}}
procedures:
  - name: graph
    steps:
      - parse_documents: {}
      - split_documents: {max_tokens: 60}
      - extract_entities:
          mode: rules
          gazetteer:
            - {name: Berlin, type: place}
            - {name: 柏林, type: place}
            - {name: Germany, type: place}
            - {name: 德国, type: place}
      - extract_relations: {mode: rules}
      - embed_names: {}
      - resolve_entities: {}
      - build_graph: {}
"""
ENGLISH = {"en.md": "Berlin lies on the Spree.\n\nBerlin is the capital of Germany.\n"}
CHINESE = {"zh.md": "柏林是德国的首都。\n"}
MEANINGS = {"柏林": "Berlin", "德国": "Germany"}


class _TranslatingEmbedder(CountingEmbedder):
    """Gives a Chinese name the vector of the English one."""

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        self._seen.update(texts)
        return await super(CountingEmbedder, self).embed_passages([MEANINGS.get(text, text) for text in texts])


class TranslatingWorkspace(FakeWorkspace):
    async def open_embedder(self, spec: EmbeddingModelSpec) -> CountingEmbedder:
        del spec
        return _TranslatingEmbedder(self.seen, self.failures, **self.embedder_options)


def step_of(record: RecipeRunRecord, name: str) -> StepRunRecord:
    return next(step for step in record.step_records if step.step_name == name)


def vectors_of(workspace: FakeWorkspace) -> list[NameVector]:
    snapshot = SnapshotStore(workspace.object_store, LAYOUT).require_live()
    reference = snapshot.artifacts[ENTITY_NAME_VECTORS.name]
    return [
        row
        for entry in read_manifest(workspace.object_store, reference).partitions
        for row in read_partition(workspace.object_store, LAYOUT, ENTITY_NAME_VECTORS, entry)
    ]


def joined_in(workspace: FakeWorkspace) -> set[tuple[frozenset[str], str]]:
    snapshot = SnapshotStore(workspace.object_store, LAYOUT).require_live()
    return {
        (frozenset({merge.name, merge.merged_with}), merge.reason)
        for merge in merges_of(workspace.object_store, snapshot)
    }


def tied(left: str, right: str) -> tuple[frozenset[str], str]:
    return frozenset({left, right}), "translation"


async def test_a_name_with_a_counterpart_in_another_language_is_embedded_once_ever(tmp_path: Path) -> None:
    """B-018."""
    workspace = FakeWorkspace(tmp_path / "ws")
    copies = {f"copy-{number}.md": f"{ENGLISH['en.md']}\nPage {number}.\n" for number in range(6)}

    first = await build_of(tmp_path, workspace, {**ENGLISH, **CHINESE}, RECIPE)
    second = await build_of(tmp_path, workspace, {**ENGLISH, **CHINESE, **copies}, RECIPE)

    assert {"Berlin", "Germany", "柏林", "德国"} <= set(workspace.seen)
    assert set(workspace.seen.values()) == {1}
    assert step_of(first, "embed_names").counts.model_calls == 1
    assert step_of(second, "embed_names").counts.ledger_items >= 4


async def test_a_base_in_one_language_sends_no_name_until_it_gets_another_one(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")

    alone = await build_of(tmp_path, workspace, ENGLISH, RECIPE)
    sent_alone = sum(workspace.seen.values())
    both = await build_of(tmp_path, workspace, {**ENGLISH, **CHINESE}, RECIPE)

    counts = step_of(both, "embed_names").counts
    assert (step_of(alone, "embed_names").counts.items, sent_alone) == (0, 0)
    assert sum(workspace.seen.values()) == counts.computed_items == counts.items >= 4


async def test_a_translation_is_joined_and_stays_apart_once_it_is_undone(tmp_path: Path) -> None:
    workspace = TranslatingWorkspace(tmp_path / "ws")
    texts = {**ENGLISH, **CHINESE, "more.md": "Germany borders Norwick. Berlin and Norwick are friends.\n",
             "mehr.md": "德国与Norwick为邻。柏林和Norwick友好。\n"}  # fmt: skip
    await build_of(tmp_path, workspace, texts, RECIPE)
    before = joined_in(workspace)
    snapshot = SnapshotStore(workspace.object_store, LAYOUT).require_live()
    merge = next(one for one in merges_of(workspace.object_store, snapshot) if "柏林" in {one.name, one.merged_with})

    undo_merge(workspace.object_store, snapshot, merge.merge_id, workspace.clock.now())
    await build_of(tmp_path, workspace, texts, RECIPE)

    assert {tied("Berlin", "柏林"), tied("Germany", "德国")} <= before
    assert merge.score == 1.0
    assert tied("Berlin", "柏林") not in joined_in(workspace)
    assert set(workspace.seen.values()) == {1}


async def test_a_recipe_without_an_embedding_model_compares_names_as_they_are_written(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    recipe = RECIPE.replace("models: {embedding: {provider: local}}\n", "")

    record = await build_of(tmp_path, workspace, {**ENGLISH, **CHINESE}, recipe)

    assert record.status == "succeeded"
    assert step_of(record, "embed_names").counts.items == 0
    assert not workspace.seen


async def test_a_plan_says_what_the_build_takes(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, ENGLISH, RECIPE)
    (tmp_path / "documents" / "zh.md").write_text(CHINESE["zh.md"], encoding="utf-8")

    plan = await plan_build(recipe_in(tmp_path, RECIPE), workspace)
    sent = sum(workspace.seen.values())
    record = await build_of(tmp_path, workspace, {**ENGLISH, **CHINESE}, RECIPE)

    planned = next(step for step in plan.steps if step.step == "embed_names").counts
    made = step_of(record, "embed_names").counts
    assert (planned.items, planned.computed_items, planned.model_calls) == (
        made.items, made.computed_items, made.model_calls,
    )  # fmt: skip
    assert sum(workspace.seen.values()) - sent == made.computed_items > 0


async def test_a_name_that_cannot_be_embedded_is_told_and_holds_nothing_up(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    workspace.embedder_options["refuse"] = "Germany"

    record = await build_of(tmp_path, workspace, {**ENGLISH, **CHINESE}, RECIPE)

    assert record.status == "succeeded"
    assert step_of(record, "embed_names").issues_by_code == {"NAME_NOT_EMBEDDED": 1}


async def test_forgetting_a_document_takes_its_names_and_leaves_those_of_others(tmp_path: Path) -> None:
    """BQ-09."""
    workspace = FakeWorkspace(tmp_path / "ws")
    texts = {**ENGLISH, **CHINESE, "other.md": "Berlin has many bridges.\n\nBerlin is old.\n"}
    await build_of(tmp_path, workspace, texts, RECIPE.replace("partitions: 8", "partitions: 1"))
    before = vectors_of(workspace)
    sent = dict(workspace.seen)

    result = await forget_document(workspace, LAYOUT, "en.md")
    del texts["en.md"]
    await build_of(tmp_path, workspace, texts, RECIPE.replace("partitions: 8", "partitions: 1"))

    left = vectors_of(workspace)
    assert result.is_clean
    assert result.rows_removed["entity_name_vectors"] == len(before) - len(left) > 0
    assert {row.document_id for row in left} == {row.document_id for row in before} - {result.document_id}
    assert workspace.seen == sent
