"""Documents get their source type and their metadata when they are built, and searches can filter by both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import ConfigurationError, DeclinedAnswerError, InvalidRecipeError, UnavailableError, UsageError
from lorebase.ids import document_id_of
from lorebase.index.ports import Equals, HasAllTags
from lorebase.models.chat import ChatModel, ChatRequest
from lorebase.models.settings import ChatModelSpec
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.registry.document_classes import DOCUMENT_CLASSES, DocumentClass
from lorebase.runs.plan import plan_build
from lorebase.runs.records import RecipeRunRecord
from lorebase.runs.rollback import roll_back
from tests.fakes.scripted_chat import Answer, ScriptedChat
from tests.fakes.workspace import FakeWorkspace, recipe_in, write_documents

RECIPE = """
name: demo
sources: [{folder: documents}]
models: {embedding: {provider: local}}
partitions: 4
procedures:
  - use: document_classes
    with: {settings}
  - use: hybrid_index
"""
TEXTS = {
    "差旅管理办法.md": "# 总则\n\n出差前须经批准。\n",
    "faq/printer.md": "# FAQ\n\nQ: Why is the printer red? A: It has no paper.\n",
    "letter.md": "Dear friend, the weather over the harbour is fine.\n",
}


def recipe_with(tmp_path: Path, settings: object = None, *, chat: bool = False) -> KnowledgeRecipe:
    text = RECIPE.replace("{settings}", json.dumps(settings or {}, ensure_ascii=False))
    models = "{embedding: {provider: local}, chat: {provider: fake, model: scripted}}"
    return recipe_in(tmp_path, text.replace("{embedding: {provider: local}}", models) if chat else text)


async def built(workspace: FakeWorkspace, recipe: KnowledgeRecipe, **config: object) -> RecipeRunRecord:
    result = await KnowledgeBase("demo", workspace).rebuild(recipe, config=KnowledgeBaseBuilderConfig(**config))
    return result.record


def classes_of(workspace: FakeWorkspace, record: RecipeRunRecord) -> dict[str, DocumentClass]:
    store, layout = workspace.object_store, BaseLayout("demo")
    manifest = read_manifest(store, record.artifacts["document_classes"])
    rows = [row for entry in manifest.partitions for row in read_partition(store, layout, DOCUMENT_CLASSES, entry)]
    names = {document_id_of("documents", name): name for name in [*TEXTS, "deal.md"]}
    return {names[row.document_id]: row for row in rows}


class AskedWorkspace(FakeWorkspace):
    """A workspace whose chat model answers by a function, and counts."""

    def __init__(self, folder: Path, answer: object) -> None:
        super().__init__(folder)
        self.chat = ScriptedChat(answer)  # type: ignore[arg-type]  # a function or a list

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        del spec
        return self.chat


def says_manual(request: ChatRequest) -> Answer:
    return json.dumps({"source_type": "manual", "confidence": 0.7, "reason": "It explains."})


QUESTION = ChatRequest("?")


@pytest.fixture
def workspace(tmp_path: Path) -> FakeWorkspace:
    write_documents(tmp_path, TEXTS)
    return FakeWorkspace(tmp_path / "ws")


async def test_signs_decide_and_the_fallback_takes_what_is_left(tmp_path: Path, workspace: FakeWorkspace) -> None:
    record = await built(workspace, recipe_with(tmp_path))

    found = classes_of(workspace, record)
    assert record.status == "succeeded"
    assert {name: (row.source_type, row.method) for name, row in found.items()} == {
        "差旅管理办法.md": ("policy", "rules"),
        "faq/printer.md": ("faq", "rules"),
        "letter.md": ("document", "fallback"),
    }


async def test_a_model_decides_what_signs_leave_open_and_is_paid_once(tmp_path: Path) -> None:
    write_documents(tmp_path, TEXTS)
    workspace = AskedWorkspace(tmp_path / "ws", says_manual)
    recipe = recipe_with(tmp_path, chat=True)

    planned = await plan_build(recipe, workspace)
    first = await built(workspace, recipe)
    write_documents(tmp_path, {"deal.md": "Two firms agree on something.\n"})
    second = await built(workspace, recipe)

    letter = classes_of(workspace, second)["letter.md"]
    assert (letter.source_type, letter.method, letter.score, letter.reason) == ("manual", "model", 0.7, "It explains.")
    assert [step.counts.model_calls for step in planned.steps if step.step == "classify_documents"] == [1]
    assert [record.step_records[1].counts.model_calls for record in (first, second)] == [1, 1]
    assert {request.session_id for request in workspace.chat.requests} == {"knowledge:demo"}


async def test_a_document_that_the_model_declines_fails_alone_and_is_asked_again(tmp_path: Path) -> None:
    write_documents(tmp_path, {**TEXTS, **{f"faq/{number}.md": f"# FAQ\n\nQ: {number}?" for number in range(20)}})
    workspace = AskedWorkspace(tmp_path / "ws", [DeclinedAnswerError("It will not say."), says_manual(QUESTION)])
    recipe = recipe_with(tmp_path, chat=True)

    first = await built(workspace, recipe)
    second = await built(workspace, recipe)

    assert (first.status, first.issues_by_code) == ("succeeded", {"CLASSIFICATION_DECLINED_ANSWER": 1})
    assert "letter.md" in first.issues[0].message
    assert second.issues_by_code == {}
    assert workspace.chat.calls == 2


async def test_a_model_that_is_away_makes_no_document_the_fallback(tmp_path: Path) -> None:
    write_documents(tmp_path, TEXTS)
    workspace = AskedWorkspace(tmp_path / "ws", [UnavailableError("Nobody is there.", dependency="fake")])

    record = await built(workspace, recipe_with(tmp_path, chat=True))

    assert record.status == "failed"
    assert record.error is not None
    assert record.error.message == "Nobody is there."
    assert "document_classes" not in record.artifacts


CONTRACT = {
    "id": "contract",
    "label": "合同",
    "description": "Signed agreements between parties.",
    "signals": ["合同", "agreement"],
    "excludes": ["发票"],
    "metadata_fields": [
        {"key": "party", "required": True},
        {"key": "year", "type": "number"},
        {"key": "signed", "type": "date"},
    ],
}
DEAL = """---
party: Acme
year: many
tags: [sea, 北港]
colour: red
---
# Agreement

