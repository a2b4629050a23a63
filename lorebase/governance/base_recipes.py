"""The recipe of a governed knowledge base: how its revisions are parsed, cut, embedded and searched."""

from __future__ import annotations

from pathlib import Path

from lorebase.artifacts.store import ObjectStore
from lorebase.clock import Clock
from lorebase.errors import NotFoundError
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.recipes.loading import load_recipe, parse_recipe
from lorebase.recipes.model import KnowledgeRecipe, ModelSpecs, ProcedureSpec
from lorebase.registry.record import read_record
from lorebase.registry.stores import RegistryStore

REREAD_SECONDS = 5.0
"""For so long a recipe is taken as it was read; another process may have remembered a new one."""


class BaseRecipes:
    """Finds the recipe of a base: the one that was remembered last, or the registry's, or the usual one. Blocking."""

    def __init__(self, objects: ObjectStore, registry: RegistryStore, clock: Clock) -> None:
        """Args: objects: Keeps what is remembered. registry: Knows bases. clock: Decides when to read again."""
        self._objects = objects
        self._registry = registry
        self._clock = clock
        self._read: dict[str, tuple[float, KnowledgeRecipe]] = {}

    def remember(self, recipe: KnowledgeRecipe) -> None:
        """Process and search the base of this name by this recipe from now on."""
        self._objects.put(_key(recipe.name), recipe.to_yaml().encode())
        self._read[recipe.name] = (self._clock.monotonic(), recipe)

    def at_hand(self, base_id: str) -> KnowledgeRecipe | None:
        """The recipe of a base where it was read a moment ago; never blocks."""
        known = self._read.get(base_id)
        is_fresh = known is not None and self._clock.monotonic() - known[0] <= REREAD_SECONDS
        return known[1] if known is not None and is_fresh else None

    def of(self, base_id: str) -> KnowledgeRecipe:
        """The recipe of a base; parse, split, embed with the local model, index both ways where nobody gave one.

        Raises:
            InvalidRecipeError: The recipe has faults.
            NotFoundError: The registry names a file that there is not.
        """
        recipe = self.at_hand(base_id)
        if recipe is None:
            recipe = self._find(base_id).model_copy(update={"name": base_id})
            self._read[base_id] = (self._clock.monotonic(), recipe)
        return recipe

    def _find(self, base_id: str) -> KnowledgeRecipe:
        try:
            return parse_recipe(self._objects.get(_key(base_id)).decode(), name=f"the recipe of {base_id}")
        except NotFoundError:
            return self._registered(base_id) or usual_recipe(base_id)

    def _registered(self, base_id: str) -> KnowledgeRecipe | None:
        stored = self._registry.read_one(base_id).by_id.get(base_id)
        if stored is None:
            return None
        reference = read_record(stored, base_id, self._clock.now()).record.recipe
        if reference is None:
            return None
        if reference.path:
            return load_recipe(Path(reference.path))
        return parse_recipe(reference.inline, name=f"the recipe of {base_id}") if reference.inline else None


def governed_elsewhere(objects: ObjectStore, base_id: str) -> NotFoundError | None:
    """What to tell somebody who looks for a snapshot of a base whose builds only make drafts; None for other bases."""
    if not objects.exists(_key(base_id)):
        return None
    return NotFoundError(
        f"The knowledge base {base_id!r} is governed: its builds make drafts and no snapshot.",
        remedy="Use `lorebase retrieve` or `lorebase ask` with the --organ whose items it holds; `lorebase item list` "
        "and `lorebase revision list` show what there is.",
    )


def usual_recipe(base_id: str) -> KnowledgeRecipe:
    """What a governed base is processed by where nobody says otherwise."""
    return KnowledgeRecipe(
        name=base_id,
        governance="reviewed",
        models=ModelSpecs(embedding=EmbeddingModelSpec()),
        procedures=(ProcedureSpec(use="hybrid_index"),),
    )


def _key(base_id: str) -> str:
    return f"governance/recipes/{base_id}.yaml"
