"""Entities of a whole build: read once, chunk by chunk, by model or by rule, never silently."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import (
    DeclinedAnswerError,
    InvalidRecipeError,
    RefusedError,
    TruncatedAnswerError,
    UnavailableError,
)
from lorebase.extraction.kinds import ENTITY_MENTIONS
from lorebase.extraction.mentions import ChunkEntities
from lorebase.extraction.prompts.entity_prompt import ENTITY_PROMPT
from lorebase.runs.plan import plan_build
from lorebase.runs.records import RecipeRunRecord, StepRunRecord
from steps.extract_entities import ExtractEntities
from tests.fakes.reading_chat import ReadingWorkspace, when
from tests.fakes.scripted_chat import Answer
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
"""
RECIPE = RULES_RECIPE + "models: {chat: {provider: fake, model: scripted}}\n"
TEXTS = {
    "one.md": "Anna met Bruno.\n",
    "two.md": "Clara met Dora.\n",
    "three.md": "nobody met anybody.\n",
    "four.md": "他去了北京。\n",
}


async def build(
    tmp_path: Path, workspace: ReadingWorkspace, text: str = RECIPE, **config: object
) -> tuple[RecipeRunRecord, StepRunRecord]:
    base = KnowledgeBase("demo", workspace)
    result = await base.rebuild(recipe_in(tmp_path, text), config=KnowledgeBaseBuilderConfig(**config))
    return result.record, result.record.step_records[2]


def rows_of(workspace: ReadingWorkspace, record: RecipeRunRecord) -> Sequence[ChunkEntities]:
    manifest = read_manifest(workspace.object_store, record.artifacts["entity_mentions"])
    layout = BaseLayout("demo")
    parts = (read_partition(workspace.object_store, layout, ENTITY_MENTIONS, entry) for entry in manifest.partitions)
    return [row for part in parts for row in part]


def names_in(rows: Sequence[ChunkEntities]) -> set[str]:
    return {entity.name for row in rows for entity in row.entities}


async def test_every_chunk_is_asked_about_once_in_its_language_and_has_a_row(tmp_path: Path) -> None:
    """B-020."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)

    record, step = await build(tmp_path, workspace)

    rows = rows_of(workspace, record)
    assert names_in(rows) == {"Anna", "Bruno", "Clara", "Dora", "北京"}
    assert sorted(len(row.entities) for row in rows) == [0, 1, 2, 2]
    assert {row.mode for row in rows} == {"model"}
    assert workspace.calls == step.counts.model_calls == 4
    assert sum(request.system.startswith("你从一段文本") for request in workspace.requests) == 1
    assert step.identity["extraction"] == "model"
    assert record.issues == ()


async def test_nothing_is_asked_again_where_nothing_changed_chunks_without_entities_included(tmp_path: Path) -> None:
    """C42."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"three.md": TEXTS["three.md"]})
    first, _ = await build(tmp_path, workspace)
    write_documents(tmp_path, {"five.md": "nobody met Emil.\n"})

    second, _ = await build(tmp_path, workspace)

    assert first.status == second.status == "succeeded"
    assert workspace.asked["entities"] == {"nobody met anybody.": 1, "nobody met Emil.": 1}


async def test_a_changed_chunk_is_the_only_one_asked_about(tmp_path: Path) -> None:
    """B-020."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace)

    write_documents(tmp_path, {"two.md": "Clara met Emil.\n"})
    record, step = await build(tmp_path, workspace)

    assert workspace.calls == 5
    assert step.counts.computed_items == step.counts.model_calls == 1
    assert names_in(rows_of(workspace, record)) == {"Anna", "Bruno", "Clara", "Emil", "北京"}


async def test_equal_chunks_of_two_documents_are_asked_about_once_and_have_a_row_each(tmp_path: Path) -> None:
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"one.md": "Anna met Bruno.\n", "copy.md": "Anna met Bruno.\n"})

    record, _ = await build(tmp_path, workspace)

    rows = rows_of(workspace, record)
    assert workspace.calls == 1
    assert len({row.document_id for row in rows}) == len({row.chunk_id for row in rows}) == 2


async def test_another_prompt_asks_everything_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BQ-03, C40."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace)

    changed = replace(ENTITY_PROMPT, system={**ENTITY_PROMPT.system, "en": ENTITY_PROMPT.system["en"] + "\nBe brief."})
    monkeypatch.setattr(ExtractEntities, "prompt", changed)
    _, step = await build(tmp_path, workspace)

    assert step.status == "succeeded"
    assert step.counts.computed_items == 4
    assert step.reason.startswith("prompt changed")


async def test_another_model_asks_everything_again(tmp_path: Path) -> None:
    """BQ-03, C40."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    await build(tmp_path, workspace)

    workspace.model = "other"
    _, step = await build(tmp_path, workspace)

    assert workspace.calls == 8
    assert "name scripted -> other" in step.reason


