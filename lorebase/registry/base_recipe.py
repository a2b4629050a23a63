"""From the record of a base to the recipe that rebuilds it, and from a recipe to the types that the registry has."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

from lorebase.clock import Clock
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec, RerankModelSpec
from lorebase.recipes.expansion import expand
from lorebase.recipes.loading import load_recipe, parse_recipe
from lorebase.recipes.model import KnowledgeRecipe, ModelSpecs, ProcedureSpec, SourceSpec, StepSpec
from lorebase.recipes.step_types import step_types
from lorebase.registry.card_types import CardType
from lorebase.registry.declared_fields import DeclaredField
from lorebase.registry.layout.folders import SOURCE_RAW
from lorebase.registry.recipe_types import CLASSIFY, REGISTRY, SETTING, asks_registry, with_procedures, with_types
from lorebase.registry.record import KnowledgeBaseRecord, read_record
from lorebase.registry.stores import RegistryStore

PROPOSE: Final = "propose_cards"

LAYERS: Final[dict[str, tuple[str, ...]]] = {
    "source": ("parse_documents",),
    "classification": (CLASSIFY,),
    "extraction": (
        *("split_documents", "extract_entities", "extract_relations", "embed_names", "resolve_entities"),
        "collect_faq",
    ),
    "cards": (PROPOSE,),
    "compiled": ("embed_chunks", "index_vectors", "index_full_text", "index_cards", "index_faq", "build_graph"),
}
"""The layers of a knowledge base in the order in which a rebuild walks them, with the steps that write each."""

_BY_MEANING: Final = ("embed_chunks", "index_vectors")
_BY_WORDS: Final = ("index_full_text",)
_CARDS: Final = (PROPOSE, "index_cards")
_MOST_CARD_TYPES: Final = 20
_EVERYWHERE: Final = "concept"
"""The built-in card type that fits any subject; cards of the others are proposed where a recipe asks for them."""


class HasRegistry(Protocol):
    """Where a registry is."""

    @property
    def registry_store(self) -> RegistryStore:
        """The registry; opened when it is first asked for."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock."""
        ...


def layer_of(step_type: str) -> str:
    """The layer that a step writes; steps of others count as compiling."""
    return next((layer for layer, steps in LAYERS.items() if step_type in steps), "compiled")


def with_registered_types(recipe: KnowledgeRecipe, workspace: HasRegistry) -> KnowledgeRecipe:
    """The recipe with the source types of the registry written out, where it leaves them to it. Blocking.

    A recipe whose base is not registered stays as it is: its build says so.

    Raises:
        UnavailableError: The registry's database does not answer.
    """
    if not asks_registry(recipe):
        return recipe
    stored = workspace.registry_store.read_one(recipe.name).by_id.get(recipe.name)
    if stored is None:
        return recipe
    return with_types(recipe, read_record(stored, recipe.name, workspace.clock.now()).record.source_types)


def recipe_of_base(record: KnowledgeBaseRecord) -> KnowledgeRecipe:
    """The recipe that rebuilds a base: its own with what the record configures, otherwise one over its whole tree.

    Documents are classified by the types of the record, whether its own recipe does so or not. Blocking.

    Raises:
        NotFoundError: The recipe file is not there.
        InvalidRecipeError: The recipe cannot be read.
    """
    own = _own_recipe(record)
    recipe = own if own is not None else _recipe_of_tree(record)
    configured = recipe.model_copy(
        update={
            "name": record.id,
            "parsers": (*record.parsers, *recipe.parsers),
            "models": _models_of(record, recipe.models),
        }
    )
    configured.remember_places(recipe.places)
    classified = configured if _classifies(configured) else _with_classes(configured)
    return with_types(classified, record.source_types)


