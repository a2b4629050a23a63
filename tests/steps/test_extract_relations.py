"""Relations of a whole build: read from chunks and their entities, once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.extraction.kinds import RELATION_MENTIONS
from lorebase.extraction.mentions import ChunkRelations
from lorebase.runs.plan import plan_build
from lorebase.runs.records import RecipeRunRecord, StepRunRecord
from tests.fakes.reading_chat import ReadingWorkspace, asks_for_relations, text_of
from tests.fakes.workspace import recipe_in, write_documents

RULES_RECIPE = """
name: demo
sources: [{folder: documents}]
partitions: 4
procedures:
  - name: graph
    steps:
      - parse_documents: {}
      - split_documents: {max_tokens: 40}
      - extract_entities: {}
      - extract_relations: {}
"""
RECIPE = RULES_RECIPE + "models: {chat: {provider: fake, model: scripted}}\n"
TEXTS = {"one.md": "Anna met Bruno.\n", "two.md": "Clara met Dora.\n", "three.md": "Emil met nobody.\n"}


async def build(
    tmp_path: Path, workspace: ReadingWorkspace, text: str = RECIPE, **config: object
) -> tuple[RecipeRunRecord, StepRunRecord]:
    base = KnowledgeBase("demo", workspace)
    result = await base.rebuild(recipe_in(tmp_path, text), config=KnowledgeBaseBuilderConfig(**config))
    return result.record, result.record.step_records[3]


def rows_of(workspace: ReadingWorkspace, record: RecipeRunRecord) -> Sequence[ChunkRelations]:
    manifest = read_manifest(workspace.object_store, record.artifacts["relation_mentions"])
    layout = BaseLayout("demo")
    parts = (read_partition(workspace.object_store, layout, RELATION_MENTIONS, entry) for entry in manifest.partitions)
    return [row for part in parts for row in part]


def related(rows: Sequence[ChunkRelations]) -> set[tuple[str, str, str]]:
    return {(relation.source, relation.type, relation.target) for row in rows for relation in row.relations}


async def test_every_chunk_with_two_entities_is_asked_about_once_and_every_chunk_has_a_row(tmp_path: Path) -> None:
    """B-020."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)

    record, step = await build(tmp_path, workspace)

    rows = rows_of(workspace, record)
    assert related(rows) == {("Anna", "knows", "Bruno"), ("Clara", "knows", "Dora")}
    assert len(rows) == 3
    assert workspace.asked["relations"].total() == step.counts.model_calls == 2


async def test_a_changed_chunk_is_the_only_one_asked_about(tmp_path: Path) -> None:
    """B-020."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace)

    write_documents(tmp_path, {"three.md": "Emil met Frida.\n"})
    record, step = await build(tmp_path, workspace)

    assert workspace.asked["relations"].total() == 3
    assert step.counts.model_calls == 1
    assert ("Emil", "knows", "Frida") in related(rows_of(workspace, record))


async def test_a_chunk_that_fails_is_asked_about_alone_by_the_next_build(tmp_path: Path) -> None:
    """B-025, BQ-10."""
    workspace = ReadingWorkspace(
        tmp_path / "ws",
        lambda request: "no json" if asks_for_relations(request) and "Clara" in text_of(request) else None,
    )
    write_documents(tmp_path, TEXTS)
    lenient = RECIPE.replace("extract_relations: {}", "extract_relations: {max_failed_share: 0.4}")
    failed, step = await build(tmp_path, workspace, lenient)
    calls = workspace.calls
    workspace.spoil = lambda request: None

    mended, _ = await build(tmp_path, workspace, lenient)

    assert step.issues_by_code == {"EXTRACTION_MALFORMED_ANSWER": 1}
    assert related(rows_of(workspace, failed)) == {("Anna", "knows", "Bruno")}
    assert workspace.calls == calls + 1
    assert ("Clara", "knows", "Dora") in related(rows_of(workspace, mended))


async def test_a_chunk_whose_entities_failed_is_related_by_the_build_that_finds_them(tmp_path: Path) -> None:
    workspace = ReadingWorkspace(tmp_path / "ws", lambda request: "no json" if "Clara" in text_of(request) else None)
    write_documents(tmp_path, TEXTS)
    lenient = RECIPE.replace("extract_entities: {}", "extract_entities: {max_failed_share: 0.4}")
    failed, _ = await build(tmp_path, workspace, lenient)
    workspace.spoil = lambda request: None

    mended, _ = await build(tmp_path, workspace, lenient)

    assert failed.status == mended.status == "succeeded"
    assert len(rows_of(workspace, failed)) == 2
    assert related(rows_of(workspace, mended)) == {("Anna", "knows", "Bruno"), ("Clara", "knows", "Dora")}


async def test_a_plan_counts_one_call_a_chunk_whose_entities_are_not_known_yet(tmp_path: Path) -> None:
    """BQ-12."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)

    plan = await plan_build(recipe_in(tmp_path, RECIPE), workspace)
    record, _ = await build(tmp_path, workspace)

    built = sum(step.counts.model_calls for step in record.step_records)
    assert plan.totals.model_calls == 6
    assert built == 5  # one chunk turned out to have a single entity


async def test_without_a_chat_model_rules_relate_and_each_step_says_so_once(tmp_path: Path) -> None:
    """DQ-27."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"one.md": "Captain Mary Jones met Ann Lee.\n", "two.md": "李四光毕业于北京大学。\n"})

    record, step = await build(tmp_path, workspace, RULES_RECIPE)

    assert related(rows_of(workspace, record)) == {
        ("Captain Mary Jones", "met", "Ann Lee"),
        ("李四光", "毕业于", "北京大学"),
    }
    assert [issue.code for issue in record.issues] == ["MODEL_SEAM_MISSING", "MODEL_SEAM_MISSING"]
    assert step.identity["extraction"] == "rules"


async def test_a_document_that_left_its_source_leaves_no_mention(tmp_path: Path) -> None:
    """BQ-09."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace)

    (tmp_path / "documents" / "two.md").unlink()
    record, _ = await build(tmp_path, workspace)

    assert related(rows_of(workspace, record)) == {("Anna", "knows", "Bruno")}
