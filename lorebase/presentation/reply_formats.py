"""Reply formats: which checks a reply has to pass that was written after a certain prompt template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lorebase.errors import ContractError, InvalidDefinitionError
from lorebase.operation import UNSET, CheckResult, Failed, Issue, Passed, ReadonlyCatalog, refuse_awaitable, result_of
from lorebase.presentation.reply_format_checks import ReplyCheck


@dataclass(frozen=True, slots=True)
class ReplyFormatDefinition:
    """A format, bound to one prompt template.

    Attributes:
        id: Its identity.
        template_id: The prompt template after which replies have this format.
        check_ids: The checks in the order in which they run, at least one.
    """

    id: str
    template_id: str
    check_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What is known of a reply before it is looked at.

    Attributes:
        template_id: The prompt template after which it was written; None where there was none.
    """

    template_id: str | None


class ReplyFormat:
    """A compiled format.

    Attributes:
        definition: What it was compiled from.
    """

    __slots__ = ("_checks", "definition")

    def __init__(self, definition: ReplyFormatDefinition, checks: tuple[tuple[str, ReplyCheck], ...]) -> None:
        self.definition = definition
        self._checks = checks

    @property
    def id(self) -> str:
        """Identity of the format."""
        return self.definition.id

    def inspect(self, text: str) -> CheckResult[str]:
        """Run every check in order; a text that one puts in place is what the next one sees.

        Returns:
            All issues in the order in which they were found, each with its check as source; with a value if and only
            if a check gave one.

        Raises:
            ContractError: A check gave something else than a result, or a value that is no text.
        """
        issues: list[Issue] = []
        value = text
        is_replaced = False
        for check_id, check in self._checks:
            result = _result_of(check_id, check, value)
            issues += (issue.from_check(check_id) for issue in result.issues)
            if result.value is not UNSET:
                value, is_replaced = result.value, True
        return result_of(tuple(issues), value if is_replaced else UNSET)


class ReplyFormats:
    """Formats by the prompt template they are bound to."""

    __slots__ = ("_by_template",)

    def __init__(self, formats: Iterable[ReplyFormat]) -> None:
        self._by_template = {format_.definition.template_id: format_ for format_ in formats}

    def resolve(self, context: ReplyContext) -> ReplyFormat | None:
        """The format of the reply's prompt template, or None where it has none or no format is bound to it."""
        return None if context.template_id is None else self._by_template.get(context.template_id)


def define_reply_formats(formats: Iterable[ReplyFormatDefinition], checks: Mapping[str, ReplyCheck]) -> ReplyFormats:
    """Compile formats over the checks they name.

    Args:
        formats: The formats; each prompt template has at most one.
        checks: The checks by id.

    Raises:
        InvalidDefinitionError: Blank or repeated ids, two formats of one template, no checks, or unknown ones.
    """
    registered = ReadonlyCatalog("reply format", formats).values()
    bound: dict[str, str] = {}
    for definition in registered:
        other = bound.setdefault(definition.template_id, definition.id)
        if other != definition.id or not definition.template_id.strip():
            raise InvalidDefinitionError(
                f"The reply format {definition.id!r} is bound to the template {definition.template_id!r}"
                + (f", and so is {other!r}." if other != definition.id else "."),
                remedy="Bind each format to a template of its own.",
            )
    return ReplyFormats([ReplyFormat(definition, _checks_of(definition, checks)) for definition in registered])


def _checks_of(
    definition: ReplyFormatDefinition, checks: Mapping[str, ReplyCheck]
) -> tuple[tuple[str, ReplyCheck], ...]:
    unknown = [check_id for check_id in definition.check_ids if check_id not in checks]
    if unknown or not definition.check_ids or len(set(definition.check_ids)) != len(definition.check_ids):
        raise InvalidDefinitionError(
            f"The reply format {definition.id!r} has the checks {list(definition.check_ids)}.",
            remedy=f"Name at least one, each once, out of these: {', '.join(checks) or 'none'}.",
            unknown=unknown,
        )
    return tuple((check_id, checks[check_id]) for check_id in definition.check_ids)


def _result_of(check_id: str, check: ReplyCheck, text: str) -> CheckResult[str]:
    result: object = refuse_awaitable(check(text), f"The reply check {check_id!r}")
    if not isinstance(result, Passed | Failed):
        raise ContractError(f"The reply check {check_id!r} gave {type(result).__name__} instead of a check result.")
    if result.value is not UNSET and not isinstance(result.value, str):
        raise ContractError(f"The reply check {check_id!r} put {type(result.value).__name__} in place of the text.")
    return result