Acme and Borealis agree on the pier.
"""


async def test_metadata_is_gathered_and_validated_against_the_type(tmp_path: Path, workspace: FakeWorkspace) -> None:
    """DQ-13, D-035."""
    write_documents(tmp_path, {"deal.md": DEAL, "deal.md.meta.yaml": "party: Borealis\nsigned: 2026-05-01\n"})
    settings = {"source_types": [CONTRACT], "metadata": [{"files": ["*.md"], "tags": ["paper"]}]}

    record = await built(workspace, recipe_with(tmp_path, settings))

    row = classes_of(workspace, record)["deal.md"]
    assert row.source_type == "contract"
    assert row.tags == ("paper", "sea", "北港")
    assert row.metadata == {"colour": "red", "party": "Borealis", "signed": "2026-05-01"}
    codes = record.step_records[1].issues_by_code
    assert codes == {"METADATA_UNDECLARED_FIELD": 1, "METADATA_WRONG_FIELD_TYPE": 1}
    assert [issue.severity for issue in record.issues if "TYPE" in issue.code] == ["error"]
    assert not any(issue.code == "SIDECAR_WITHOUT_DOCUMENT" for issue in record.issues)


async def test_a_required_value_that_lacks_is_a_warning(tmp_path: Path, workspace: FakeWorkspace) -> None:
    """DQ-13."""
    write_documents(tmp_path, {"deal.md": "# Agreement\n\nText.\n"})

    record = await built(workspace, recipe_with(tmp_path, {"source_types": [CONTRACT]}))

    (issue,) = [issue for issue in record.issues if issue.code == "METADATA_REQUIRED_FIELD_MISSING"]
    assert issue.severity == "warning"
    assert "deal.md" in issue.message
    assert "'party'" in issue.message


async def test_metadata_that_cannot_be_read_is_passed_over(tmp_path: Path, workspace: FakeWorkspace) -> None:
    write_documents(tmp_path, {"letter.md.meta.yaml": "a: [\n", "lost.pdf.meta.yaml": "a: 1\n"})

    record = await built(workspace, recipe_with(tmp_path))

    assert record.status == "succeeded"
    assert record.issues_by_code["METADATA_UNREADABLE"] == 1
    assert record.issues_by_code["SIDECAR_WITHOUT_DOCUMENT"] == 1


async def test_searches_filter_by_type_and_by_tag_and_say_the_type(tmp_path: Path, workspace: FakeWorkspace) -> None:
    write_documents(tmp_path, {"deal.md": DEAL})
    await built(workspace, recipe_with(tmp_path, {"source_types": [CONTRACT]}))
    base = KnowledgeBase.load("demo", workspace)
    everything = "printer pier weather 出差"

    found = {}
    for mode in ("vector_search", "full_text_search", "hybrid_search"):
        of_type = await base.query(everything, mode=mode, where=(Equals("source_type", "contract"),))
        tagged = await base.query(everything, mode=mode, where=(HasAllTags(("北港", "party=Acme")),))
        found[mode] = [{hit.document.name for hit in result.results} for result in (of_type, tagged)]
    plain = await base.query(everything)

    assert found == {mode: [{"deal.md"}, {"deal.md"}] for mode in found}
    assert {hit.document.name: hit.document.source_type for hit in plain.results} == {
        "差旅管理办法.md": "policy",
        "faq/printer.md": "faq",
        "letter.md": "document",
        "deal.md": "contract",
    }


async def test_an_unknown_type_is_refused_with_those_that_there_are(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await built(workspace, recipe_with(tmp_path))
    base = KnowledgeBase.load("demo", workspace)

    with pytest.raises(UsageError, match=r"no source type 'polcy'.*policy"):
        await base.query("x", where=(Equals("source_type", "polcy"),))


async def test_a_base_that_classifies_nothing_refuses_types_and_tags(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await built(workspace, recipe_in(tmp_path))
    base = KnowledgeBase.load("demo", workspace)

    with pytest.raises(UsageError, match="classify_documents"):
        await base.query("x", where=(Equals("source_type", "policy"),))
    with pytest.raises(UsageError, match="no tags"):
        await base.query("x", where=(HasAllTags(("a",)),))


async def test_a_new_tag_reaches_the_index_without_new_vectors(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await built(workspace, recipe_with(tmp_path))
    embedded = workspace.seen.total()
    write_documents(tmp_path, {"letter.md.meta.yaml": "tags: harbour\n"})

    record = await built(workspace, recipe_with(tmp_path))
    found = await KnowledgeBase.load("demo", workspace).query("weather", where=(HasAllTags(("harbour",)),))

    assert record.status == "succeeded"
    assert [hit.document.name for hit in found.results] == ["letter.md"]
    assert workspace.seen.total() == embedded
    assert record.issues_by_code == {}


async def test_labels_of_what_is_live_stay_until_the_switch(tmp_path: Path, workspace: FakeWorkspace) -> None:
    """X-08."""
    await built(workspace, recipe_with(tmp_path))
    before = KnowledgeBase.load("demo", workspace).snapshot()
    write_documents(tmp_path, {"letter.md.meta.yaml": "tags: harbour\n"})

    record = await built(workspace, recipe_with(tmp_path), activate=False)

    base = KnowledgeBase.load("demo", workspace)
    found = await base.query("weather", where=(HasAllTags(("harbour",)),))
    assert (record.status, record.snapshot_id) == ("succeeded", "")
    assert base.snapshot() == before
    assert found.results == ()


async def test_a_rollback_brings_the_labels_back(tmp_path: Path, workspace: FakeWorkspace) -> None:
    first = await built(workspace, recipe_with(tmp_path))
    write_documents(tmp_path, {"letter.md.meta.yaml": "tags: harbour\n"})
    await built(workspace, recipe_with(tmp_path))

    await roll_back(workspace, BaseLayout("demo"), first.run_id)

    found = await KnowledgeBase.load("demo", workspace).query("weather", where=(HasAllTags(("harbour",)),))
    assert found.results == ()


async def test_another_declared_type_classifies_anew(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await built(workspace, recipe_with(tmp_path))
    weather = {"id": "weather", "signals": ["weather over the harbour", "harbour"], "label": "Weather"}

    record = await built(workspace, recipe_with(tmp_path, {"source_types": [weather]}))

    assert classes_of(workspace, record)["letter.md"].source_type == "weather"
    assert record.step_records[1].reason.startswith("settings changed: source_types")


async def test_types_left_to_a_registry_without_the_base_are_an_error(tmp_path: Path, workspace: FakeWorkspace) -> None:
    record = await built(workspace, recipe_with(tmp_path, {"source_types": "registry"}))

    assert record.error is not None
    assert (record.status, record.error.code) == ("failed", ConfigurationError("").code)
    assert "lorebase kb create demo" in record.error.remedy


def test_faults_of_declared_types_name_their_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecipeError) as raised:
        recipe_with(tmp_path, {"source_types": [{"id": "No-Id", "colour": "red"}]}).validate()

    assert "no id of a type" in str(raised.value)
    assert "colour" in str(raised.value)


def test_the_classes_must_stand_before_the_index(tmp_path: Path) -> None:
    text = RECIPE.replace("    with: {settings}\n", "")
    head, classes, index = text.partition("  - use: document_classes\n")

    with pytest.raises(InvalidRecipeError, match="move it before 'index_vectors'"):
        recipe_in(tmp_path, head + index + classes).validate()
