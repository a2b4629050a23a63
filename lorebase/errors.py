"""Every error that Lorebase raises, as one tree grouped by who has to act.

LorebaseError
├── RecipeError               the recipe's author
│   ├── InvalidRecipeError
│   └── UnsupportedModeError
├── SourceError               the owner of the documents
│   └── UnreadableDocumentError
├── OperatorError             who runs Lorebase
│   ├── UsageError
│   │   └── NotFoundError
│   ├── ConfigurationError
│   ├── ConflictError
│   ├── BuildFailedError
│   │   └── MissingArtifactError
│   ├── BuildCancelledError
│   ├── BudgetExceededError
│   └── CorruptObjectError
└── DependencyError           the service that did not answer as it must
    ├── UnavailableError
    ├── RateLimitedError
    ├── RefusedError
    └── MalformedAnswerError
"""

from __future__ import annotations

from typing import Any, ClassVar, Self


class LorebaseError(Exception):
    """Facts and one sentence.

    Attributes:
        code: Stable UPPER_SNAKE identity of the kind of error.
        retryable: Whether the same call may succeed later without any change of its input. Retries ask nothing else.
        message: One sentence that names the thing and what happened to it.
        remedy: What to do next; empty where the message says it.
        facts: The values behind the sentence, JSON-like.
    """

    code: ClassVar[str] = "LOREBASE_ERROR"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str = "", **facts: Any) -> None:  # noqa: ANN401 (facts are any JSON value)
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.facts = facts

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.remedy, self.facts))

    @classmethod
    def _from_parts(cls, message: str, remedy: str, facts: dict[str, Any]) -> Self:
        return cls(message, remedy=remedy, **facts)


def _rebuild(kind: type[LorebaseError], message: str, remedy: str, facts: dict[str, Any]) -> LorebaseError:
    return kind._from_parts(message, remedy, facts)  # noqa: SLF001 (same module, the pickle entry)


class RecipeError(LorebaseError):
    """The recipe's author has to change something."""

    code = "RECIPE_ERROR"


class InvalidRecipeError(RecipeError):
    """A recipe has faults; `facts["faults"]` lists every one of them."""

    code = "INVALID_RECIPE"


class UnsupportedModeError(RecipeError):
    """A query mode was asked for that the snapshot cannot serve."""

    code = "UNSUPPORTED_MODE"


class SourceError(LorebaseError):
    """The owner of a document has to change something."""

    code = "SOURCE_ERROR"


class UnreadableDocumentError(SourceError):
    """A document yields no text. `facts["reason"]` is an UPPER_SNAKE reason such as ENCRYPTED or EMPTY."""

    code = "UNREADABLE_DOCUMENT"


class OperatorError(LorebaseError):
    """Who runs Lorebase has to change something."""

    code = "OPERATOR_ERROR"


class UsageError(OperatorError):
    """A call or command line is not of the form it must have."""

    code = "USAGE_ERROR"


class NotFoundError(UsageError):
    """The named thing does not exist."""

    code = "NOT_FOUND"


class ConfigurationError(OperatorError):
    """The workspace or an endpoint is configured in a way that cannot work."""

    code = "CONFIGURATION_ERROR"


class ConflictError(OperatorError):
    """Somebody else holds or has changed the thing."""

    code = "CONFLICT"
    retryable = True


class BuildFailedError(OperatorError):
    """A step or a build came to an end without its result."""

    code = "BUILD_FAILED"


class MissingArtifactError(BuildFailedError):
    """A step needs an artifact that does not exist in this build."""

    code = "MISSING_ARTIFACT"


class BuildCancelledError(OperatorError):
    """The build was asked to stop; it goes on from here when it is started again."""

    code = "BUILD_CANCELLED"


class BudgetExceededError(OperatorError):
    """The next call to a model would pass the run's budget. `facts` holds the limit and what was spent."""

    code = "BUDGET_EXCEEDED"


class CorruptObjectError(OperatorError):
    """An object of the store is not what its name or manifest says."""

    code = "CORRUPT_OBJECT"


class DependencyError(LorebaseError):
    """A service did not answer as it must. `facts["dependency"]` names it."""

    code = "DEPENDENCY_ERROR"


class UnavailableError(DependencyError):
    """The service could not be reached, timed out, or said that it cannot serve now."""

    code = "DEPENDENCY_UNAVAILABLE"
    retryable = True


class RateLimitedError(DependencyError):
    """The service asked to wait. `facts["retry_after_seconds"]` holds how long, where it said so."""

    code = "RATE_LIMITED"
    retryable = True


class RefusedError(DependencyError):
    """The service understood and refused: credentials, permissions, an unknown model, an input over its limit."""

    code = "DEPENDENCY_REFUSED"


class MalformedAnswerError(DependencyError):
    """The service answered something that breaks its contract: wrong width, NaN, missing rows, no JSON."""

    code = "MALFORMED_ANSWER"
