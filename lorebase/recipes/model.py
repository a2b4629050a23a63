"""A recipe: how one knowledge base is made, as data that goes to YAML and back."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_serializer, model_validator

from lorebase.documents.parsing import ParserRule
from lorebase.documents.sources import Source
from lorebase.fingerprint import fingerprint
from lorebase.ids import SLUG_PATTERN
from lorebase.models.settings import ChatModelSpec, EmbeddingModelSpec, RerankModelSpec
from lorebase.recipes.places import Places

STEP_OPTIONS = ("name", "retry", "timeout_seconds", "max_failed_share")
"""Keys beside a step's settings that every step understands."""

_UNICODE_LINE_BREAKS = frozenset("\x85\u2028\u2029\ufeff")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceSpec(_Frozen):
    """Where documents come from."""

    folder: str = Field(description="Folder, relative to the recipe file, or an address such as s3://bucket/prefix.")
    name: str = Field("", description="Name of the source; part of the identity of its documents. Default: the folder.")
    include: tuple[str, ...] = Field(("**/*",), min_length=1, description="Globs of the documents to take.")
    exclude: tuple[str, ...] = Field((), description="Globs of the documents to leave.")

    @property
    def source_name(self) -> str:
        """Its name, or the folder as the recipe writes it."""
        return self.name or self.folder

    def as_source(self, url: str) -> Source:
        """The source, its folder being at `url`."""
        return Source(name=self.source_name, url=url, include=self.include, exclude=self.exclude)


class ModelSpecs(_Frozen):
    """The models that the recipe's steps and queries call, by role."""

    embedding: EmbeddingModelSpec | None = None
    chat: ChatModelSpec | None = None
    rerank: RerankModelSpec | None = None

    def roles(self) -> tuple[str, ...]:
        """Roles that have a model."""
        return tuple(role for role in type(self).model_fields if getattr(self, role) is not None)

    def providers(self, roles: Collection[str]) -> set[str]:
        """Who serves the models of some roles, as far as the recipe has them: endpoints, or the local one."""
        return {getattr(self, role).provider for role in self.roles() if role in roles}


class RetrySpec(_Frozen):
    """How often a task run of a step is tried."""

    attempts: int = Field(1, ge=1, le=10, description="Tries in all.")
    delays_seconds: tuple[float, ...] = Field((2.0, 10.0, 60.0), description="Waits before the second, third ... try.")
    codes: tuple[str, ...] = Field((), description="Error codes worth another try; none means every retryable error.")


class StepSpec(_Frozen):
    """A step as a recipe names it: `- split_documents: {max_tokens: 200}`."""

    type: str
    name: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    retry: RetrySpec = RetrySpec()
    timeout_seconds: float | None = Field(None, gt=0, description="Longest time of one task run.")
    max_failed_share: float = Field(0.05, ge=0, le=1, description="Share of failed items above which the step fails.")

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:  # noqa: ANN401 (what YAML gives)
        if isinstance(value, str):
            return {"type": value}
        if isinstance(value, BaseModel) and hasattr(value, "type_name"):
            return {"type": value.type_name, "settings": value.model_dump(exclude_unset=True)}
        if isinstance(value, dict) and len(value) == 1 and "type" not in value:
            ((type_name, settings),) = value.items()
            if settings is None or isinstance(settings, dict):
                given = dict(settings or {})
                options = {key: given.pop(key) for key in STEP_OPTIONS if key in given}
                return {"type": type_name, "settings": given, **options}
        return value

    @model_serializer
    def _to_short_form(self) -> dict[str, Any]:
        options: dict[str, Any] = {"name": self.name} if self.name else {}
        if self.retry != RetrySpec():
            options["retry"] = self.retry.model_dump(mode="json", exclude_defaults=True)
        if self.timeout_seconds is not None:
            options["timeout_seconds"] = self.timeout_seconds
        if self.max_failed_share != type(self).model_fields["max_failed_share"].default:
            options["max_failed_share"] = self.max_failed_share
        return {self.type: {**options, **self.settings}}

    @property
    def step_name(self) -> str:
        """Its name, or its type where it has none."""
        return self.name or self.type


class ProcedureSpec(_Frozen):
    """A named group of steps, or a built-in procedure with settings of its own."""

    name: str = ""
    steps: tuple[StepSpec, ...] = ()
    use: str = Field("", description="Name of a built-in procedure.")
    settings: dict[str, Any] = Field(default_factory=dict, alias="with", description="Settings for its steps.")

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if bool(self.steps) == bool(self.use):
            msg = "a procedure has either `steps` (at least one) or `use` (the name of a built-in procedure)"
            raise ValueError(msg)
        return self

    @property
    def procedure_name(self) -> str:
        """Its name, or the built-in procedure's."""
        return self.name or self.use


