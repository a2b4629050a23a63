"""Outputs as an application defines them: their kinds, their fields, and who owns the value of each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

from lorebase.operation import OperationContext, SchemaAdapter, TextSchema
from lorebase.presentation.templates import TextTemplate

FieldOwner: TypeAlias = Literal["generated", "bound", "constant", "semantic"]
OutputKind: TypeAlias = Literal["text", "master", "record", "group"]

AppT_contra = TypeVar("AppT_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedField:
    """A value that the model writes.

    Attributes:
        id: Its name in the output.
        value_schema: What the value is parsed by, and what the model is told of it; plain text by default.
    """

    id: str
    value_schema: SchemaAdapter[object] = field(default_factory=TextSchema)
    owner: Literal["generated"] = field(default="generated", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundField:
    """A value that the program finds out when the output is composed. The model learns nothing of it.

    Attributes:
        id: Its name in the output.
        provider_id: The provider that gives the value; it gets no key.
        value_schema: What the given value is parsed by; plain text by default.
    """

    id: str
    provider_id: str
    value_schema: SchemaAdapter[object] = field(default_factory=TextSchema)
    owner: Literal["bound"] = field(default="bound", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantField:
    """A value that is always the same. The model learns nothing of it.

    Attributes:
        id: Its name in the output.
        constant_value: Parsed and copied when the output is registered; None is a value.
        value_schema: What it is parsed by; plain text by default.
    """

    id: str
    constant_value: object
    value_schema: SchemaAdapter[object] = field(default_factory=TextSchema)
    owner: Literal["constant"] = field(default="constant", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticField:
    """A value that the model chooses by a public key and the program knows.

    Attributes:
        id: Its name in the output.
        semantic_keys: What the model may choose from; all it learns of the field.
        provider_id: The provider that gives the value of the chosen key.
        value_schema: What the given value is parsed by; plain text by default.
    """

    id: str
    semantic_keys: tuple[str, ...]
    provider_id: str
    value_schema: SchemaAdapter[object] = field(default_factory=TextSchema)
    owner: Literal["semantic"] = field(default="semantic", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "semantic_keys", tuple(self.semantic_keys))


OutputField: TypeAlias = GeneratedField | BoundField | ConstantField | SemanticField
ModelField: TypeAlias = GeneratedField | SemanticField


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOutput:
    """One text that the model writes.

    Attributes:
        id: Its identity.
        text: The text; whatever its schema does, it makes a text of it.
    """

    id: str
    text: GeneratedField
    kind: Literal["text"] = field(default="text", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterOutput:
    """One text that the program holds, with the values of fields in its places.

    Attributes:
        id: Its identity.
        master: The text; its places are fields of the output.
        fields: Fields of any owner; their schemas make texts.
    """

    id: str
    master: TextTemplate
    fields: tuple[OutputField, ...]
    kind: Literal["master"] = field(default="master", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutput:
    """Values by name.

    Attributes:
        id: Its identity.
        fields: Fields of any owner, in the order of the result.
    """

    id: str
    fields: tuple[OutputField, ...]
    kind: Literal["record"] = field(default="record", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutput:
    """Other outputs, as many as the model writes, in its order.

    Attributes:
        id: Its identity.
        allowed_output_ids: The outputs that may be its children.
    """

    id: str
    allowed_output_ids: tuple[str, ...]
    kind: Literal["group"] = field(default="group", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed_output_ids", tuple(self.allowed_output_ids))


OutputDefinition: TypeAlias = TextOutput | MasterOutput | RecordOutput | GroupOutput


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """What a provider is asked for.

    Attributes:
        key: The key that the model chose for a semantic field; None for a bound field.
    """

    key: str | None = None


class OutputProvider(Protocol[AppT_contra]):
    """Gives values that the program owns."""

    def resolve(self, choice: ProviderChoice, context: OperationContext[AppT_contra], /) -> object:
        """The value, at once: something to await is refused. What it raises reaches who composes the output."""
        ...


@dataclass(frozen=True, slots=True)
class GroupChild:
    """One child of a composed group.

    Attributes:
        id: Given by the program, unique in the whole result: `c1`, `c2`, and `c2.c1` for the first child of `c2`.
        output_id: The output that it is.
        value: As of that output.
    """

    id: str
    output_id: str
    value: OutputValue


OutputValue: TypeAlias = str | Mapping[str, object] | tuple[GroupChild, ...]


@dataclass(frozen=True, slots=True)
class TextResult:
    """A composed text.

    Attributes:
        output_id: Which output it is.
        kind: Of that output.
        value: The text.
    """

    output_id: str
    kind: Literal["text", "master"]
    value: str


@dataclass(frozen=True, slots=True)
class RecordResult:
    """A composed record.

    Attributes:
        output_id: Which output it is.
        kind: Of that output.
        value: Values by name, in the order of the fields.
    """

    output_id: str
    kind: Literal["record"]
    value: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class GroupResult:
    """A composed group.

    Attributes:
        output_id: Which output it is.
        kind: Of that output.
        value: The children in order.
    """

    output_id: str
    kind: Literal["group"]
    value: tuple[GroupChild, ...]


OutputResult: TypeAlias = TextResult | RecordResult | GroupResult


def fields_of(definition: OutputDefinition) -> tuple[OutputField, ...]:
    """The fields of an output, in its order; a group has none of its own."""
    match definition:
        case TextOutput():
            return (definition.text,)
        case MasterOutput() | RecordOutput():
            return definition.fields
        case GroupOutput():
            return ()


def model_fields_of(definition: OutputDefinition) -> tuple[ModelField, ...]:
    """The fields that the model fills in."""
    return tuple(field_ for field_ in fields_of(definition) if isinstance(field_, GeneratedField | SemanticField))
