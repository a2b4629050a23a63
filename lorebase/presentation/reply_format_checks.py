"""Ready checks of reply formats: how many bubbles, none of them blank, and how much text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from lorebase.errors import InvalidDefinitionError
from lorebase.operation import CheckResult, Issue, result_of
from lorebase.presentation.bubbles import is_blank, reply_bubble_texts

ReplyCheck: TypeAlias = Callable[[str], CheckResult[str]]
"""Looks at the text of a reply, at once. A result with a value puts that text in its place."""


def bubbles(total_limit: int) -> ReplyCheck:
    """The check that a reply has at most `total_limit` bubbles (at least 1), and no blank ones.

    Issues: TOO_MANY_BUBBLES, and BLANK_BUBBLE for each with its position from 0 as path.

    Raises:
        InvalidDefinitionError: `total_limit` is below 1.
    """
    _refuse_below_one("total_limit", total_limit)

    def check(text: str) -> CheckResult[str]:
        texts = reply_bubble_texts(text)
        issues = [
            Issue(code="BLANK_BUBBLE", message=f"Bubble {at + 1} of {len(texts)} is blank.", path=(at,))
            for at, bubble in enumerate(texts)
            if is_blank(bubble)
        ]
        if len(texts) > total_limit:
            message = f"The reply has {len(texts)} bubbles; at most {total_limit} are allowed."
            issues.append(Issue(code="TOO_MANY_BUBBLES", message=message))
        return result_of(tuple(issues))

    return check


def text_budget(max_chars: int) -> ReplyCheck:
    """The check that a reply has at most `max_chars` code points (at least 1), line breaks between bubbles included.

    Issue: TEXT_TOO_LONG.

    Raises:
        InvalidDefinitionError: `max_chars` is below 1.
    """
    _refuse_below_one("max_chars", max_chars)

    def check(text: str) -> CheckResult[str]:
        if len(text) <= max_chars:
            return result_of(())
        message = f"The reply has {len(text)} characters; at most {max_chars} are allowed."
        return result_of((Issue(code="TEXT_TOO_LONG", message=message),))

    return check


def _refuse_below_one(name: str, limit: int) -> None:
    if limit < 1:
        raise InvalidDefinitionError(f"A reply format has {name}={limit}.", remedy="Give a limit of at least 1.")
