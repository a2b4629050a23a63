"""The application's model runner, as handlers of an answer flow use it; the kit makes none and adds no quota."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from lorebase.errors import BudgetExceededError, DependencyError, ModelUnavailableError
from lorebase.operation.context import OperationContext

RequestT_contra = TypeVar("RequestT_contra", contravariant=True)
AnswerT_co = TypeVar("AnswerT_co", covariant=True)


class ModelBudget(Protocol):
    """Says how many calls are left."""

    def remaining(self) -> int:
        """Calls that may still be made, 0 or more, now."""
        ...


class ModelRunner(ModelBudget, Protocol[RequestT_contra, AnswerT_co]):
    """Calls models within a budget that all who share the runner share."""

    async def run(self, request: RequestT_contra, /) -> AnswerT_co:
        """One call.

        Raises:
            ModelUnavailableError: No model can be called now.
        """
        ...


class HasModelBudget(Protocol):
    """An application that offers its handlers a model runner."""

    @property
    def models(self) -> ModelBudget:
        """The runner."""
        ...


def calls_remain(context: OperationContext[HasModelBudget]) -> bool:
    """Whether the application's runner has a call left: `can_invoke` of a flow."""
    return context.app.models.remaining() > 0


@contextmanager
def model_errors_as_unavailable() -> Iterator[None]:
    """Turn what a call to a model raises into the error that sends an answer flow to its fallback.

    Faults of the program and cancellations pass as they are.

    Raises:
        ModelUnavailableError: The service did not answer as it must, or the budget allows no call.
    """
    try:
        yield
    except ModelUnavailableError:
        raise
    except (DependencyError, BudgetExceededError) as error:
        raise ModelUnavailableError(error.message, remedy=error.remedy, cause=error.code) from error
