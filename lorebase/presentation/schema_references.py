"""How a JSON Schema that stood alone becomes a part of another: its references lead on to the same places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import unquote

JsonSchema: TypeAlias = dict[str, Any]

DEFINITIONS = "#/$defs/"

_DATA = frozenset({"const", "enum", "default", "examples"})
_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})


def moved_schema(schema: JsonSchema, reserve: Callable[[], str]) -> tuple[JsonSchema, JsonSchema]:
    """Take a schema apart into what stands in its new place, and definitions for the root of the new whole.

    Args:
        schema: A whole schema; is not changed.
        reserve: Gives a name for a definition that no other has, of letters and digits.

    Returns:
        The schema for the new place, and its definitions by name. A schema that refers to itself as a whole is a
        definition too, and a reference stands in its place.
    """
    own = schema.get("$defs", {})
    references = _References({name: reserve() for name in own}, reserve)
    body = references.replaced_in({key: part for key, part in schema.items() if key != "$defs"})
    definitions = {references.names[name]: references.replaced_in(part) for name, part in own.items()}
    if references.root is None:
        return body, definitions
    return {"$ref": DEFINITIONS + references.root}, {**definitions, references.root: body}


class _References:
    """The references of one schema.

    Attributes:
        names: New names of its definitions by old ones.
        root: New name of the schema itself, once something refers to it.
    """

    def __init__(self, names: dict[str, str], reserve: Callable[[], str]) -> None:
        self.names = names
        self.root: str | None = None
        self._reserve = reserve

    def replaced_in(self, schema: Any) -> Any:  # noqa: ANN401 (any part of a JSON Schema)
        """A copy with new references; data in it, which may look like one, is left alone."""
        if isinstance(schema, list):
            return [self.replaced_in(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        return {key: self._replaced_under(key, part) for key, part in schema.items()}

    def _replaced_under(self, key: str, part: Any) -> Any:  # noqa: ANN401 (as above)
        if key in _DATA:
            return part
        if key == "$ref" and isinstance(part, str):
            return self._replaced(part)
        if key in _SCHEMAS_BY_NAME and isinstance(part, dict):
            return {name: self.replaced_in(member) for name, member in part.items()}
        if key == "mapping" and isinstance(part, dict):  # of an OpenAPI discriminator, as pydantic writes it
            return {name: self._replaced(member) for name, member in part.items()}
        return self.replaced_in(part)

    def _replaced(self, reference: str) -> str:
        if not reference.startswith("#"):
            return reference
        escaped, slash, rest = reference.removeprefix(DEFINITIONS).partition("/")
        name = unquote(escaped).replace("~1", "/").replace("~0", "~")
        if reference.startswith(DEFINITIONS) and name in self.names:
            return DEFINITIONS + self.names[name] + slash + rest
        if self.root is None:
            self.root = self._reserve()
        return DEFINITIONS + self.root + reference.removeprefix("#")
