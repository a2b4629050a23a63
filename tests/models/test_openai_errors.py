"""How answers of an endpoint become errors, and how the wait that it asks for is read."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx2
import openai
import pytest

from lorebase.adapters.models.endpoint_errors import retry_after_seconds
from lorebase.adapters.models.openai_errors import translated
from lorebase.errors import DependencyError, RateLimitedError, RefusedError, UnavailableError

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "0.25"}, "", 0.25),
        ({"retry-after-ms": "60", "retry-after": "7"}, "", 0.06),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:20 GMT"}, "", 20.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, "", 0.0),
        ({}, "Rate limit reached. Please try again in 60ms. Visit ...", 0.06),
        ({}, "Please try again in 1.5s.", 1.5),
        ({}, "Please try again in 6m0s.", 360.0),
        ({}, "Please retry after 3 seconds.", 3.0),
        ({"retry-after": "soon"}, "Please try again in 2s.", 2.0),
        ({"retry-after": "-5"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({}, "Too many requests", None),
    ],
)
def test_the_wait_is_read_from_header_or_sentence(headers: dict[str, str], said: str, seconds: float | None):
    assert retry_after_seconds(headers, said, NOW) == pytest.approx(seconds)


def status_error(status: int, message: str, code: str | None = None) -> openai.APIStatusError:
    request = httpx2.Request("POST", "http://127.0.0.1/v1/embeddings")
    response = httpx2.Response(status, request=request)
    return openai.APIStatusError(message, response=response, body={"message": message, "code": code})


def translate(error: openai.APIError) -> DependencyError:
    return translated(error, endpoint="fake", model="m", secret="sk-very-secret", now=NOW)


@pytest.mark.parametrize(
    ("status", "message", "code", "kind"),
    [
        (429, "Rate limit reached", "rate_limit_exceeded", RateLimitedError),
        (429, "You exceeded your current quota", "insufficient_quota", RefusedError),
        (401, "Incorrect API key", None, RefusedError),
        (403, "Forbidden", None, RefusedError),
        (404, "The model `x` does not exist", "model_not_found", RefusedError),
        (400, "dimensions is not supported", None, RefusedError),
        (408, "Timeout", None, UnavailableError),
        (500, "Internal error", None, UnavailableError),
        (503, "Overloaded", None, UnavailableError),
    ],
)
def test_status_decides_who_has_to_act(status: int, message: str, code: str | None, kind: type[DependencyError]):
    error = translate(status_error(status, message, code))

    assert type(error) is kind
    assert error.facts["dependency"] == "fake"
    assert error.facts["status"] == status


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Requested 600000 tokens, max 300000 tokens per request"),
        (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
        (400, "Invalid 'input': maximum input length is 8192 tokens."),
        (413, "Payload too big"),
        (422, "inputs must have less than 512 tokens. Given: 700; input is too long"),
    ],
)
def test_refusals_of_too_many_tokens_are_known_by_what_they_say(status: int, message: str):
    assert translate(status_error(status, message)).facts["fault"] == "TOO_MANY_TOKENS"


def test_error_that_mentions_nan_is_not_tried_again():
    error = translate(status_error(500, "failed to encode response: json: unsupported value: NaN"))

    assert not error.retryable
    assert error.facts["fault"] == "NAN"


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_the_key_is_in_no_error_even_if_the_endpoint_repeats_it(status: int):
    error = translate(status_error(status, "Incorrect API key provided: sk-very-secret"))

    assert "sk-very-secret" not in f"{error!s} {error!r} {error.facts}"
