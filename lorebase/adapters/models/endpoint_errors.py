"""What an endpoint answers instead of an answer, as Lorebase's errors: who has to act, and how long to wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from lorebase.errors import (
    DeclinedAnswerError,
    DependencyError,
    MalformedAnswerError,
    RateLimitedError,
    RefusedError,
    UnavailableError,
)

_SAID_CHARS = 300
_TOO_MANY_TOKENS = re.compile(
    r"too (many (input )?tokens|long|large)|tokens? (per|in) (a |one |each )?request|max\w*[\w ]* (length|tokens)"
    r"|context (length|window|size)|exceed",
    re.IGNORECASE,
)
_NAN = re.compile(r"\bnan\b", re.IGNORECASE)
_TRY_AGAIN_IN = re.compile(
    r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?\s?(?:ms|h|m|s)[a-z]*\s?)+)", re.IGNORECASE
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s?(ms|h|m|s)", re.IGNORECASE)
_SECONDS_OF = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_OUT_OF_QUOTA = "insufficient_quota"
_DECLINED = frozenset({"content_filter", "content_policy_violation", "data_inspection_failed"})


class Fault(StrEnum):
    """What a refusal says about the texts of the request; stands in `facts["fault"]`."""

    TOO_MANY_TOKENS = "TOO_MANY_TOKENS"
    NAN = "NAN"


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """What an endpoint answered instead of what was asked for.

    Attributes:
        status: HTTP status.
        said: Its sentence; see `said_by`.
        code: Its own code, such as "insufficient_quota".
        headers: Of the answer, in lower case.
    """

    status: int
    said: str
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def problem_of(answer: StatusAnswer, *, endpoint: str, model: str, now: datetime) -> DependencyError:
    """The error of the tree that stands for an answer.

    Args:
        answer: What one attempt brought.
        endpoint: Name of the endpoint in the workspace.
        model: The model that was asked for.
        now: Against which a Retry-After date is read.
    """
    status, said = answer.status, answer.said
    facts: dict[str, Any] = {"dependency": endpoint, "model": model, "status": status, "said": said}
    if answer.code in _DECLINED:
        return DeclinedAnswerError(f"The endpoint {endpoint!r} declined the request: {said}", **facts)
    if status == 429 and answer.code != _OUT_OF_QUOTA:  # noqa: PLR2004 (HTTP statuses are names)
        return RateLimitedError(
            f"The endpoint {endpoint!r} asked to wait (429).",
            remedy="Lower its requests_per_minute or tokens_per_minute.",
            retry_after_seconds=retry_after_seconds(answer.headers, said, now),
            **facts,
        )
    if status >= 500 and _NAN.search(said):  # noqa: PLR2004
        return RefusedError(
            f"The endpoint {endpoint!r} computed no number for a text ({status}).", fault=Fault.NAN.value, **facts
        )
    if status in (408, 409) or status >= 500:  # noqa: PLR2004
        return UnavailableError(
            f"The endpoint {endpoint!r} cannot serve now ({status}).",
            retry_after_seconds=retry_after_seconds(answer.headers, said, now),
            **facts,
        )
    if status == 413 or (status in (400, 422) and _TOO_MANY_TOKENS.search(said)):  # noqa: PLR2004
        return RefusedError(
            f"The endpoint {endpoint!r} refused a request as too large ({status}).",
            remedy="Lower max_tokens_per_request of the endpoint, or split the texts smaller.",
            fault=Fault.TOO_MANY_TOKENS.value,
            **facts,
        )
    return RefusedError(
        f"The endpoint {endpoint!r} refused the request for model {model!r} ({status}): {said or 'no reason given'}",
        remedy=_REMEDIES.get(status, "Look at the model's name and the settings of the recipe."),
        **facts,
    )


_REMEDIES = {
    401: "Set the endpoint's api_key.",
    403: "Let the endpoint's api_key use this model.",
    404: "Correct the model's name, or the endpoint's base_url.",
    429: "The account has no quota left; charge it.",
}


def said_by(status: int, message: object, secret: str) -> str:
    """An endpoint's sentence as it may stand in a report: short, and without the key."""
    if status == 401:  # noqa: PLR2004
        return "the api_key is not accepted"  # endpoints repeat parts of the key here
    text = str(message or "")
    return (text.replace(secret, "***") if secret else text)[:_SAID_CHARS]


def unreachable(endpoint: str, *, reached: bool) -> UnavailableError:
    """The error of a connection that was not made, or broke off."""
    return UnavailableError(
        f"The endpoint {endpoint!r} could not be reached, or broke the connection off.",
        remedy="Look at its base_url and whether it runs.",
        dependency=endpoint,
        reached=reached,
    )


def no_answer_of_the_api(endpoint: str) -> MalformedAnswerError:
    """The error of an answer that is something else altogether, such as a web page."""
    return MalformedAnswerError(
        f"The endpoint {endpoint!r} answered something that is no answer of the OpenAI API.",
        remedy="Look whether its base_url ends with the version, such as /v1.",
        dependency=endpoint,
    )


def retry_after_seconds(headers: Mapping[str, str], said: str, now: datetime) -> float | None:
    """How long the endpoint asks to wait: by header (milliseconds, seconds or date), or in its sentence.

    Returns:
        Seconds, not negative; None where it does not say, or says what cannot be read.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000.0
    header = headers.get("retry-after")
    if (seconds := _number(header)) is not None:
        return seconds
    if header is not None and (until := _date(header)) is not None:
        return max(0.0, (until - now).total_seconds())
    if match := _TRY_AGAIN_IN.search(said):
        return sum(float(amount) * _SECONDS_OF[unit.lower()] for amount, unit in _AMOUNT.findall(match.group(1)))
    return None


def _number(header: str | None) -> float | None:
    try:
        number = float(header or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _date(header: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
