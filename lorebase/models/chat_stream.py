"""What a chat model's answer is made of while it comes in: chunks, tokens, why it finished and what failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lorebase.models.ports import ModelUsage

STOP = "stop"
TOOL_CALLS = "tool-calls"
MAX_TOKENS = "max-tokens"
ABORTED = "aborted"
ERROR = "error"


@dataclass(frozen=True, slots=True)
class LlmFailure:
    """Why a model gave no answer.

    Attributes:
        code: UPPER_SNAKE, such as "RATE_LIMIT", "AUTH", "CONTEXT_WINDOW_EXCEEDED"; the set is open.
        message: One sentence.
        status: HTTP status, where there was one.
        retry_after_seconds: How long the provider asked to wait.
        request_id: The provider's id of the request.
    """

    code: str
    message: str
    status: int | None = None
    retry_after_seconds: float | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class FinishReason:
    """Why an answer ended.

    Attributes:
        kind: "stop", "tool-calls", "max-tokens", "aborted", "error"; the set is open.
        failure: What failed, for "aborted" and "error".
    """

    kind: str
    failure: LlmFailure | None = None


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one answer; the counts are disjoint.

    Attributes:
        input_tokens: Read anew.
        output_tokens: Text of the answer.
        cache_read_tokens: Input that the provider had in its cache.
        cache_write_tokens: Input that it put there.
        reasoning_tokens: Thought before the answer.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def as_model_usage(self, calls: int) -> ModelUsage:
        """The same as input and output tokens of `calls` requests."""
        return ModelUsage(
            calls,
            self.input_tokens + self.cache_read_tokens + self.cache_write_tokens,
            self.output_tokens + self.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class BlockStart:
    """A block of the answer begins: text, reasoning, tool-call."""

    type: ClassVar[str] = "block-start"
    index: int
    block_type: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer's text."""

    type: ClassVar[str] = "text-delta"
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks; no text of the answer."""

    type: ClassVar[str] = "reasoning-delta"
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of a tool call; Lorebase offers no tools, so it only passes through."""

    type: ClassVar[str] = "tool-call-delta"
    index: int
    id: str
    arguments_delta: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """A block of the answer ended."""

    type: ClassVar[str] = "block-end"
    index: int


@dataclass(frozen=True, slots=True)
class UsageChunk:
    """What the answer took; comes before the finish."""

    type: ClassVar[str] = "usage"
    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class FinishChunk:
    """The end; nothing comes after it."""

    type: ClassVar[str] = "finish"
    reason: FinishReason


StreamChunk = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | FinishChunk
