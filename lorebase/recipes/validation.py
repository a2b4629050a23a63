"""Every rule that a recipe must keep before anything is built, applied all at once."""

from __future__ import annotations

from collections import Counter

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS
from lorebase.models.settings import CHAT_PROVIDER
from lorebase.recipes.expansion import PlannedStep, expand
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.recipes.places import Fault, invalid_recipe
from lorebase.recipes.step_types import step_types
from lorebase.recipes.wording import listed, nearest
from lorebase.runs.capabilities import MODES, capabilities_of, what_unlocks


def validated_steps(recipe: KnowledgeRecipe) -> list[PlannedStep]:
    """The steps of a recipe.

    Raises:
        InvalidRecipeError: It has faults; all of them are listed, each with its place.
    """
    planned, faults = check(recipe)
    if faults:
        raise invalid_recipe(recipe.places, faults)
    return planned


def check(recipe: KnowledgeRecipe) -> tuple[list[PlannedStep], list[Fault]]:
    """The steps of a recipe, and all its faults in the order of the file."""
    planned, faults = expand(recipe)
    faults += _source_faults(recipe)
    if not recipe.procedures:
        faults.append(
            Fault(("procedures",), "The recipe has no steps. Add a procedure, such as `- use: hybrid_index`.")
        )
    faults += _repeated_steps(planned)
    faults += _graph_faults(planned, complete=not faults)
    faults += _model_faults(recipe, planned, complete=not faults)
    faults += _price_faults(recipe)
    faults += _capability_faults(recipe, planned)
    return planned, faults


def _source_faults(recipe: KnowledgeRecipe) -> list[Fault]:
    if not recipe.sources:
        return [Fault(("sources",), "The recipe has no sources. Add at least `sources: [{folder: ./documents}]`.")]
    names = Counter(source.source_name for source in recipe.sources)
    return [
        Fault(("sources", place), f"Two sources are named {source.source_name!r}. Give one of them another `name`.")
        for place, source in enumerate(recipe.sources)
        if names[source.source_name] > 1
    ][1:]


def _repeated_steps(planned: list[PlannedStep]) -> list[Fault]:
    seen: dict[str, PlannedStep] = {}
    faults = []
    for step in planned:
        if step.name in seen:
            message = f"The step {step.name!r} stands twice. Remove one, or give one of them another `name`."
            faults.append(Fault(step.path, message, step.name))
        seen.setdefault(step.name, step)
    return faults


def _graph_faults(planned: list[PlannedStep], *, complete: bool) -> list[Fault]:
    """Artifacts that nothing made before, artifacts that two steps make, search assets that two steps claim."""
    faults = []
    makers: dict[str, str] = {SOURCE_DOCUMENTS.name: ""}
    claims: dict[str, str] = {}
    all_made = {step.step.produces.name: step.name for step in planned}
    for step in planned:
        for kind in step.step.requires:
            if kind.name in makers:
                continue
            if kind.name in all_made:
                hint = _stands_later(all_made[kind.name], step)
            elif complete:
                types = [name for name, kind_of in step_types().items() if kind_of.produces.name == kind.name]
                hint = f"Nothing in the recipe makes it: add {listed(types)} before {step.name!r}."
            else:
                continue
            faults.append(Fault(step.path, f"{step.name} needs the artifact {kind.name}. {hint}", step.name))
        faults += [
            Fault(step.path, f"{step.name} reads the artifact {name}. {_stands_later(all_made[name], step)}", step.name)
            for kind in step.step.reads_if_present
            if (name := kind.name) in all_made and name not in makers
        ]
        made = step.step.produces.name
        if made in makers and makers[made] != step.name:
            message = f"{step.name} and {makers[made]} both make the artifact {made}. Keep one of them."
            faults.append(Fault(step.path, message, step.name))
        makers[made] = step.name
        asset = step.step.search_asset
        if asset and claims.get(asset, step.name) != step.name:
            message = f"{step.name} and {claims[asset]} both claim the search asset {asset}. Keep one of them."
            faults.append(Fault(step.path, message, step.name))
        if asset:
            claims[asset] = step.name
    return faults


def _stands_later(maker: str, reader: PlannedStep) -> str:
    return f"{maker!r} makes it, but stands later: move it before {reader.name!r}."


_MODELS_OF_QUERIES = ("chat", "rerank")
_ADD_CHAT = "Add `models: {chat: {provider: ..., model: ...}}`, the provider being an endpoint of the workspace."
_ADD_MODEL = {"embedding": "Add `models: {embedding: {provider: local}}`.", "chat": _ADD_CHAT}


def _model_faults(recipe: KnowledgeRecipe, planned: list[PlannedStep], *, complete: bool) -> list[Fault]:
    wanted = {role: step for step in reversed(planned) for role in step.step.models}
    may_use = {role for step in planned for role in step.step.optional_models}
    given = recipe.models.roles()
    faults = [
        Fault(("models", role), f"The recipe names the model {role!r}, but none of its steps uses one. Remove it.")
        for role in given
        if role not in wanted and role not in may_use and role not in _MODELS_OF_QUERIES and complete
    ]
    if recipe.models.rerank is not None and recipe.models.rerank.provider == CHAT_PROVIDER and "chat" not in given:
        message = "The reranker is to be the chat model, and the recipe has none. " + _ADD_CHAT
        faults.append(Fault(("models", "rerank"), message))
    faults += [
        Fault(
            step.path,
            f"{step.name} needs the model {role!r}. {_ADD_MODEL.get(role, '')}".rstrip(),
            step.name,
        )
        for role, step in wanted.items()
        if role not in given
    ]
    return faults


def _price_faults(recipe: KnowledgeRecipe) -> list[Fault]:
    """Prices of models that the recipe does not have, and a limit in USD without the prices to count with."""
    given = recipe.models.roles()
    faults = [
        Fault(
            ("prices", role), f"There is a price for the model {role!r}, but the recipe names no such model. Remove it."
        )
        for role in type(recipe.prices).model_fields
        if recipe.prices.of(role) is not None and role not in given
    ]
    if recipe.budget.max_usd is not None:
        faults += [
            Fault(
                ("budget", "max_usd"),
                f"max_usd cannot be kept without the price of the model {role!r}. "
                f"Add `prices: {{{role}: {{usd_per_million_input_tokens: ...}}}}`, 0 where it costs nothing.",
            )
            for role in given
            if recipe.prices.of(role) is None and role != "rerank"  # builds do not rerank
        ]
    return faults


def _capability_faults(recipe: KnowledgeRecipe, planned: list[PlannedStep]) -> list[Fault]:
    assets = [step.step.search_asset for step in planned if step.step.search_asset]
    unlocked = capabilities_of(assets, recipe.models.roles())
    faults = []
    for place, mode in enumerate(recipe.capabilities):
        if mode in unlocked.queries:
            continue
        if mode not in MODES:
            hint = f"There is no such query mode.{nearest(mode, MODES)} Known: {listed(MODES)}."
        else:
            hint = f"Add {what_unlocks(mode, unlocked, recipe.models.roles())}."
        faults.append(Fault(("capabilities", place), f"No step unlocks {mode!r}. {hint}"))
    return faults
