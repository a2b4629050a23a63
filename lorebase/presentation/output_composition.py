"""How an output is put together: what the model wrote, what providers give, constants, and the master around them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar, cast

from lorebase.errors import ContractError, SchemaError
from lorebase.operation import OperationContext, refuse_awaitable
from lorebase.presentation.output_schema import CHILDREN, OUTPUT_ID, VALUE
from lorebase.presentation.outputs import (
    BoundField,
    ConstantField,
    GeneratedField,
    GroupChild,
    GroupOutput,
    GroupResult,
    MasterOutput,
    OutputDefinition,
    OutputField,
    OutputProvider,
    OutputResult,
    ProviderChoice,
    RecordOutput,
    RecordResult,
    SemanticField,
    TextOutput,
    TextResult,
    fields_of,
)

AppT = TypeVar("AppT")


class Composition(Generic[AppT]):
    """One output under way.

    Args:
        require: Finds the outputs that a group allows.
        providers: Providers by id.
        constants: Parsed constants by output and field.
        context: Given to the providers; its signal stops the work before the next of them.
    """

    def __init__(
        self,
        require: Callable[[str], OutputDefinition],
        providers: Mapping[str, OutputProvider[AppT]],
        constants: Mapping[str, Mapping[str, object]],
        context: OperationContext[AppT],
    ) -> None:
        self._require = require
        self._providers = providers
        self._constants = constants
        self._context = context

    def result_of(
        self, definition: OutputDefinition, checked: Mapping[str, object], child_prefix: str = ""
    ) -> OutputResult:
        """The whole output.

        Args:
            definition: The output.
            checked: What its check passed.
            child_prefix: Begins the ids of children.

        Raises:
            ContractError: A provider gave something to await, or what its field's schema does not take; or a text or
                master got a value that is no text.
            OperationCancelledError: The signal was given.
            Exception: Whatever a provider raises.
        """
        if isinstance(definition, GroupOutput):
            return GroupResult(definition.id, definition.kind, self._children(checked, child_prefix))
        values = {field.id: self._field_value(definition, field, checked) for field in fields_of(definition)}
        match definition:
            case TextOutput():
                text = _texts(definition, values)[definition.text.id]
                return TextResult(definition.id, definition.kind, text)
            case MasterOutput():
                return TextResult(definition.id, definition.kind, definition.master.render(_texts(definition, values)))
            case RecordOutput():
                return RecordResult(definition.id, definition.kind, values)

    def _children(self, checked: Mapping[str, object], prefix: str) -> tuple[GroupChild, ...]:
        children = cast("tuple[Mapping[str, object], ...]", checked[CHILDREN])
        made: list[GroupChild] = []
        for number, child in enumerate(children, start=1):
            child_id = f"{prefix}c{number}"
            definition = self._require(cast("str", child[OUTPUT_ID]))
            result = self.result_of(definition, cast("Mapping[str, object]", child[VALUE]), f"{child_id}.")
            made.append(GroupChild(child_id, definition.id, result.value))
        return tuple(made)

    def _field_value(self, definition: OutputDefinition, field: OutputField, checked: Mapping[str, object]) -> object:
        match field:
            case GeneratedField():
                return checked[field.id]
            case ConstantField():
                return copy.deepcopy(self._constants[definition.id][field.id])
            case BoundField():
                return self._provided(definition, field, ProviderChoice())
            case SemanticField():
                return self._provided(definition, field, ProviderChoice(cast("str", checked[field.id])))

    def _provided(
        self, definition: OutputDefinition, field: BoundField | SemanticField, choice: ProviderChoice
    ) -> object:
        self._context.signal.raise_if_cancelled()
        given = self._providers[field.provider_id].resolve(choice, self._context)
        given = refuse_awaitable(given, f"The provider {field.provider_id!r}")
        place = f"the field {field.id!r} of the output {definition.id!r}"
        try:
            return refuse_awaitable(field.value_schema.parse(given), f"The schema of {place}")
        except SchemaError as error:
            raise ContractError(
                f"The provider {field.provider_id!r} gave {place} a value that its schema does not take: "
                f"{error.message}",
                remedy="Correct the provider; the model cannot.",
            ) from error


def _texts(definition: OutputDefinition, values: Mapping[str, object]) -> dict[str, str]:
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    for name in values:
        if name not in texts:
            raise ContractError(
                f"The schema of the field {name!r} of the output {definition.id!r} made no text, which a "
                f"{definition.kind} output needs.",
                remedy="Give the field a schema that makes texts.",
            )
    return texts
