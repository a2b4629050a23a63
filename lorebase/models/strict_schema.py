"""A JSON schema in the narrow form that endpoints enforce while a model writes: every field named, and all required."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ONLY_CHECKED_HERE = frozenset(
    {"default", "title", "examples", "minLength", "maxLength", "uniqueItems", "discriminator"}
)
_SAYS_WHAT = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
_NO_SCHEMAS = frozenset({"default", "examples", "enum", "const", "discriminator"})
_MAPS_OF_SCHEMAS = ("properties", "$defs")


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema, its objects closed and all their fields required.

    Whoever reads the answer checks it against the first schema; this one only leads the model.

    Returns:
        The narrow form; None where there is none: free maps, tuples, and what may be anything.
    """
    return _strict(schema) if _has_strict_form(schema) else None


def _has_strict_form(schema: object) -> bool:
    match schema:
        case Mapping():
            if not _SAYS_WHAT & schema.keys():  # anything
                return False
            if schema.get("type") == "object" and (not schema.get("properties") or schema.get("additionalProperties")):
                return False
            if "prefixItems" in schema or (schema.get("type") == "array" and not schema.get("items")):
                return False
            return all(
                all(_has_strict_form(member) for member in value.values())
                if key in _MAPS_OF_SCHEMAS
                else _has_strict_form(value)
                for key, value in schema.items()
                if key not in _NO_SCHEMAS
            )
        case list():
            return all(map(_has_strict_form, schema))
        case _:
            return True


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # endpoints refuse anything beside a reference
    narrow: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _ONLY_CHECKED_HERE:
            continue
        if key in _MAPS_OF_SCHEMAS:
            narrow[key] = {name: _strict(member) for name, member in value.items()}
        elif key in ("anyOf", "oneOf", "allOf"):
            narrow["anyOf" if key == "oneOf" else key] = [_strict(member) for member in value]
        elif key == "items":
            narrow[key] = _strict(value)
        else:
            narrow[key] = value
    if "properties" in narrow:
        narrow["additionalProperties"] = False
        narrow["required"] = list(narrow["properties"])
    return narrow