def _own_recipe(record: KnowledgeBaseRecord) -> KnowledgeRecipe | None:
    reference = record.recipe
    if reference is None:
        return None
    if reference.path:
        return load_recipe(Path(reference.path))
    return parse_recipe(reference.inline, folder=Path(record.root_dir), name=f"the recipe of {record.id}")


def _recipe_of_tree(record: KnowledgeBaseRecord) -> KnowledgeRecipe:
    """Every layer, over the raw documents of the base's tree, with the steps that are installed."""
    card_types = [card_type_choice(known) for known in record.card_types if _is_proposed(known)][:_MOST_CARD_TYPES]
    unwanted = {
        *(() if record.index.vector else _BY_MEANING),
        *(() if record.index.full_text else _BY_WORDS),
        *(() if card_types else _CARDS),
    }
    wanted = step_types().keys() - unwanted
    settings: dict[str, dict[str, Any]] = {CLASSIFY: {SETTING: REGISTRY}, PROPOSE: {"card_types": card_types}}
    layers = {
        layer: [StepSpec(type=one, settings=settings.get(one, {})) for one in steps if one in wanted]
        for layer, steps in LAYERS.items()
    }
    return KnowledgeRecipe(
        name=record.id,
        description=record.description,
        sources=(SourceSpec(folder=str(Path(record.root_dir) / SOURCE_RAW), name=SOURCE_RAW),),
        models=ModelSpecs(embedding=EmbeddingModelSpec() if record.index.vector else None),
        procedures=tuple(ProcedureSpec(name=layer, steps=tuple(steps)) for layer, steps in layers.items() if steps),
    )


def card_type_choice(known: CardType) -> dict[str, Any]:
    """A card type as the step that proposes cards reads it."""
    return {
        "id": known.id,
        "label": known.label,
        "description": known.description,
        "sections": [_line(section.title, section.hint, required=section.required) for section in known.sections],
        "fields": [_field_line(field) for field in known.fields],
    }


def _is_proposed(known: CardType) -> bool:
    return known.enabled and known.layer == "type" and (not known.builtin or known.id == _EVERYWHERE)


def _field_line(field: DeclaredField) -> str:
    kind = f"enum({', '.join(field.options)})" if field.type == "enum" else field.type
    return _line(field.key, field.label, kind, required=field.required)


def _line(*parts: str, required: bool) -> str:
    return " | ".join((*parts, *(("required",) if required else ())))


def _models_of(record: KnowledgeBaseRecord, models: ModelSpecs) -> ModelSpecs:
    """The recipe's models, those of the record in their place."""
    given: dict[str, Any] = {}
    if record.models.embedding is not None:
        given["embedding"] = record.models.embedding
    if record.models.chat:
        provider, _, model = record.models.chat.partition("/")
        given["chat"] = ChatModelSpec(provider=provider, model=model or provider)
    if record.models.rerank:
        provider, _, model = record.models.rerank.partition("/")
        given["rerank"] = RerankModelSpec(provider=provider, model=model or None)
    return models.model_copy(update=given)


def _classifies(recipe: KnowledgeRecipe) -> bool:
    return any(planned.step.type_name == CLASSIFY for planned in expand(recipe)[0])


def _with_classes(recipe: KnowledgeRecipe) -> KnowledgeRecipe:
    """The recipe with the step that classifies, right after the one that parses."""
    classify = StepSpec(type=CLASSIFY, settings={SETTING: REGISTRY})
    for place, procedure in enumerate(recipe.procedures):
        for number, spec in enumerate(procedure.steps):
            if spec.type == "parse_documents":
                steps = (*procedure.steps[: number + 1], classify, *procedure.steps[number + 1 :])
                changed = procedure.model_copy(update={"steps": steps})
                before, after = recipe.procedures[:place], recipe.procedures[place + 1 :]
                return with_procedures(recipe, (*before, changed, *after))
    first = ProcedureSpec(name="classification", steps=(StepSpec(type="parse_documents"), classify))
    return with_procedures(recipe, (first, *recipe.procedures))
