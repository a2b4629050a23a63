"""Text masters: texts that the program holds, with named places that values are put into once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lorebase.errors import InvalidDefinitionError, MissingFieldError, UsageError

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}")


def missing_field_error(name: str) -> Exception:
    """The error of a master whose program declared no other: the field has no value."""
    return MissingFieldError(f"The text master needs a value for the field {name!r}, and none was given.", field=name)


@dataclass(frozen=True, slots=True)
class TextTemplateErrors:
    """How the errors of a master are made.

    Attributes:
        missing_field: Makes the error that is raised for a field without a value; gets the field's name.
    """

    missing_field: Callable[[str], Exception] = missing_field_error


@dataclass(frozen=True, slots=True)
class TextTemplateOptions:
    """What a master may contain.

    Attributes:
        fields: The names that placeholders may have.
        errors: How its errors are made.
    """

    fields: Iterable[str]
    errors: TextTemplateErrors = TextTemplateErrors()


class TextTemplate:
    """A compiled master.

    Attributes:
        fields: The names of its placeholders, each once, in the order in which they first stand.
    """

    __slots__ = ("_errors", "_literals", "_names", "fields")

    def __init__(self, literals: tuple[str, ...], names: tuple[str, ...], errors: TextTemplateErrors) -> None:
        self._literals = literals
        self._names = names
        self._errors = errors
        self.fields: tuple[str, ...] = tuple(dict.fromkeys(names))

    def render(self, values: Mapping[str, str]) -> str:
        """Put each value into its places, in one pass: a value is never looked at again, whatever it looks like.

        Args:
            values: A text for every field of the master, empty ones included. Other keys are not looked at.

        Returns:
            The whole text.

        Raises:
            MissingFieldError: A field has no value; a master defined with `errors.missing_field` raises that instead.
            UsageError: A value is no text; how a number or a date is written depends on the reader's language.
        """
        rendered = [self._literals[0]]
        for name, literal in zip(self._names, self._literals[1:], strict=True):
            rendered += (self._text_of(name, values), literal)
        return "".join(rendered)

    def _text_of(self, name: str, values: Mapping[str, str]) -> str:
        if name not in values:
            raise self._errors.missing_field(name)
        value: object = values[name]
        if not isinstance(value, str):
            raise UsageError(
                f"The field {name!r} of a text master was given {type(value).__name__} instead of a text.",
                remedy="Write the value as a text first.",
                field=name,
            )
        return value


def define_text_template(master: str, options: TextTemplateOptions) -> TextTemplate:
    """Compile a master; `{{name}}` is the place of a field.

    Args:
        master: A text that the program holds. Text that a model wrote is a value and never a master.
        options: The names that may be used, and how errors are made.

    Raises:
        InvalidDefinitionError: The master names a field that `options.fields` does not have, or holds a `{{` that
            begins no well-formed placeholder.
    """
    parts = _PLACEHOLDER.split(master)
    literals, names = tuple(parts[0::2]), tuple(parts[1::2])
    known = frozenset(options.fields)
    unknown = sorted(set(names) - known)
    if unknown:
        raise InvalidDefinitionError(
            f"The text master has places for unknown fields: {', '.join(unknown)}.",
            remedy=f"Use only these: {', '.join(sorted(known)) or 'none'}.",
            fields=unknown,
        )
    if any("{{" in literal for literal in literals):
        raise InvalidDefinitionError(
            "The text master holds `{{` that begins no place for a field.",
            remedy="Write `{{name}}` without spaces; a name has the letters A to Z, digits and `_`, no digit first.",
        )
    return TextTemplate(literals, names, options.errors)