class ParserRuleSpec(_Frozen):
    """Which engine parses which file types; the first rule that matches wins, without one it is `builtin`."""

    file_types: tuple[str, ...] = Field(min_length=1)
    engine: str

    @field_validator("file_types")
    @classmethod
    def _plain_types(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(kind.strip().lower().lstrip(".") for kind in value)

    def as_rule(self) -> ParserRule:
        """The rule for a parser registry."""
        return ParserRule(file_types=self.file_types, engine=self.engine)


class Budget(_Frozen):
    """What one build may spend; it stops before the call that would pass it."""

    max_model_calls: int | None = Field(None, ge=0, description="Most calls to models.")
    max_tokens: int | None = Field(None, ge=0, description="Most tokens, input and output together.")
    max_usd: float | None = Field(None, ge=0, allow_inf_nan=False, description="Most cost; needs `prices`.")


class ExecutionSpec(_Frozen):
    """Where the task runs of a build run. It decides how soon a build ends, never what it makes."""

    task_runner: Literal["threads", "processes", "dask", "ray"] = Field(
        "threads",
        description="threads: the build's own process; processes: others of its machine; dask, ray: of any machine.",
    )
    workers: int | None = Field(
        None, ge=1, le=1024, description="Processes that are started, or task runs at once on a cluster that is there."
    )
    chunks_per_task_run: int | None = Field(
        None, ge=1, description="About how many chunks one task run takes on; by default 2048."
    )


class ModelPrice(_Frozen):
    """What a model costs; 0 for one that costs nothing."""

    usd_per_million_input_tokens: float = Field(ge=0, allow_inf_nan=False)
    usd_per_million_output_tokens: float = Field(0.0, ge=0, allow_inf_nan=False)


class Prices(_Frozen):
    """What the recipe's models cost, by role. Prices decide what plans and reports say, never what is built."""

    embedding: ModelPrice | None = None
    chat: ModelPrice | None = None
    rerank: ModelPrice | None = None

    def of(self, role: str) -> ModelPrice | None:
        """The price of the model of a role; None where the recipe gives none."""
        price: ModelPrice | None = getattr(self, role, None)
        return price


class KnowledgeRecipe(_Frozen):
    """How one knowledge base is made."""

    name: str = Field(description="Name of the knowledge base: a slug.")
    description: str = ""
    sources: tuple[SourceSpec, ...] = ()
    models: ModelSpecs = ModelSpecs()
    procedures: tuple[ProcedureSpec, ...] = ()
    parsers: tuple[ParserRuleSpec, ...] = ()
    capabilities: tuple[str, ...] = Field((), description="Query modes that the recipe has to unlock.")
    governance: Literal["none", "reviewed"] = "none"
    partitions: int = Field(64, ge=1, le=4096, description="Partitions of each artifact; changing it rebuilds all.")
    max_document_bytes: int = Field(50 * 1024 * 1024, ge=1, description="Longest document that is read.")
    budget: Budget = Budget()
    prices: Prices = Prices()
    execution: ExecutionSpec = ExecutionSpec()
    folder: Path = Field(Path(), exclude=True, description="Folder of the recipe file; relative sources start there.")
    _places: Places = PrivateAttr(default_factory=Places)

    @field_validator("name")
    @classmethod
    def _slug(cls, value: str) -> str:
        if not SLUG_PATTERN.fullmatch(value):
            msg = f"{value!r} is no slug: use 1 to 63 of a-z, 0-9 and hyphens, not beginning with a hyphen"
            raise ValueError(msg)
        return value

    @property
    def places(self) -> Places:
        """Where its parts stand in the file it came from."""
        return self._places

    def remember_places(self, places: Places) -> None:
        """Keep where its parts stand, for messages."""
        self._places = places

    def validate(self) -> None:  # type: ignore[override]  # pydantic's deprecated class method of that name is hidden
        """Check every rule that can be checked without running anything.

        Raises:
            InvalidRecipeError: It has faults; all of them are listed, each with its place.
        """
        from lorebase.recipes.validation import validated_steps  # noqa: PLC0415 (validation knows the model)

        validated_steps(self)

    def to_yaml(self) -> str:
        """The recipe as YAML, without what stands at its default."""
        data = self.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        return yaml.dump(data, Dumper=_RecipeDumper, allow_unicode=True, sort_keys=False)

    @property
    def fingerprint(self) -> str:
        """Digest of everything the recipe says about the base, wherever its file lies and its task runs run."""
        return fingerprint("recipe", self.model_dump(mode="json", exclude={"execution"}))

    def location_of(self, source: SourceSpec) -> str:
        """Address of a source, absolute where it is a local folder."""
        if "://" in source.folder:
            return source.folder
        return str((self.folder / source.folder).resolve())


class _RecipeDumper(yaml.SafeDumper):
    """Writes texts with Unicode line breaks quoted: PyYAML would write them bare and read them back as blanks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _UNICODE_LINE_BREAKS & set(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_RecipeDumper.add_representer(str, _represent_text)
