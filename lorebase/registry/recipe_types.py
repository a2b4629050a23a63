"""Source types as recipes hold them: written out, so that the fingerprint of a build covers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

from lorebase.recipes.expansion import PlannedStep, expand
from lorebase.recipes.model import KnowledgeRecipe, ProcedureSpec, StepSpec
from lorebase.recipes.step_types import procedures
from lorebase.registry.declared_fields import MAX_FIELDS, DeclaredField
from lorebase.registry.source_types import (
    MAX_SOURCE_TYPES,
    SOURCE_TYPE_ID_PATTERN,
    SourceType,
    normalise_source_types,
)

CLASSIFY: Final = "classify_documents"
"""The step that classifies."""
SETTING: Final = "source_types"
REGISTRY: Final = "registry"
"""What a recipe says in place of types, to get those that the registry has for its base."""


class SourceTypeSpec(BaseModel):
    """A source type in a recipe; of a built-in one only what is to be different."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Lower-case letters, digits and underscores, 1 to 48, beginning with a letter.")
    label: str = Field("", description="What people read; the id where it is empty.")
    description: str = Field("", description="What documents of this type are.")
    signals: tuple[str, ...] = Field((), description="Words that speak for this type, in any language.")
    excludes: tuple[str, ...] = Field((), description="Words that speak against it.")
    enabled: bool = Field(default=True, description="Whether documents may be given this type.")
    metadata_fields: tuple[DeclaredField, ...] = Field(
        (), max_length=MAX_FIELDS, description="Values that its documents should have."
    )

    @field_validator("id")
    @classmethod
    def _is_type_id(cls, value: str) -> str:
        if not SOURCE_TYPE_ID_PATTERN.fullmatch(value):
            msg = f"{value!r} is no id of a type: use a-z, 0-9 and _, 1 to 48, beginning with a letter"
            raise ValueError(msg)
        return value


def _form_of(value: object) -> str:
    """Which form a setting has, so that a fault names its own place alone."""
    return "registry" if isinstance(value, str) else "types"


SourceTypesSetting: TypeAlias = Annotated[
    Annotated[tuple[SourceTypeSpec, ...], Tag("types")] | Annotated[Literal["registry"], Tag("registry")],
    Discriminator(_form_of),
]


def types_of_specs(specs: Sequence[SourceTypeSpec]) -> tuple[SourceType, ...]:
    """The built-in types with what the recipe says of them, then its own."""
    given = [spec.model_dump(mode="json", exclude_unset=True) for spec in specs]
    return normalise_source_types(given).types


def checked_specs(specs: tuple[SourceTypeSpec, ...]) -> tuple[SourceTypeSpec, ...]:
    """The types, if their ids differ and they are not too many.

    Raises:
        ValueError: Two have the same id, or there are more than 32 with the built-in ones.
    """
    repeated = [type_id for type_id, count in Counter(spec.id for spec in specs).items() if count > 1]
    if repeated:
        msg = f"the type {repeated[0]!r} stands twice"
        raise ValueError(msg)
    if (count := len(types_of_specs(specs))) > MAX_SOURCE_TYPES:
        msg = f"{count} source types with the built-in ones, where at most {MAX_SOURCE_TYPES} are allowed"
        raise ValueError(msg)
    return specs


def written_out(types: Sequence[SourceType]) -> list[dict[str, Any]]:
    """Types as a recipe writes them, whole."""
    left_out = {"builtin", "fallback", "source_count"}
    return [known.model_dump(mode="json", exclude=left_out) for known in types]


def asks_registry(recipe: KnowledgeRecipe) -> bool:
    """Whether the recipe leaves its source types to the registry."""
    return any(_setting_of(planned) == REGISTRY for planned in _classifying(recipe))


def types_of_recipe(recipe: KnowledgeRecipe) -> tuple[SourceType, ...]:
    """The source types that a recipe classifies by; none where it does not classify.

    A recipe that leaves them to the registry has the built-in ones.
    """
    for planned in _classifying(recipe):
        setting = _setting_of(planned)
        return types_of_specs(setting if isinstance(setting, tuple) else ())
    return ()


def with_types(recipe: KnowledgeRecipe, types: Sequence[SourceType]) -> KnowledgeRecipe:
    """The recipe with these types in place of `registry`."""
    written = written_out(types)
    return with_procedures(recipe, tuple(_procedure_with(one, written) for one in recipe.procedures))


def with_procedures(recipe: KnowledgeRecipe, changed: tuple[ProcedureSpec, ...]) -> KnowledgeRecipe:
    """The recipe with other procedures; where its other parts stand in its file is still known."""
    made = recipe.model_copy(update={"procedures": changed})
    made.remember_places(recipe.places)
    return made


def _procedure_with(procedure: ProcedureSpec, written: list[dict[str, Any]]) -> ProcedureSpec:
    steps = tuple(_step_with(spec, written) for spec in procedure.steps)
    settings: Mapping[str, Any] = procedure.settings
    if procedure.use in procedures() and settings.get(SETTING) == REGISTRY:
        settings = {**settings, SETTING: written}
    return procedure.model_copy(update={"steps": steps, "settings": dict(settings)})


def _step_with(spec: StepSpec, written: list[dict[str, Any]]) -> StepSpec:
    if spec.type != CLASSIFY or spec.settings.get(SETTING) != REGISTRY:
        return spec
    return spec.model_copy(update={"settings": {**spec.settings, SETTING: written}})


def _classifying(recipe: KnowledgeRecipe) -> list[PlannedStep]:
    return [planned for planned in expand(recipe)[0] if planned.step.type_name == CLASSIFY]


def _setting_of(planned: PlannedStep) -> SourceTypesSetting:
    setting: SourceTypesSetting = getattr(planned.step, SETTING)
    return setting