@pytest.mark.parametrize(
    ("spoiled", "code"),
    [
        ("I am sorry, I cannot help with that.", "EXTRACTION_MALFORMED_ANSWER"),
        (DeclinedAnswerError("The model declined.", dependency="fake"), "EXTRACTION_DECLINED_ANSWER"),
        (TruncatedAnswerError("The tokens ended.", dependency="fake"), "EXTRACTION_TRUNCATED_ANSWER"),
    ],
)
async def test_a_chunk_that_fails_is_an_issue_and_the_only_one_that_the_next_build_asks_about(
    tmp_path: Path, spoiled: Answer, code: str
) -> None:
    """B-025, BQ-10, C38, C39."""
    workspace = ReadingWorkspace(tmp_path / "ws", when("Clara", spoiled))
    write_documents(tmp_path, TEXTS)
    lenient = RECIPE.replace("extract_entities: {}", "extract_entities: {max_failed_share: 0.3}")

    failed, failed_step = await build(tmp_path, workspace, lenient)
    before = workspace.asked["entities"].copy()
    workspace.spoil = lambda request: None
    mended, _ = await build(tmp_path, workspace, lenient)

    assert failed.status == "succeeded"
    assert [(issue.code, issue.severity, issue.subject.kind) for issue in failed_step.issues] == [
        (code, "error", "chunk")
    ]
    assert failed_step.issues[0].subject.name == "two.md #0"
    assert failed_step.issues[0].details["reason"]
    assert len(rows_of(workspace, failed)) == 3
    assert workspace.asked["entities"] - before == {"Clara met Dora.": 1}
    assert len(rows_of(workspace, mended)) == 4
    assert mended.issues == ()


async def test_an_answer_without_form_is_told_so_and_asked_again(tmp_path: Path) -> None:
    """C38."""
    answers: list[Answer | None] = ["no json", None]
    workspace = ReadingWorkspace(tmp_path / "ws", lambda request: answers.pop(0) if answers else None)
    write_documents(tmp_path, {"one.md": TEXTS["one.md"]})

    record, step = await build(tmp_path, workspace)

    assert names_in(rows_of(workspace, record)) == {"Anna", "Bruno"}
    assert step.counts.model_calls == workspace.calls == 2


async def test_more_failures_than_the_step_allows_fail_it(tmp_path: Path) -> None:
    """BQ-10."""
    workspace = ReadingWorkspace(tmp_path / "ws", when("Clara", "no json"))
    write_documents(tmp_path, TEXTS)

    record, step = await build(tmp_path, workspace)

    assert record.status == step.status == "failed"
    assert step.error is not None
    assert "1 of 4 chunks failed (EXTRACTION_MALFORMED_ANSWER 1)" in step.error.message


async def test_a_model_that_refuses_everything_is_never_an_empty_success(tmp_path: Path) -> None:
    """BQ-10."""
    declined = DeclinedAnswerError("The model declined.", dependency="fake")
    workspace = ReadingWorkspace(tmp_path / "ws", lambda request: declined)
    write_documents(tmp_path, TEXTS)
    lenient = RECIPE.replace("extract_entities: {}", "extract_entities: {max_failed_share: 1.0}")

    record, step = await build(tmp_path, workspace, lenient)

    assert record.status == "failed"
    assert step.error is not None
    assert "all 4 chunks failed" in step.error.message


async def test_refused_credentials_fail_the_step_at_once(tmp_path: Path) -> None:
    """C62."""
    refused = RefusedError("The endpoint refused the key.", dependency="fake")
    workspace = ReadingWorkspace(tmp_path / "ws", lambda request: refused)
    write_documents(tmp_path, {f"{number:02}.md": f"Anna met number {number}.\n" for number in range(40)})

    record, step = await build(tmp_path, workspace)

    assert record.status == "failed"
    assert step.error is not None
    assert step.error.code == "DEPENDENCY_REFUSED"
    assert workspace.calls <= 9  # what was under way


async def test_what_was_answered_before_a_failure_is_not_asked_again(tmp_path: Path) -> None:
    """B-020, B-025."""
    down = UnavailableError("The endpoint does not answer.", dependency="fake")
    workspace = ReadingWorkspace(tmp_path / "ws", when("Clara", down))
    write_documents(tmp_path, TEXTS)
    failed, _ = await build(tmp_path, workspace)
    workspace.spoil = lambda request: None

    record, _ = await build(tmp_path, workspace)

    assert failed.status == "failed"
    assert record.status == "succeeded"
    assert sum(workspace.asked["entities"].values()) == 5
    assert workspace.asked["entities"]["Clara met Dora."] == 2


_KILLED_BUILD = """
import asyncio, os, signal, sys
from pathlib import Path
from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from tests.fakes.reading_chat import ReadingWorkspace
from tests.fakes.workspace import recipe_in
from tests.steps.test_extract_entities import RECIPE

folder, last = Path(sys.argv[1]), int(sys.argv[2])

def spoil(request):
    with (folder / "asked").open("a") as log:
        log.write("1")
    if (folder / "asked").stat().st_size == last:
        os.kill(os.getpid(), signal.SIGKILL)

workspace = ReadingWorkspace(folder / "ws", spoil)
workspace.max_concurrency = 1
config = KnowledgeBaseBuilderConfig(lease_seconds=0.5)
asyncio.run(KnowledgeBase("demo", workspace).rebuild(recipe_in(folder, RECIPE), config=config))
"""


