"""What is checked of output definitions before they are registered, and what is copied then."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection, Mapping, Sequence

from lorebase.errors import InvalidDefinitionError, SchemaError
from lorebase.operation import ReadonlyCatalog, refuse_awaitable
from lorebase.presentation.outputs import (
    BoundField,
    ConstantField,
    GroupOutput,
    MasterOutput,
    OutputDefinition,
    OutputField,
    RecordOutput,
    SemanticField,
    TextOutput,
    fields_of,
)


def checked_definitions(
    definitions: Sequence[OutputDefinition], provider_ids: Collection[str]
) -> tuple[OutputDefinition, ...]:
    """The definitions, with copies of their constants.

    Raises:
        InvalidDefinitionError: Ids or names that are blank or repeated, references that lead nowhere, groups that
            hold themselves, a master whose places and fields differ, or a constant that its schema does not take.
    """
    by_id = {definition.id: definition for definition in definitions}
    for definition in definitions:
        _check_fields(definition, provider_ids)
        match definition:
            case MasterOutput():
                _check_master(definition)
            case GroupOutput():
                _check_group(definition, by_id)
            case _:
                pass
    return tuple(_with_copied_constants(definition) for definition in definitions)


def constant_values(definition: OutputDefinition) -> dict[str, object]:
    """The constants of an output by field, parsed from copies.

    Raises:
        InvalidDefinitionError: The schema does not take the constant, or makes no text for a master of it.
    """
    constants = [field for field in fields_of(definition) if isinstance(field, ConstantField)]
    values = {field.id: _parsed_constant(definition, field) for field in constants}
    for field_id, value in values.items():
        if isinstance(definition, MasterOutput) and not isinstance(value, str):
            raise InvalidDefinitionError(
                f"The constant {field_id!r} of the master {definition.id!r} is no text.",
                remedy="Give a text, or a schema that makes one.",
            )
    return values


def _check_fields(definition: OutputDefinition, provider_ids: Collection[str]) -> None:
    fields = fields_of(definition)
    # Made for its checks of ids alone.
    ReadonlyCatalog(f"field of the output {definition.id!r}", fields)
    if isinstance(definition, TextOutput) and definition.text.owner != "generated":
        raise InvalidDefinitionError(f"The field of the text output {definition.id!r} is not generated.")
    for field in fields:
        if isinstance(field, BoundField | SemanticField) and field.provider_id not in provider_ids:
            raise InvalidDefinitionError(
                f"The field {field.id!r} of the output {definition.id!r} names the provider {field.provider_id!r}, "
                "which is not given.",
                remedy=f"Given: {', '.join(provider_ids) or 'none'}.",
            )
        if isinstance(field, SemanticField):
            _check_names(f"The field {field.id!r} of the output {definition.id!r}", "key", field.semantic_keys)


def _check_names(owner: str, kind: str, names: Sequence[str]) -> None:
    if not names or len(set(names)) != len(names) or not all(name.strip() for name in names):
        raise InvalidDefinitionError(
            f"{owner} has the {kind}s {list(names)}.", remedy=f"Give at least one {kind}, none of them blank or twice."
        )


def _check_master(definition: MasterOutput) -> None:
    places, names = set(definition.master.fields), {field.id for field in definition.fields}
    if places != names:
        raise InvalidDefinitionError(
            f"The master {definition.id!r} has places and fields that differ: {', '.join(sorted(places ^ names))}.",
            remedy="Give every place a field, and every field a place.",
        )


def _check_group(definition: GroupOutput, by_id: Mapping[str, OutputDefinition]) -> None:
    _check_names(f"The group {definition.id!r}", "allowed output", definition.allowed_output_ids)
    unknown = [output_id for output_id in definition.allowed_output_ids if output_id not in by_id]
    if unknown:
        raise InvalidDefinitionError(
            f"The group {definition.id!r} allows unknown outputs: {', '.join(unknown)}.",
            remedy=f"Known: {', '.join(by_id)}.",
        )
    inside: set[str] = set()
    left = list(definition.allowed_output_ids)
    while left:
        output = by_id.get(left.pop())
        if isinstance(output, GroupOutput) and output.id not in inside:
            inside.add(output.id)
            left += output.allowed_output_ids
    if definition.id in inside:
        raise InvalidDefinitionError(
            f"The group {definition.id!r} may hold itself.", remedy="Leave it out of what its children allow."
        )


def _with_copied_constants(definition: OutputDefinition) -> OutputDefinition:
    if not isinstance(definition, MasterOutput | RecordOutput):
        return definition
    return dataclasses.replace(definition, fields=tuple(_with_copied_constant(field) for field in definition.fields))


def _with_copied_constant(field: OutputField) -> OutputField:
    if not isinstance(field, ConstantField):
        return field
    return dataclasses.replace(field, constant_value=copy.deepcopy(field.constant_value))


def _parsed_constant(definition: OutputDefinition, field: ConstantField) -> object:
    giver = f"The schema of the constant {field.id!r} of the output {definition.id!r}"
    try:
        return refuse_awaitable(field.value_schema.parse(copy.deepcopy(field.constant_value)), giver)
    except SchemaError as error:
        raise InvalidDefinitionError(f"{giver} does not take it: {error.message}") from error
