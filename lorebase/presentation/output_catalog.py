"""The catalog of outputs: what a model is told of each, whether what it wrote fits, and the whole that comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from lorebase.errors import OutputNotPassedError
from lorebase.operation import (
    CheckResult,
    Diagnostics,
    Failed,
    Issue,
    Observer,
    OperationContext,
    Passed,
    ReadonlyCatalog,
    notify,
)
from lorebase.presentation.output_check import checked_output
from lorebase.presentation.output_composition import Composition
from lorebase.presentation.output_registration import checked_definitions, constant_values
from lorebase.presentation.output_schema import model_schema
from lorebase.presentation.outputs import OutputDefinition, OutputProvider, OutputResult
from lorebase.presentation.schema_references import JsonSchema

AppT = TypeVar("AppT")

CheckedValues = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OutputChecked:
    """Told to observers after a check.

    Attributes:
        output_id: The output.
        status: Whether the value passed.
        issues: What is wrong with it.
        value: What is right of it.
    """

    output_id: str
    status: Literal["passed", "failed"]
    issues: tuple[Issue, ...]
    value: CheckedValues
    event: Literal["checked"] = "checked"


@dataclass(frozen=True, slots=True)
class OutputComposed:
    """Told to observers once an output is whole.

    Attributes:
        result: The output.
    """

    result: OutputResult
    event: Literal["composed"] = "composed"


class OutputCatalog(ReadonlyCatalog[OutputDefinition], Generic[AppT]):
    """Registered outputs. Nothing can be registered later, and nothing that a model writes registers anything."""

    def __init__(
        self,
        definitions: Iterable[OutputDefinition],
        providers: Mapping[str, OutputProvider[AppT]],
        observe: Observer | None,
    ) -> None:
        given = tuple(definitions)
        self._providers = dict(providers)
        super().__init__("output", checked_definitions(given, self._providers))
        self._constants = {definition.id: constant_values(definition) for definition in given}
        self._observe = observe

    def to_model_schema(self, output_id: str) -> JsonSchema:
        """What the model has to write for an output: a closed object with generated fields and semantic keys.

        For a group it is `{"children": [{"output_id": ..., "value": ...}, ...]}`. The schema names no field that the
        program owns, no constant, no provider, and no value behind a key. It is a new dict each time.

        Raises:
            UnknownIdError: There is no such output.
        """
        return model_schema(self.require(output_id), self.require)

    def check(self, output_id: str, value: object) -> CheckResult[CheckedValues]:
        """Look at what a model wrote for an output. A passed value is well formed; that proves and permits nothing.

        Args:
            output_id: The output.
            value: What the model wrote, read from its JSON.

        Returns:
            Passed with the parsed values by field, or failed with those that are right, for a partial repair. Values
            of semantic fields are still keys, children of a group have no ids yet.

        Raises:
            UnknownIdError: There is no such output.
            ContractError: A schema gave something to await.
            Exception: Whatever a schema raises that is no SchemaError.
        """
        return self._checked(output_id, value, None)

    def compose(self, output_id: str, value: object, context: OperationContext[AppT]) -> OutputResult:
        """Put an output together, of a value that is checked again here.

        Args:
            output_id: The output.
            value: What the model wrote.
            context: Given to the providers.

        Raises:
            OutputNotPassedError: The value does not pass its check.
            UnknownIdError: There is no such output.
            ContractError: A provider or schema gave what it must not give.
            OperationCancelledError: The signal of the context was given.
            Exception: Whatever a provider, or a schema, raises.
        """
        context.signal.raise_if_cancelled()
        definition = self.require(output_id)
        checked = self._checked(output_id, value, context.diagnostics)
        if not isinstance(checked, Passed) or not isinstance(checked.value, Mapping):
            raise OutputNotPassedError(
                f"The value for the output {output_id!r} does not pass its check: "
                + "; ".join(issue.message for issue in checked.issues),
                remedy="Let the model mend it; a part of an output is no output.",
                issues=[issue.model_dump(mode="json") for issue in checked.issues],
            )
        composition = Composition(self.require, self._providers, self._constants, context)
        result = composition.result_of(definition, checked.value)
        notify(self._observe, OutputComposed(result), context.diagnostics)
        return result

    def _checked(self, output_id: str, value: object, diagnostics: Diagnostics | None) -> CheckResult[CheckedValues]:
        outcome = checked_output(self.require(output_id), value, self.require)
        issues = tuple(outcome.issues)
        result: CheckResult[CheckedValues] = (
            Failed(issues=issues, value=outcome.values) if issues else Passed(value=outcome.values)
        )
        notify(self._observe, OutputChecked(output_id, result.status, issues, outcome.values), diagnostics)
        return result


def define_output_catalog(
    definitions: Iterable[OutputDefinition],
    *,
    providers: Mapping[str, OutputProvider[AppT]] | None = None,
    observe: Observer | None = None,
) -> OutputCatalog[AppT]:
    """Register outputs.

    Args:
        definitions: The outputs; constants in them are parsed and copied here.
        providers: Providers by the id under which fields name them.
        observe: Told of each check and each composed output, as plain data that shares nothing with the program's.

    Raises:
        InvalidDefinitionError: Ids that are blank or repeated, references that lead nowhere, groups that may hold
            themselves, a master whose places and fields differ, or a constant that its schema does not take.
    """
    return OutputCatalog(definitions, providers or {}, observe)