async def test_a_killed_build_asks_again_about_what_was_under_way_only(tmp_path: Path) -> None:
    """BQ-05."""
    write_documents(tmp_path, {f"{number:02}.md": f"Anna met number {number}.\n" for number in range(20)})
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", _KILLED_BUILD, str(tmp_path), "15"]
    killed = await asyncio.to_thread(subprocess.run, command, cwd=root, capture_output=True, check=False)
    workspace = ReadingWorkspace(tmp_path / "ws")

    record, _ = await build(tmp_path, workspace, wait_seconds=20)

    assert killed.returncode == -9
    assert record.status == "succeeded"
    assert 6 <= workspace.calls <= 8  # 20 chunks, 15 asked, of which at most 3 were under way


async def test_invented_entities_are_left_out_and_counted(tmp_path: Path) -> None:
    said = '{"entities": [{"name": "Anna", "type": "person"}, {"name": "Zeus", "type": "person"}]}'
    workspace = ReadingWorkspace(tmp_path / "ws", lambda request: said)
    write_documents(tmp_path, {"one.md": TEXTS["one.md"]})

    record, step = await build(tmp_path, workspace)

    assert names_in(rows_of(workspace, record)) == {"Anna"}
    assert [(issue.code, issue.severity, issue.details["dropped"]) for issue in step.issues] == [
        ("MENTIONS_DROPPED", "info", 1)
    ]


async def test_a_plan_counts_the_calls_that_the_build_then_makes(tmp_path: Path) -> None:
    """BQ-12."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)

    plan = await plan_build(recipe_in(tmp_path, RECIPE), workspace)
    planned_calls = workspace.calls
    _, step = await build(tmp_path, workspace)
    again = await plan_build(recipe_in(tmp_path, RECIPE), workspace)

    assert planned_calls == 0
    assert plan.totals.model_calls == step.counts.model_calls == 4
    assert plan.totals.input_tokens == step.counts.input_tokens
    assert again.totals.model_calls == 0


async def test_a_budget_stops_before_the_call_that_would_pass_it_and_the_rest_is_asked_later(tmp_path: Path) -> None:
    """BQ-12."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)

    stopped, _ = await build(tmp_path, workspace, RECIPE + "budget: {max_model_calls: 3}\n")
    calls = workspace.calls
    record, _ = await build(tmp_path, workspace)

    assert stopped.status == "failed"
    assert stopped.error is not None
    assert stopped.error.code == "BUDGET_EXCEEDED"
    assert calls == 3
    assert record.status == "succeeded"
    assert workspace.calls == 4


async def test_without_a_chat_model_rules_read_and_the_report_warns_once(tmp_path: Path) -> None:
    """DQ-27."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"one.md": "Captain Mary Jones met Ann Lee.\n", "two.md": "李四光毕业于北京大学。\n"})

    record, step = await build(tmp_path, workspace, RULES_RECIPE)
    again, _ = await build(tmp_path, workspace, RULES_RECIPE)

    assert names_in(rows_of(workspace, record)) == {"Captain Mary Jones", "Ann Lee", "李四光", "北京大学"}
    assert [(issue.code, issue.severity, issue.details["extraction"]) for issue in record.issues] == [
        ("MODEL_SEAM_MISSING", "warning", "rules")
    ]
    assert step.issues_by_code == {"MODEL_SEAM_MISSING": 1}
    assert step.identity["extraction"] == "rules"
    assert again.issues == record.issues
    assert workspace.calls == 0


async def test_rules_that_were_asked_for_are_noted(tmp_path: Path) -> None:
    """DQ-27."""
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"one.md": "Captain Mary Jones met Ann Lee.\n"})
    asked = RECIPE.replace("extract_entities: {}", "extract_entities: {mode: rules}")

    record, _ = await build(tmp_path, workspace, asked)

    assert [(issue.code, issue.severity) for issue in record.issues] == [("RULES_EXTRACTION", "info")]
    assert workspace.calls == 0


async def test_a_model_that_the_recipe_demands_and_does_not_have_fails_with_what_to_add(tmp_path: Path) -> None:
    workspace = ReadingWorkspace(tmp_path / "ws")
    write_documents(tmp_path, TEXTS)
    demanding = RULES_RECIPE.replace("extract_entities: {}", "extract_entities: {mode: model}")

    record, _ = await build(tmp_path, workspace, demanding)

    assert record.status == "failed"
    assert record.error is not None
    assert "needs a chat model" in record.error.message


@pytest.mark.parametrize(
    "settings",
    ["{entity_types: [' ']}", "{gazetteer: [{name: ' '}]}", "{mode: both}", "{max_entities_per_chunk: 0}"],
)
def test_settings_that_cannot_work_are_faults_of_the_recipe(tmp_path: Path, settings: str) -> None:
    """BQ-01."""
    recipe = recipe_in(tmp_path, RECIPE.replace("extract_entities: {}", f"extract_entities: {settings}"))

    with pytest.raises(InvalidRecipeError, match="extract_entities"):
        recipe.validate()
