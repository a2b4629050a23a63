"""Asking a chat model for a value of a type: the schema goes out, the answer is read, checked, and asked for again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from lorebase.errors import MalformedAnswerError, TruncatedAnswerError
from lorebase.models.call_ledger import RemembersReplies
from lorebase.models.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from lorebase.models.ports import ModelUsage
from lorebase.models.structured_json import json_candidates

ValueT = TypeVar("ValueT")

DEFAULT_ATTEMPTS = 3
_SAID_CHARS = 2000  # of a malformed answer, sent back with its faults
_FAULTS_TOLD = 8


async def ask_structured(
    model: ChatModel, request: ChatRequest, answer_type: type[ValueT], *, attempts: int = DEFAULT_ATTEMPTS
) -> tuple[ValueT, ModelUsage]:
    """Ask for a value.

    A malformed answer is told its faults and asked again. An answer that a model with a memory gave is forgotten if it
    is malformed; a good one, got by asking again, is remembered for the request itself.

    Args:
        model: Who is asked.
        request: What; its `schema` is overwritten.
        answer_type: A pydantic model, or another type whose JSON is an object or an array.
        attempts: Most times it is asked, at least 1.

    Returns:
        The value, and what all attempts took.

    Raises:
        MalformedAnswerError: No attempt gave such a value; says why. The facts hold what the attempts took.
        TruncatedAnswerError: The answer ended with its tokens; not asked again, since it would end there again.
        DeclinedAnswerError: The model declined; likewise.
        DependencyError: As `ChatModel.complete`.
    """
    key: Any = answer_type  # to mypy a type[ValueT] is not hashable
    adapter: TypeAdapter[ValueT] = _adapter_of(key)
    asked = first = replace(request, schema=_schema_of(key))
    used = ModelUsage()
    faults = ""
    for attempt in range(1, attempts + 1):
        reply = await model.complete(asked)
        used += reply.usage
        if reply.truncated:
            raise _truncated(model, used)
        value, faults = _read(reply.text, adapter.validate_json)
        if value is not None:
            if attempt > 1 and isinstance(model, RemembersReplies):
                await model.keep(first, reply)
            return value, used
        if isinstance(model, RemembersReplies):
            await model.discard(asked)
        asked = _asked_again(first, reply, faults)
    raise MalformedAnswerError(
        f"The model {model.profile.model!r} gave no answer of the form asked for in {attempts} attempts: {faults}.",
        remedy="Use a model that follows a JSON schema.",
        dependency=model.profile.provider,
        **_spent(used),
    )


@cache  # made again for each of ten thousand chunks it would take longer than reading the answers
def _adapter_of(answer_type: Any) -> TypeAdapter[Any]:  # noqa: ANN401 (types cannot be told from other keys)
    return TypeAdapter(answer_type)


@cache
def _schema_of(answer_type: Any) -> dict[str, Any]:  # noqa: ANN401 (as above)
    return _adapter_of(answer_type).json_schema()


async def forget_answer(model: ChatModel, request: ChatRequest, answer_type: type[ValueT]) -> None:
    """Let a model with a memory forget what `ask_structured` got: an answer of the right form that was of no use."""
    if isinstance(model, RemembersReplies):
        key: Any = answer_type  # as in `ask_structured`
        await model.discard(replace(request, schema=_schema_of(key)))


def _read(text: str, validate: Callable[[bytes], ValueT]) -> tuple[ValueT | None, str]:
    """The first candidate that is valid; otherwise what is wrong with the likeliest one."""
    faults = ""
    for candidate in json_candidates(text):
        try:
            return validate(to_json(candidate)), ""
        except ValidationError as error:
            faults = faults or _in_words(error)
        except PydanticSerializationError:
            faults = faults or "it holds a text that is no Unicode"
    return None, faults or "it holds no whole JSON object or array"


def _in_words(error: ValidationError) -> str:
    """The faults with their places, without the values, which may be of any length."""
    told = [
        f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in error.errors()[:_FAULTS_TOLD]
    ]
    left = error.error_count() - len(told)
    return "; ".join([*told, f"{left} more"] if left > 0 else told)


def _asked_again(first: ChatRequest, reply: ChatReply, faults: str) -> ChatRequest:
    """The first request, its last malformed answer, and what is wrong with it; never more than one answer is shown."""
    schema = orjson.dumps(first.schema, option=orjson.OPT_SORT_KEYS).decode()
    correction = (
        f"That answer cannot be read: {faults}. Answer the request again, with nothing but JSON that follows this "
        f"schema:\n{schema}"
    )
    said = ChatMessage("assistant", reply.text[:_SAID_CHARS])
    return replace(first, prompt="", messages=(*first.turns, said, ChatMessage("user", correction)))


def _truncated(model: ChatModel, used: ModelUsage) -> TruncatedAnswerError:
    return TruncatedAnswerError(
        f"The answer of the model {model.profile.model!r} ended with its tokens before it was whole.",
        remedy="Raise max_output_tokens of the recipe's chat model, or ask about less text at once.",
        dependency=model.profile.provider,
        **_spent(used),
    )


def _spent(used: ModelUsage) -> dict[str, int]:
    return {"calls": used.calls, "input_tokens": used.input_tokens, "output_tokens": used.output_tokens}
