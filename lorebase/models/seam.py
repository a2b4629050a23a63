"""The model seam: a request as a host platform's language service takes it, and the text of its stream of chunks.

A host hands Lorebase a function from such a request to a stream. Chunks may be mappings, as they come over the wire, or
the chunks of `lorebase.models.chat_stream`. A failure of the model is the stream's last chunk and no exception: a text
that never came must not look like an empty answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass
from typing import Any

from lorebase.errors import ModelSeamError
from lorebase.models.chat_stream import (
    ABORTED,
    ERROR,
    MAX_TOKENS,
    FinishChunk,
    FinishReason,
    LlmFailure,
    TextDelta,
)

_NO_CODE = "UNKNOWN"
_NO_MESSAGE = "the model gave no reason"


@dataclass(frozen=True, slots=True)
class CollectedText:
    """A stream's text.

    Attributes:
        text: Untrimmed, never empty.
        finish: The kind of its finish; empty where no finish chunk came.
        truncated: Whether it ends where the tokens ended: JSON in it may be half there.
    """

    text: str
    finish: str
    truncated: bool


def session_id_of(base_id: str) -> str:
    """The session of a knowledge base: always the same, so that routes and prompt caches stay with it."""
    return f"knowledge:{base_id}"


def build_model_request(
    *, provider: str, model: str, prompt: str, session_id: str, system: str = "", reasoning_effort: str = ""
) -> dict[str, Any]:
    """The request on the wire, its keys as the platform spells them.

    Args:
        provider: The platform's name of the provider.
        model: Its name of the model.
        prompt: The one message of the user; sent as a list of blocks, because a plain text is refused.
        session_id: See `session_id_of`; some routes refuse a request without one.
        system: Left out if empty.
        reasoning_effort: Left out if empty.

    Raises:
        ValueError: `session_id` is blank.
    """
    if not session_id.strip():
        msg = "a model request needs a session_id, such as session_id_of(base_id)"
        raise ValueError(msg)
    request: dict[str, Any] = {"provider": provider, "model": model}
    if reasoning_effort:
        request["reasoningEffort"] = reasoning_effort
    if system:
        request["system"] = system
    request["sessionId"] = session_id
    request["messages"] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    return request


async def collect_model_text(stream: AsyncIterable[object]) -> str:
    """The text of a stream, as `collect_model_result`."""
    return (await collect_model_result(stream)).text


async def collect_model_result(stream: AsyncIterable[object]) -> CollectedText:
    """The text of a stream and how it ended.

    Text comes from text deltas alone: thought, tool calls, and chunks that are none, are passed over. The first finish
    counts, and nothing after it.

    Raises:
        ModelSeamError: The finish says that the model failed, even if some text had come; or no text came at all. The
            message begins with what happened and is fit for a report.
    """
    texts: list[str] = []
    finish: FinishReason | None = None
    async for chunk in stream:
        if finish is not None:
            continue  # read to its end, so that the stream can close what it holds
        if (text := _text_of(chunk)) is not None:
            texts.append(text)
        finish = _finish_of(chunk)
    if finish is not None and finish.kind in (ABORTED, ERROR):
        raise _failed(finish)
    if not (text := "".join(texts)):
        raise _silent(finish)
    kind = finish.kind if finish else ""
    return CollectedText(text, kind, truncated=kind == MAX_TOKENS)


def _text_of(chunk: object) -> str | None:
    match chunk:
        case TextDelta(text=str(text)):
            return text
        case Mapping() if chunk.get("type") == TextDelta.type and isinstance(chunk.get("text"), str):
            return str(chunk["text"])
        case _:
            return None


def _finish_of(chunk: object) -> FinishReason | None:
    match chunk:
        case FinishChunk():
            return chunk.reason
        case Mapping() if chunk.get("type") == FinishChunk.type:
            reason = chunk.get("reason")
            if not isinstance(reason, Mapping):
                return FinishReason("")
            return FinishReason(_word(reason.get("kind")), _failure_of(reason.get("failure")))
        case _:
            return None


def _failure_of(failure: object) -> LlmFailure | None:
    if not isinstance(failure, Mapping):
        return None
    status = failure.get("status")
    wait = failure.get("providerRetryAfterMs")
    return LlmFailure(
        code=_word(failure.get("code")),
        message=_word(failure.get("message")),
        status=status if isinstance(status, int) else None,
        retry_after_seconds=wait / 1000 if isinstance(wait, int | float) else None,
        request_id=_word(failure.get("requestId")),
    )


def _word(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _failed(finish: FinishReason) -> ModelSeamError:
    failure = finish.failure or LlmFailure("", "")
    code = failure.code.strip() or _NO_CODE
    message = failure.message.strip() or _NO_MESSAGE
    return ModelSeamError(
        f"{code}: {message}", dependency="model", failure_code=code, kind=finish.kind, status=failure.status
    )


def _silent(finish: FinishReason | None) -> ModelSeamError:
    if finish is None:
        return ModelSeamError("The model gave no text, and its stream ended without a finish.", dependency="model")
    kind = finish.kind or "unnamed"
    return ModelSeamError(f"The model gave no text; its finish was {kind}.", dependency="model", kind=kind)
