"""Reply formats and their ready checks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from lorebase.errors import ContractError, InvalidDefinitionError
from lorebase.operation import UNSET, CheckResult, Failed, Issue, Passed
from lorebase.presentation import reply_format_checks
from lorebase.presentation.reply_format_checks import ReplyCheck
from lorebase.presentation.reply_formats import ReplyContext, ReplyFormat, ReplyFormatDefinition, define_reply_formats


def fault(code: str) -> Failed[str]:
    return Failed(issues=(Issue(code=code, message="wrong"),))


def passes(text: str) -> CheckResult[str]:
    return Passed()


def one_format(checks: Mapping[str, ReplyCheck]) -> ReplyFormat:
    formats = define_reply_formats([ReplyFormatDefinition("chat", "chat-prompt", tuple(checks))], checks)
    found = formats.resolve(ReplyContext("chat-prompt"))
    assert found is not None
    return found


def test_a_format_is_found_by_its_prompt_template_and_by_nothing_else() -> None:
    """A-097."""
    definitions = [ReplyFormatDefinition("chat", "p1", ("ok",)), ReplyFormatDefinition("mail", "p2", ("ok",))]
    formats = define_reply_formats(definitions, {"ok": passes})

    found = [formats.resolve(ReplyContext(template_id)) for template_id in ("p1", "p2", "P1", "chat", "", None)]

    assert [format_.id if format_ else None for format_ in found] == ["chat", "mail", None, None, None, None]


def test_issues_of_all_checks_come_in_order_with_their_source() -> None:
    """A-097, A-043."""
    format_ = one_format({"z": lambda _: fault("FIRST"), "ok": passes, "a": lambda _: fault("SECOND")})

    result = format_.inspect("x")

    assert [(issue.code, issue.source) for issue in result.issues] == [("FIRST", "z"), ("SECOND", "a")]
    assert (result.status, result.value) == ("failed", UNSET)


def test_a_corrected_text_is_what_the_next_check_sees_and_what_comes_back() -> None:
    """A-042."""
    seen: list[str] = []

    def looks(text: str) -> CheckResult[str]:
        seen.append(text)
        return Passed()

    result = one_format({"strip": lambda text: Passed(value=text.strip()), "look": looks}).inspect(" a ")

    assert seen == ["a"]
    assert result == Passed(value="a")


def test_an_empty_text_put_in_place_is_a_value() -> None:
    """A-049."""
    assert one_format({"wipe": lambda _: Passed(value="")}).inspect("a") == Passed(value="")


async def test_a_check_that_has_to_be_awaited_is_refused() -> None:
    """A-045."""

    async def check(text: str) -> CheckResult[str]:
        return Passed()

    with pytest.raises(ContractError, match="'slow' gave something to await"):
        one_format({"slow": check}).inspect("x")
    with pytest.raises(ContractError, match="'later' gave something to await"):
        one_format({"later": lambda _: asyncio.get_running_loop().create_future()}).inspect("x")


@pytest.mark.parametrize("given", [None, True, Passed(value=None), Passed(value=3)])
def test_a_check_that_gives_no_result_for_a_text_is_refused(given: object) -> None:
    with pytest.raises(ContractError, match="'odd'"):
        one_format({"odd": lambda _: given}).inspect("x")


@pytest.mark.parametrize("error", [TimeoutError(), asyncio.CancelledError(), ZeroDivisionError()])
def test_what_a_check_raises_is_no_issue_of_the_text(error: BaseException) -> None:
    """A-044."""

    def check(text: str) -> CheckResult[str]:
        raise error

    with pytest.raises(type(error)):
        one_format({"broken": check}).inspect("x")


@pytest.mark.parametrize(
    "definitions",
    [
        [ReplyFormatDefinition("a", "p", ())],
        [ReplyFormatDefinition("a", "p", ("unknown",))],
        [ReplyFormatDefinition("a", "p", ("ok", "ok"))],
        [ReplyFormatDefinition("a", " ", ("ok",))],
        [ReplyFormatDefinition("", "p", ("ok",))],
        [ReplyFormatDefinition("a", "p", ("ok",)), ReplyFormatDefinition("b", "p", ("ok",))],
        [ReplyFormatDefinition("a", "p", ("ok",)), ReplyFormatDefinition("a", "q", ("ok",))],
    ],
)
def test_formats_that_cannot_work_are_refused(definitions: list[ReplyFormatDefinition]) -> None:
    with pytest.raises(InvalidDefinitionError):
        define_reply_formats(definitions, {"ok": passes})


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a\n\nb", []),
        ("a\n\nb\n\nc", ["TOO_MANY_BUBBLES"]),
        ("a\n\n", ["BLANK_BUBBLE"]),
        ("", ["BLANK_BUBBLE"]),
        ("\n\n\n\n", ["BLANK_BUBBLE"]),
        ("\na\n\n", ["BLANK_BUBBLE", "BLANK_BUBBLE", "TOO_MANY_BUBBLES"]),
        ("你好\n\n\u200b", ["BLANK_BUBBLE", "BLANK_BUBBLE", "TOO_MANY_BUBBLES"]),
    ],
)
def test_bubbles_are_counted_and_none_may_be_blank(text: str, codes: list[str]) -> None:
    """A-098."""
    result = reply_format_checks.bubbles(2)(text)

    assert [issue.code for issue in result.issues] == codes


def test_a_blank_bubble_is_named_by_its_position() -> None:
    """A-048, A-098."""
    result = reply_format_checks.bubbles(9)("a\n\n\nb")

    assert [issue.path for issue in result.issues] == [(1,)]


@pytest.mark.parametrize(
    ("text", "status"), [("知识库", "passed"), ("😀😀😀", "passed"), ("abcd", "failed"), ("", "passed")]
)
def test_the_text_budget_counts_characters(text: str, status: str) -> None:
    """A-098."""
    assert reply_format_checks.text_budget(3)(text).status == status


@pytest.mark.parametrize("check", [reply_format_checks.bubbles, reply_format_checks.text_budget])
def test_limits_below_one_are_refused(check: object) -> None:
    with pytest.raises(InvalidDefinitionError, match="at least 1"):
        check(0)
