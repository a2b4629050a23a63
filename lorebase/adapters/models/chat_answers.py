"""Reading what a chat completions endpoint answers, whole or in events: text, thought, finish, refusal, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from lorebase.adapters.models.endpoint_errors import no_answer_of_the_api
from lorebase.errors import DeclinedAnswerError, MalformedAnswerError, TruncatedAnswerError
from lorebase.models.chat import ChatReply
from lorebase.models.chat_stream import MAX_TOKENS, STOP, TOOL_CALLS, TokenUsage
from lorebase.models.ports import ModelUsage
from lorebase.models.thinking import without_thinking

CONTENT_FILTER = "content-filter"

_FINISHES = {
    "stop": STOP,
    "eos": STOP,
    "end_turn": STOP,
    "stop_sequence": STOP,
    "length": MAX_TOKENS,
    "max_tokens": MAX_TOKENS,
    "model_length": MAX_TOKENS,
    "tool_calls": TOOL_CALLS,
    "function_call": TOOL_CALLS,
    "content_filter": CONTENT_FILTER,
    "safety": CONTENT_FILTER,
}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What one request brought.

    Attributes:
        text: With a thought at its head, if the model writes it there.
        reasoning: Thought that came in a field of its own.
        refusal: The model's own refusal; empty for none.
        finish: As `chat_stream` names it, or "content-filter".
        usage: As the endpoint says; None where it does not.
    """

    text: str
    reasoning: str
    refusal: str
    finish: str
    usage: TokenUsage | None


def read_chat_answer(body: bytes, endpoint: str) -> ChatAnswer | Mapping[str, Any]:
    """The answer, or the error object that stands in its place although the status is 200.

    Raises:
        MalformedAnswerError: It is neither.
    """
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise no_answer_of_the_api(endpoint) from error
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not choices and isinstance(answer, dict) and answer.get("error"):
        return _error_object(answer["error"])
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise MalformedAnswerError(f"The answer of the endpoint {endpoint!r} has no message.", dependency=endpoint)
    if choice.get("finish_reason") == "error":
        return _error_object(choice.get("error") or "the model failed while it answered")
    return ChatAnswer(
        text=text_of(message.get("content")),
        reasoning=text_of(message.get("reasoning_content") or message.get("reasoning")),
        refusal=text_of(message.get("refusal")),
        finish=finish_of(choice.get("finish_reason")),
        usage=usage_of(answer.get("usage")),
    )


def _error_object(error: object) -> Mapping[str, Any]:
    return error if isinstance(error, Mapping) else {"message": str(error)}


def text_of(content: object) -> str:
    """The text of a content: a text, or a list of blocks that may hold texts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (block.get("text") for block in content if isinstance(block, Mapping))
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def finish_of(reason: object) -> str:
    """The finish as `chat_stream` names it; one that is not known stays as it is, none at all is a stop."""
    name = reason if isinstance(reason, str) and reason else "stop"
    return _FINISHES.get(name.lower(), name)


def usage_of(usage: object) -> TokenUsage | None:
    """Disjoint counts from the API's, whose sums hold the parts; None where there are none."""
    if not isinstance(usage, Mapping):
        return None
    sent, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(sent, int) or not isinstance(answered, int):
        return None
    cached = min(sent, _part(usage, "prompt_tokens_details", "cached_tokens"))
    thought = min(answered, _part(usage, "completion_tokens_details", "reasoning_tokens"))
    return TokenUsage(sent - cached, answered - thought, cache_read_tokens=cached, reasoning_tokens=thought)


def _part(usage: Mapping[str, Any], details: str, name: str) -> int:
    parts = usage.get(details)
    count = parts.get(name) if isinstance(parts, Mapping) else None
    return max(count, 0) if isinstance(count, int) else 0


def reply_of(answer: ChatAnswer, usage: ModelUsage, *, endpoint: str, model: str) -> ChatReply:
    """The reply that an answer is.

    Args:
        answer: What came.
        usage: What it took.
        endpoint: Name for the sentences.
        model: Likewise.

    Raises:
        DeclinedAnswerError: The model or a filter declined.
        TruncatedAnswerError: The tokens ended before any text.
        MalformedAnswerError: It holds no text.
    """
    facts: dict[str, Any] = {
        "dependency": endpoint,
        "model": model,
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    text = without_thinking(answer.text)
    if answer.finish == CONTENT_FILTER:
        raise DeclinedAnswerError(f"A content filter of the endpoint {endpoint!r} withheld the answer.", **facts)
    if answer.refusal and not text.strip():
        raise DeclinedAnswerError(f"The model {model!r} declined to answer.", **facts)
    if not text.strip() and answer.finish == MAX_TOKENS:
        raise TruncatedAnswerError(
            f"The tokens of the model {model!r} ended before it wrote any text.",
            remedy="Raise max_output_tokens of the recipe's chat model, or lower its reasoning_effort.",
            **facts,
        )
    if not text.strip():
        raise MalformedAnswerError(
            f"The model {model!r} gave no text; its finish was {answer.finish}.",
            remedy="Look whether it is a chat model.",
            **facts,
        )
    return ChatReply.of(text, usage, answer.finish)
