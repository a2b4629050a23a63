"""What the model is told of an output, as one JSON Schema: the fields that it fills in and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from lorebase.presentation.outputs import GeneratedField, GroupOutput, ModelField, OutputDefinition, model_fields_of
from lorebase.presentation.schema_references import DEFINITIONS, JsonSchema, moved_schema

CHILDREN, OUTPUT_ID, VALUE = "children", "output_id", "value"
"""The keys of what the model writes for a group: a list of children, each of them an output and its value."""


def model_schema(definition: OutputDefinition, require: Callable[[str], OutputDefinition]) -> JsonSchema:
    """The schema of what the model has to write for an output.

    Objects are closed and all their fields required. Of a generated field stands what its own schema says, of a
    semantic field its keys; of bound and constant fields and of providers nothing.

    Args:
        definition: The output.
        require: Finds the outputs that a group allows.
    """
    projection = _Projection(require)
    schema = projection.of_output(definition)
    return {**schema, "$defs": projection.definitions} if projection.definitions else schema


class _Projection:
    """One schema under way; gathers the definitions of all fields and children at its root."""

    def __init__(self, require: Callable[[str], OutputDefinition]) -> None:
        self.definitions: JsonSchema = {}
        self._require = require
        self._outputs: dict[str, str] = {}
        self._reserved = 0

    def of_output(self, definition: OutputDefinition) -> JsonSchema:
        if isinstance(definition, GroupOutput):
            children = [self._of_child(output_id) for output_id in definition.allowed_output_ids]
            return _closed({CHILDREN: {"type": "array", "minItems": 1, "items": {"anyOf": children}}})
        return _closed({field.id: self._of_field(field) for field in model_fields_of(definition)})

    def _of_child(self, output_id: str) -> JsonSchema:
        if output_id not in self._outputs:
            name = self._outputs[output_id] = self._reserve()
            self.definitions[name] = self.of_output(self._require(output_id))
        reference = {"$ref": DEFINITIONS + self._outputs[output_id]}
        return _closed({OUTPUT_ID: {"type": "string", "const": output_id}, VALUE: reference})

    def _of_field(self, field: ModelField) -> JsonSchema:
        if isinstance(field, GeneratedField):
            schema, definitions = moved_schema(field.value_schema.json_schema(), self._reserve)
            self.definitions |= definitions
            return schema
        return {"type": "string", "enum": list(field.semantic_keys)}

    def _reserve(self) -> str:
        # Counted, so that names of fields and types need no escaping in references and cannot meet.
        self._reserved += 1
        return f"d{self._reserved}"


def _closed(properties: JsonSchema) -> JsonSchema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
