"""The chat port: what steps and queries ask of a language model, and what comes back, whole or as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol

from lorebase.errors import DependencyError, RefusedError, UnusableAnswerError
from lorebase.fingerprint import fingerprint
from lorebase.models.chat_stream import MAX_TOKENS, STOP, StreamChunk
from lorebase.models.ports import ModelUsage
from lorebase.models.token_estimate import estimate_tokens

CHAT_ROLE = "chat"
"""Role of the chat model in recipes, budgets and prices."""

_UNKNOWN_OUTPUT_TOKENS = 1024

MessageRole = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatProfile:
    """Everything beside a request that decides what a chat model answers.

    Attributes:
        provider: Name of an endpoint of the workspace.
        model: The model's name at its provider.
        temperature: Sent with requests that name none; None leaves it to the endpoint.
        max_output_tokens: Longest answer of requests that name none; None leaves it to the endpoint.
        reasoning_effort: As the model calls it, such as "low"; empty leaves the field out.
        context_tokens: Most tokens of a request and its answer together; None where unknown.
    """

    provider: str
    model: str
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str = ""
    context_tokens: int | None = None

    @property
    def profile_id(self) -> str:
        """Identity of what answers: a step names it among what decides its result."""
        return fingerprint(
            "chat-profile",
            self.provider,
            self.model,
            self.temperature,
            self.max_output_tokens,
            self.reasoning_effort,
        )


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a conversation.

    Attributes:
        role: Who said it.
        text: What was said.
    """

    role: MessageRole
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked. Give either `prompt` or `messages`.

    Attributes:
        prompt: The one question of the user.
        system: Instructions before everything; empty for none.
        messages: Turns that end with one of the user, instead of `prompt`.
        schema: JSON schema that the answer has to follow; None for free text. `ask_structured` fills it in.
        temperature: 0 to 2; None takes the profile's.
        max_tokens: Longest answer; None takes the profile's.
        seed: For endpoints that repeat an answer by seed.
        stop: Texts at which the answer ends.
        session_id: Keeps requests on one route and its prompt cache, such as "knowledge:<base id>". No part of the
            request's identity.
    """

    prompt: str = ""
    system: str = ""
    messages: tuple[ChatMessage, ...] = ()
    schema: Mapping[str, Any] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    session_id: str = ""

    def __post_init__(self) -> None:
        if bool(self.prompt) == bool(self.messages):
            msg = "a chat request has either a prompt or messages"
            raise ValueError(msg)
        if self.messages and self.messages[-1].role != "user":
            msg = "the last message of a chat request is the user's"
            raise ValueError(msg)

    @property
    def turns(self) -> tuple[ChatMessage, ...]:
        """The messages, or the prompt as the only one."""
        return self.messages or (ChatMessage("user", self.prompt),)

    @property
    def fingerprint(self) -> str:
        """Identity of all that decides the answer, in whichever form it was given."""
        return fingerprint(
            "chat-request",
            self.system,
            [[turn.role, turn.text] for turn in self.turns],
            self.schema,
            self.temperature,
            self.max_tokens,
            self.seed,
            self.stop,
        )


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model answered.

    Attributes:
        text: Untrimmed and never blank; without what the model only thought.
        usage: What it took, requests that had to be repeated included; zeros where it came out of a cache.
        finish: "stop", "max-tokens" or another name of `chat_stream`.
        truncated: Whether the answer ends where the tokens ended, not where the model would have ended.
    """

    text: str
    usage: ModelUsage = field(default=ModelUsage())
    finish: str = STOP
    truncated: bool = False

    @classmethod
    def of(cls, text: str, usage: ModelUsage, finish: str) -> ChatReply:
        """A reply that knows by its finish whether it is truncated."""
        return cls(text, usage, finish, truncated=finish == MAX_TOKENS)


def expected_usage(profile: ChatProfile, request: ChatRequest) -> ModelUsage:
    """What a request takes at most, as well as it can be known before: for plans, budgets and limits.

    An answer without any limit counts as 1,024 tokens.
    """
    sent = _tokens_of_instructions(request.system) + sum(estimate_tokens(turn.text) for turn in request.turns)
    return ModelUsage(1, sent, request.max_tokens or profile.max_output_tokens or _UNKNOWN_OUTPUT_TOKENS)


@lru_cache(maxsize=64)  # thousands of requests have the same
def _tokens_of_instructions(text: str) -> int:
    return estimate_tokens(text)


class ChatModel(Protocol):
    """Answers requests. Safe to use from several tasks; waits for its endpoint's limits by itself."""

    @property
    def profile(self) -> ChatProfile:
        """What answers."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many requests it takes on at once; more only wait."""
        ...

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The whole answer.

        Raises:
            TruncatedAnswerError: The tokens ended before any text came. With some text it is a truncated reply instead.
            DeclinedAnswerError: The model or a content filter declined to answer.
            MalformedAnswerError: The answer breaks the API's contract, or holds no text.
            DependencyError: There is no answer: unreachable, refused credentials, unknown model, input too long;
                `facts["calls"]` counts the requests that reached the endpoint. See `concerns_one_request`.
        """
        ...

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamChunk]:
        """The answer piece by piece, the usage before the finish, the finish last.

        A failure of the model is the finish and not an exception. Closing the iterator ends the request.
        """
        ...

    async def close(self) -> None:
        """Give connections back. The model is not used after it."""
        ...


def concerns_one_request(error: DependencyError) -> bool:
    """Whether other requests may well be answered: the item fails, and not the step.

    True for answers that cannot be used and for inputs that the endpoint refused as too long.
    """
    return isinstance(error, UnusableAnswerError) or (
        isinstance(error, RefusedError) and error.facts.get("fault") is not None
    )
