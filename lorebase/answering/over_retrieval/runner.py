"""The chat model of a run with the number of calls that the run may make, and what each answer took."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Generic, TypeVar

from lorebase.answering.model_runner import model_errors_as_unavailable
from lorebase.errors import BudgetExceededError, DependencyError, ModelUnavailableError
from lorebase.models.borrowed_chat import BorrowedChat
from lorebase.models.chat import ChatModel, ChatReply, ChatRequest, concerns_one_request
from lorebase.models.ports import ModelUsage
from lorebase.models.structured import ask_structured

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class StructuredCall(Generic[AnswerT]):
    """One thing to ask a model.

    Attributes:
        item_id: Answer that it is for.
        request: What is asked.
        answer_type: What comes back.
    """

    item_id: str
    request: ChatRequest
    answer_type: type[AnswerT]


class BudgetedChat(BorrowedChat):
    """A chat model that makes at most so many calls; replies out of a memory count for nothing, nor do streams."""

    def __init__(self, model: ChatModel, max_calls: int) -> None:
        super().__init__(model)
        self._left = max_calls
        self._max_calls = max_calls

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return self._left

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The model's answer.

        Raises:
            BudgetExceededError: No call is left.
        """
        if self._left < 1:
            raise BudgetExceededError(
                f"The answers may make {self._max_calls} calls to a model, and all of them were made.",
                remedy="Raise max_calls, or ask fewer questions at once.",
                max_calls=self._max_calls,
            )
        self._left -= 1
        reply = await self._model.complete(request)
        if not reply.usage.calls:
            self._left += 1
        return reply


class ChatRunner:
    """A `ModelRunner` over a chat model. Make one for each run.

    Args:
        model: Who is asked; None where there is nobody, so that no call is left.
        max_calls: Most calls of the run, at least 0.
    """

    def __init__(self, model: ChatModel | None, max_calls: int) -> None:
        self._chat = BudgetedChat(model, max_calls) if model is not None else None
        self._taken: dict[str, ModelUsage] = defaultdict(ModelUsage)

    def remaining(self) -> int:
        """Calls that may still be made."""
        return self._chat.left if self._chat is not None else 0

    def taken(self, item_id: str) -> ModelUsage:
        """What the answers for an item took that came back."""
        return self._taken[item_id]

    async def run(self, call: StructuredCall[AnswerT], /) -> AnswerT | None:
        """The model's answer; None where it gave none that can be used, though it may well answer other requests.

        Raises:
            ModelUnavailableError: The model cannot be called now, or the budget is used up.
        """
        if self._chat is None:
            raise ModelUnavailableError("There is no chat model.", remedy="Name one under models.chat of the recipe.")
        with model_errors_as_unavailable():
            try:
                value, usage = await ask_structured(self._chat, call.request, call.answer_type)
            except DependencyError as error:
                if concerns_one_request(error):
                    return None
                raise
        self._taken[call.item_id] += usage
        return value
