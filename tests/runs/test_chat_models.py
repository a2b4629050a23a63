"""Chat models in builds and queries: who opens them, where their replies are kept, and when those go."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.errors import BudgetExceededError, BuildFailedError, ConfigurationError, InvalidRecipeError
from lorebase.models.chat import ChatModel, ChatRequest
from lorebase.models.ports import ModelUsage
from lorebase.models.rerank_chat import ChatReranker
from lorebase.models.settings import ChatModelSpec
from lorebase.recipes.loading import parse_recipe
from lorebase.recipes.model import Budget, KnowledgeRecipe
from lorebase.recipes.validation import validated_steps
from lorebase.runs.budget import RunBudget
from lorebase.runs.builder import opened_recipe
from lorebase.runs.cleaning import clean_up
from lorebase.runs.forgetting import forget_document
from lorebase.runs.read_only import UncalledChat
from lorebase.runs.step import StepExecutionContext
from tests.fakes.scripted_chat import ScriptedChat
from tests.fakes.workspace import RECIPE, FakeWorkspace, recipe_in, write_documents
from tests.runs.snapshot_checks import LAYOUT

CHAT = RECIPE.replace(
    "models: {embedding: {provider: local}}",
    "models: {embedding: {provider: local}, chat: {provider: gate, model: m}, rerank: {provider: chat, max_texts: 7}}",
)
ASK = ChatRequest(prompt="Who keeps bees?")


class ChattingWorkspace(FakeWorkspace):
    """A fake workspace with a scripted chat model."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.chat = ScriptedChat()

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        del spec
        return self.chat


def recipe_with_documents(folder: Path) -> KnowledgeRecipe:
    recipe = recipe_in(folder, CHAT)
    write_documents(folder, {"bees.md": "# Bees\n\nAda keeps bees."})
    return recipe


def replies_in(workspace: FakeWorkspace) -> list[str]:
    return workspace.object_store.list(LAYOUT.calls)


async def test_a_build_gives_its_steps_the_recipes_chat_model_and_closes_it(tmp_path: Path) -> None:
    """B-020"""
    workspace = ChattingWorkspace(tmp_path / "ws")
    recipe = recipe_with_documents(tmp_path)
    planned = validated_steps(recipe)

    for run_id in ("one", "two"):
        async with opened_recipe(workspace, recipe, planned, run_id) as (context, _):
            await context.require_chat("extract").complete(ASK)
    async with opened_recipe(workspace, recipe, planned, "three", reads_kept_replies=False) as (context, _):
        await context.require_chat("extract").complete(ASK)

    assert workspace.chat.calls == 2
    assert workspace.chat.closed
    assert len(replies_in(workspace)) == 1


async def test_a_step_pays_from_the_budget_of_the_run(tmp_path: Path) -> None:
    """BQ-12"""
    workspace = ChattingWorkspace(tmp_path / "ws")
    recipe = recipe_with_documents(tmp_path)
    async with opened_recipe(workspace, recipe, validated_steps(recipe), "one") as (opened, _):
        context = replace(opened, budget=RunBudget(Budget(max_model_calls=1)))

        await context.require_chat("extract").complete(ASK)
        with pytest.raises(BudgetExceededError, match="extract_more"):
            await context.require_chat("extract_more").complete(ChatRequest(prompt="Another"))

        assert context.budget.spent_by("extract").usage == ModelUsage(1, 5, 5)
        assert workspace.chat.calls == 1


def test_a_step_without_a_chat_model_is_told_what_to_add(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path)
    context = StepExecutionContext(
        base_name="demo",
        run_id="one",
        documents=None,  # type: ignore[arg-type]  # nothing is read here
        max_document_bytes=1,
        parsers=workspace.open_parsers(()),
        index_store=workspace.index_store,
        logger=logging.getLogger("test"),
    )

    with pytest.raises(ConfigurationError, match="extract needs a chat model"):
        context.require_chat("extract")
    context.parsers.close()


async def test_a_plan_calls_no_chat_model() -> None:
    model = ScriptedChat()
    uncalled = UncalledChat(model)

    with pytest.raises(BuildFailedError, match="only planned"):
        await uncalled.complete(ASK)
    with pytest.raises(BuildFailedError, match="only planned"):
        uncalled.stream(ASK)

    assert uncalled.profile == model.profile
    assert model.calls == 0


async def test_a_base_offers_its_recipes_models_to_queries(tmp_path: Path) -> None:
    workspace = ChattingWorkspace(tmp_path / "ws")
    async with await KnowledgeBase.create(recipe_with_documents(tmp_path), workspace) as base:
        chat, reranker = base.chat_model(), base.reranker()

        assert chat is not None
        assert (await chat.complete(ASK)).text == "Who keeps bees?"
        assert (await chat.complete(ASK)).usage == ModelUsage(cached_calls=1)
        assert base.chat_model() is chat
        assert isinstance(reranker, ChatReranker)
        assert reranker.max_texts == 7
    assert workspace.chat.closed


async def test_a_base_whose_recipe_names_no_chat_model_has_none(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    recipe = recipe_in(tmp_path)
    write_documents(tmp_path, {"bees.md": "# Bees\n\nAda keeps bees."})
    async with await KnowledgeBase.create(recipe, workspace) as base:
        assert base.chat_model() is None
        assert base.reranker() is None


async def test_replies_go_when_a_document_is_forgotten_and_when_a_base_is_cleaned(tmp_path: Path) -> None:
    workspace = ChattingWorkspace(tmp_path / "ws")
    async with await KnowledgeBase.create(recipe_with_documents(tmp_path), workspace) as base:
        chat = base.chat_model()
        assert chat is not None
        await chat.complete(ASK)
        cleaned = await clean_up(workspace, LAYOUT, apply=True)
        after_cleaning = replies_in(workspace)
        await chat.complete(ASK)
        before_forgetting = replies_in(workspace)
        await forget_document(workspace, LAYOUT, "bees.md")

    assert {freed.kind: freed.count for freed in cleaned.freed}["model_replies"] == 1
    assert (after_cleaning, len(before_forgetting), replies_in(workspace)) == ([], 1, [])


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("rerank: {provider: chat}", "the recipe has none. Add `models: {chat:"),
        ("chat: {provider: gate}", "models.chat.model"),
        ("chat: {provider: gate, model: m, temperature: 3}", "models.chat.temperature"),
    ],
)
def test_models_that_cannot_be_are_faults(tmp_path: Path, models: str, message: str) -> None:
    text = RECIPE.replace("{embedding: {provider: local}}", f"{{embedding: {{provider: local}}, {models}}}")

    with pytest.raises(InvalidRecipeError) as caught:
        parse_recipe(text, folder=tmp_path).validate()

    assert message in str(caught.value)
