"""The governed knowledge bases of a workspace: steps, models and indexes of each, opened once and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, FULL_TEXT_INDEX, PARSED_DOCUMENTS, VECTOR_INDEX, ArtifactKind
from lorebase.errors import ConfigurationError
from lorebase.fingerprint import fingerprint
from lorebase.governance.base_recipes import BaseRecipes
from lorebase.index.ports import LexicalIndex, VectorIndex
from lorebase.models.chat import ChatModel
from lorebase.models.ports import EmbeddingProfile
from lorebase.models.rerank import Reranker
from lorebase.models.settings import RerankModelSpec
from lorebase.recipes.expansion import PlannedStep, expand
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.recipes.places import invalid_recipe
from lorebase.runs.builder import BuildWorkspace, opened_recipe, require_supported_indexes
from lorebase.runs.step import Step, StepExecutionContext

INDEX_PREFIX = "governed-"
"""Before the name of a base in the index store: builds that nothing governs count and clean only their own entities."""

_MAX_NAME_CHARS, _KEPT_CHARS, _DIGEST_CHARS = 63, 46, 16


class GovernedWorkspace(BuildWorkspace, Protocol):
    """What governed bases ask of the place that they are in."""

    def open_reranker(self, spec: RerankModelSpec, chat: ChatModel | None = None) -> Reranker:
        """A reranker.

        Raises:
            ConfigurationError: There is no such endpoint, or no chat model.
        """
        ...


@dataclass(frozen=True, slots=True)
class GovernedBase:
    """A base with everything that its recipe names, opened.

    Attributes:
        base_id: Its id.
        recipe: Its recipe.
        context: Models, parsers and stores for the steps.
        parse: The step that reads documents.
        split: The step that cuts them.
        embed: The step that embeds chunks; None where the recipe has no vector index.
        has_full_text: Whether the recipe has an index of words.
        reranker: The recipe's reranker, where it names one.
    """

    base_id: str
    recipe: KnowledgeRecipe
    context: StepExecutionContext
    parse: Step
    split: Step
    embed: Step | None
    has_full_text: bool
    reranker: Reranker | None

    @property
    def profile(self) -> EmbeddingProfile | None:
        """The vector space that the base is searched in; None where it is searched by words alone."""
        if self.embed is None:
            return None
        return self.context.require_embedder(self.embed.type_name).profile

    @property
    def profile_id(self) -> str:
        """Id of that vector space; empty for none."""
        return self.profile.profile_id if self.profile else ""

    def vectors(self, profile_id: str = "") -> VectorIndex | None:
        """The vector index of a vector space, by default of the one that is searched; None where there is none."""
        wanted = profile_id or self.profile_id
        if not wanted:
            return None
        # Of another space only entities are counted, switched and removed: those calls do not ask for the width.
        dimensions = self.profile.dimensions if self.profile else 1
        return self.context.index_store.vectors(self.index_name, wanted, dimensions)

    def lexical(self) -> LexicalIndex | None:
        """The index of words; None where the recipe has none."""
        return self.context.index_store.lexical(self.index_name) if self.has_full_text else None

    @property
    def index_name(self) -> str:
        """What the index store calls the base."""
        return index_name(self.base_id)


def index_name(base_id: str) -> str:
    """What the index store calls a governed base."""
    name = f"{INDEX_PREFIX}{base_id}"
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[:_KEPT_CHARS]}-{fingerprint(base_id)[:_DIGEST_CHARS]}"


@dataclass
class _Opening:
    """A base that is being opened, or was."""

    recipe: KnowledgeRecipe
    task: asyncio.Task[GovernedBase]

    def serves(self, recipe: KnowledgeRecipe) -> bool:
        """Whether it is a base by this recipe, and did not fail."""
        if self.task.done() and (self.task.cancelled() or self.task.exception() is not None):
            return False
        if recipe is not self.recipe and recipe.fingerprint == self.recipe.fingerprint:
            self.recipe = recipe  # read again without a change; the same object needs no comparing
        return recipe is self.recipe


class GovernedBases:
    """Opens bases when they are first needed, anew when their recipe has changed. Used from one event loop."""

    def __init__(self, workspace: GovernedWorkspace, recipes: BaseRecipes) -> None:
        self.recipes = recipes
        self._workspace = workspace
        self._opening: dict[str, _Opening] = {}
        self._stack = AsyncExitStack()

    async def open(self, base_id: str) -> GovernedBase:
        """The base, by its recipe of now.

        A caller that gives up waiting does not stop the opening: models take seconds to load, and the next caller finds
        them loaded.

        Raises:
            InvalidRecipeError: The recipe has faults.
            ConfigurationError: A model of the recipe cannot be opened, it has no step that parses or cuts, or the index
                store cannot hold one of its indexes.
        """
        recipe = self.recipes.at_hand(base_id)
        if recipe is None:
            recipe = await asyncio.to_thread(self.recipes.of, base_id)
        opening = self._opening.get(base_id)
        if opening is None or not opening.serves(recipe):
            opening = _Opening(recipe, asyncio.create_task(self._open(base_id, recipe)))
            self._opening[base_id] = opening
        return await asyncio.shield(opening.task)

    async def close(self) -> None:
        """Give models and connections back."""
        await asyncio.gather(*(opening.task for opening in self._opening.values()), return_exceptions=True)
        self._opening.clear()
        await self._stack.aclose()

    async def _open(self, base_id: str, recipe: KnowledgeRecipe) -> GovernedBase:
        planned, faults = expand(recipe)
        if faults:
            raise invalid_recipe(recipe.places, faults)
        indexes = [step for step in planned if step.step.produces in (VECTOR_INDEX, FULL_TEXT_INDEX)]
        has_vectors = any(step.step.produces is VECTOR_INDEX for step in indexes)
        if not indexes:
            raise ConfigurationError(
                f"The recipe of {base_id!r} makes no index, so nothing of it could be found.",
                remedy="Add `- use: hybrid_index` to its procedures.",
            )
        context, _reader = await self._stack.enter_async_context(
            opened_recipe(self._workspace, recipe.model_copy(update={"sources": ()}), planned, "governed")
        )
        await require_supported_indexes(context, indexes)
        reranker = None
        if recipe.models.rerank is not None:
            reranker = self._workspace.open_reranker(recipe.models.rerank, context.chat)
            self._stack.push_async_callback(reranker.close)
        return GovernedBase(
            base_id=base_id,
            recipe=recipe,
            context=context,
            parse=_step(base_id, planned, PARSED_DOCUMENTS),
            split=_step(base_id, planned, CHUNKS),
            embed=_step(base_id, planned, EMBEDDINGS) if has_vectors else None,
            has_full_text=any(step.step.produces is FULL_TEXT_INDEX for step in indexes),
            reranker=reranker,
        )


def _step(base_id: str, planned: Sequence[PlannedStep], kind: ArtifactKind[Any]) -> Step:
    for step in planned:
        if step.step.produces is kind:
            return step.step
    raise ConfigurationError(
        f"The recipe of {base_id!r} has no step that makes {kind.name}.",
        remedy="Add `- use: hybrid_index` to its procedures.",
    )
