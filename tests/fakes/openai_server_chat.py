"""What the fake OpenAI-compatible server answers to chats and rerankings, and the orders that it can be given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

CHAT_KINDS = ("chat", "refuse_field", "error_body", "no_choices", "no_finish")
"""Kinds of orders that concern chats only."""


@dataclass(slots=True)
class Script:
    """One order to misbehave; see the table of `openai_server`."""

    kind: str
    times: int | None = 1
    marker: str | None = None
    retry_after: str | None = None
    message: str = ""
    code: str = ""
    status: int = 500
    width: int = 8
    limit: int = 0
    content: str = ""
    finish: str = "stop"
    reasoning: str = ""
    refusal: str = ""
    field: str = ""
    tells_usage: bool = True
    scores: tuple[float, ...] = ()

    def applies_to(self, texts: Sequence[str]) -> bool:
        return self.times != 0 and (self.marker is None or any(self.marker in text for text in texts))


def tokens_of(texts: Sequence[str]) -> int:
    return sum(-(-len(text.encode()) // 4) for text in texts)


def refused_field(script: Script | None, body: dict[str, Any]) -> str:
    """The sentence with which a chat request is refused for one of its fields."""
    if script is None or script.kind != "refuse_field" or script.field not in body:
        return ""
    if script.content and body[script.field].get("type") != script.content:
        return ""
    return script.message or f"Unknown field: {script.field}"


def chat_answer(script: Script | None, last_text: str) -> str:
    """What it says: as told, or what it was told last."""
    return script.content if script and script.kind == "chat" else last_text


def _usage(texts: Sequence[str], content: str) -> dict[str, Any]:
    sent, answered = tokens_of(texts), tokens_of([content])
    return {"prompt_tokens": sent, "completion_tokens": answered, "total_tokens": sent + answered}


def chat_completion(script: Script | None, body: dict[str, Any], texts: Sequence[str], content: str) -> dict[str, Any]:
    if script and script.kind == "error_body":
        return {"error": {"message": script.message or "scripted error", "code": script.status}}
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if script and script.reasoning:
        message["reasoning_content"] = script.reasoning
    if script and script.refusal:
        message["refusal"] = script.refusal
    choice = {"index": 0, "message": message, "finish_reason": script.finish if script else "stop"}
    completion = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [] if script and script.kind == "no_choices" else [choice],
    }
    return completion if script and not script.tells_usage else completion | {"usage": _usage(texts, content)}


async def chat_events(
    script: Script | None, body: dict[str, Any], texts: Sequence[str], content: str
) -> AsyncIterator[bytes]:
    def event(choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        chunk: dict[str, Any] = {
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": body["model"],
            "choices": choices,
        }
        if usage is not None:
            chunk["usage"] = usage
        return b"data: " + orjson.dumps(chunk) + b"\n\n"

    def delta(finish: str | None = None, **fields: str) -> bytes:
        return event([{"index": 0, "delta": fields, "finish_reason": finish}])

    kind = script.kind if script else ""
    if kind == "error_body" and script:
        yield b"data: " + orjson.dumps({"error": {"message": script.message, "code": script.status}}) + b"\n\n"
        return
    if script and script.reasoning:
        yield delta(reasoning_content=script.reasoning)
    if script and script.refusal:
        yield delta(refusal=script.refusal)
    sent = content[: len(content) // 2] if kind == "cut" else content
    for start in range(0, len(sent), 8):
        yield delta(content=sent[start : start + 8])
    if kind == "cut":
        raise ConnectionAbortedError("scripted cut")
    if kind != "no_finish":
        yield delta(script.finish if script else "stop")
    if (body.get("stream_options") or {}).get("include_usage") and (script is None or script.tells_usage):
        yield event([], _usage(texts, content))
    yield b"data: [DONE]\n\n"


def rerank_answer(script: Script | None, body: dict[str, Any]) -> dict[str, Any]:
    """Scores by shared characters, best first, in the shape of Cohere and Jina."""
    words = set(body["query"])
    scores = [len(words & set(text)) / max(1, len(words)) for text in body["documents"]]
    if script and script.kind == "scores":
        scores = list(script.scores)
    results = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
    results.sort(key=lambda result: -result["relevance_score"])
    if script and script.kind == "double_item":
        results.append(results[0])
    return {"model": body.get("model"), "results": results[: body.get("top_n", len(results))]}
