"""Schemas that run: each parses a value for real and can say what it takes as JSON Schema."""

from __future__ import annotations

import re
from typing import Any, Generic, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from lorebase.errors import SchemaError
from lorebase.operation.issues import CheckIssue

ParsedT = TypeVar("ParsedT")
ParsedT_co = TypeVar("ParsedT_co", covariant=True)

JsonSchema = dict[str, Any]


class SchemaAdapter(Protocol[ParsedT_co]):
    """Parses values of one type."""

    def parse(self, value: object, /) -> ParsedT_co:
        """The value as that type.

        Raises:
            SchemaError: It does not fit; `schema_issues` of the error says where and why.
        """
        ...

    def json_schema(self) -> JsonSchema:
        """What it takes, as JSON Schema; a new dict each time."""
        ...


class PydanticSchema(Generic[ParsedT]):
    """A schema made of a type that pydantic knows: a model, a dataclass, `list[int]`, an `Annotated` constraint.

    Args:
        kind: The type, or a TypeAdapter for what cannot be written as a type.
        strict: Whether to refuse values of another type that could be converted, such as "1" for 1.
    """

    def __init__(self, kind: type[ParsedT] | TypeAdapter[ParsedT], *, strict: bool = False) -> None:
        self._adapter: TypeAdapter[ParsedT] = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
        self._strict = strict or None

    def parse(self, value: object) -> ParsedT:
        """The value as the type.

        Raises:
            SchemaError: It does not fit; every fault is an issue.
        """
        try:
            return self._adapter.validate_python(value, strict=self._strict)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            issues = [
                CheckIssue(code=_code_of(fault["type"]), message=fault["msg"], path=fault["loc"]) for fault in faults
            ]
            raise schema_error(issues) from error

    def json_schema(self) -> JsonSchema:
        """What the type takes, as JSON Schema."""
        return self._adapter.json_schema()


class TextSchema:
    """Plain text, nothing else.

    Args:
        max_chars: Most code points; None for any number.
    """

    def __init__(self, *, max_chars: int | None = None) -> None:
        self._max_chars = max_chars

    def parse(self, value: object) -> str:
        """The text.

        Raises:
            SchemaError: It is no text, or too long.
        """
        if not isinstance(value, str):
            message = f"Input should be text, not {type(value).__name__}."
            raise schema_error([CheckIssue(code="STRING_TYPE", message=message)])
        if self._max_chars is not None and len(value) > self._max_chars:
            message = f"Text has {len(value)} characters; at most {self._max_chars} are taken."
            raise schema_error([CheckIssue(code="STRING_TOO_LONG", message=message)])
        return value

    def json_schema(self) -> JsonSchema:
        """Text, with its limit where it has one."""
        return {"type": "string"} if self._max_chars is None else {"type": "string", "maxLength": self._max_chars}


def schema_error(issues: list[CheckIssue]) -> SchemaError:
    """The error for a value with these issues."""
    first = issues[0]
    where = ".".join(str(part) for part in first.path)
    more = f" ({len(issues) - 1} more)" if len(issues) > 1 else ""
    return SchemaError(
        f"A value does not fit its schema{f' at {where}' if where else ''}: {first.message}{more}",
        issues=[issue.model_dump(mode="json") for issue in issues],
    )


def schema_issues(error: SchemaError) -> tuple[CheckIssue, ...]:
    """What a schema found wrong, in its order."""
    return tuple(CheckIssue.model_validate(issue) for issue in error.facts.get("issues", ()))


def _code_of(pydantic_type: str) -> str:
    code = re.sub(r"[^A-Z0-9]+", "_", pydantic_type.upper()).strip("_")
    return code if code[:1].isalpha() else "INVALID_VALUE"
