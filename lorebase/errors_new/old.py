"""Every error that Lorebase raises, as one tree grouped by who has to act.

LorebaseError
├── RecipeError               the recipe's author
│   ├── InvalidRecipeError
│   └── UnsupportedModeError
├── SourceError               the owner of the documents
│   └── UnreadableDocumentError
├── OperatorError             who runs Lorebase
│   ├── UsageError
│   │   ├── NotFoundError
│   │   │   └── UnknownIdError
│   │   ├── InvalidDefinitionError
│   │   ├── InvalidSelectionError
│   │   │   ├── OverlappingSelectionError
│   │   │   └── SelectionTooLongError
│   │   ├── SchemaError
│   │   ├── MissingFieldError
│   │   ├── OutputNotPassedError
│   │   └── ContractError
│   │       └── AnswerContractError
│   ├── ConfigurationError
│   ├── ConflictError
│   ├── BuildFailedError
│   │   └── MissingArtifactError
│   ├── BuildCancelledError
│   ├── OperationCancelledError
│   ├── BudgetExceededError
│   ├── NewerFormatError
│   ├── CorruptObjectError
│   ├── MigrationError
│   └── IndexMismatchError
├── CommandError              the caller of a governed command
│   ├── InvalidInputError
│   │   └── UnsafeFileNameError
│   ├── UnauthenticatedError
│   ├── ForbiddenError
│   ├── RejectedFileError
│   │   ├── FileTooLargeError
│   │   ├── UnsupportedTypeError
│   │   └── MimeMismatchError
│   └── StateConflictError
│       ├── InvalidStateError
│       ├── VersionConflictError
│       ├── ReleaseConflictError
│       ├── DraftConflictError
│       ├── ReviewInProgressError
│       ├── RevisionInUseError
│       ├── IndexNotReadyError
│       ├── KeyTakenError
│       ├── DuplicateSourceError
│       └── IdempotencyConflictError
└── DependencyError           the service that did not answer as it must
    ├── UnavailableError
    │   ├── ModelUnavailableError
    │   └── RetrievalTimeoutError
    ├── RateLimitedError
    ├── RefusedError
    ├── ModelSeamError
    └── UnusableAnswerError
        ├── MalformedAnswerError
        ├── TruncatedAnswerError
        └── DeclinedAnswerError
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


class UnknownIdError(NotFoundError):
    """A catalog was asked for an id that is not registered in it."""

    code = "UNKNOWN_ID"


class InvalidDefinitionError(UsageError):
    """A definition of an application cannot be registered: blank or repeated ids, references that lead nowhere."""

    code = "INVALID_DEFINITION"


class InvalidSelectionError(UsageError):
    """A reading of a knowledge document selects nothing, or something twice."""

    code = "INVALID_SELECTION"


class OverlappingSelectionError(InvalidSelectionError):
    """A reading selects a section and one inside it, so that the same paragraph would be evidence twice."""

    code = "OVERLAPPING_SELECTION"


class SelectionTooLongError(InvalidSelectionError):
    """A reading is longer than the catalog's limit. Evidence is never cut. `facts` holds length and limit."""

    code = "SELECTION_TOO_LONG"


class SchemaError(UsageError):
    """A value does not fit its schema; `facts["issues"]` says where and why."""

    code = "SCHEMA_MISMATCH"


class MissingFieldError(UsageError):
    """A text master was rendered without a value for one of its fields; `facts["field"]` names it."""

    code = "MISSING_FIELD"


class OutputNotPassedError(UsageError):
    """An output was to be composed from an input that its check does not pass; `facts["issues"]` says what is wrong."""

    code = "OUTPUT_NOT_PASSED"


class ContractError(UsageError):
    """A function that the application registered gave what it must not give."""

    code = "CONTRACT_BROKEN"


class AnswerContractError(ContractError):
    """A run of an answer flow was asked for, or one of its handlers answered, in a form that it must not have."""

    code = "ANSWER_CONTRACT_BROKEN"


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


class OperationCancelledError(OperatorError):
    """The caller of an operation no longer wants its result."""

    code = "OPERATION_CANCELLED"


class BudgetExceededError(OperatorError):
    """The next call to a model would pass the run's budget. `facts` holds the limit and what was spent."""

    code = "BUDGET_EXCEEDED"


class NewerFormatError(OperatorError):
    """A file or database was written by a newer program; it is neither read nor written."""

    code = "NEWER_FORMAT"


class CorruptObjectError(OperatorError):
    """An object of the store is not what its name or manifest says."""

    code = "CORRUPT_OBJECT"


class MigrationError(OperatorError):
    """A move of a knowledge tree cannot be done or went wrong. `facts["reason"]` is an UPPER_SNAKE reason."""

    code = "MIGRATION_FAILED"


class IndexMismatchError(OperatorError):
    """The index does not hold what the relational store says it holds; `facts` names the differences."""

    code = "INDEX_MISMATCH"


class CommandError(LorebaseError):
    """The caller of a governed command has to change something."""

    code = "COMMAND_ERROR"


class InvalidInputError(CommandError):
    """A value of the command is missing, of the wrong form, or out of range."""

    code = "VALIDATION_ERROR"


class UnsafeFileNameError(InvalidInputError):
    """A file name could do harm where it is shown or stored."""

    code = "UNSAFE_FILENAME"


class UnauthenticatedError(CommandError):
    """Nobody trusted says who calls."""

    code = "UNAUTHENTICATED"


class ForbiddenError(CommandError):
    """The caller is known and lacks the capability."""

    code = "FORBIDDEN"


class RejectedFileError(CommandError):
    """A file is not taken in."""

    code = "REJECTED_FILE"


class FileTooLargeError(RejectedFileError):
    """A file has more bytes than are allowed, packed or unpacked."""

    code = "FILE_TOO_LARGE"


class UnsupportedTypeError(RejectedFileError):
    """A file is of a type that is not taken in."""

    code = "UNSUPPORTED_TYPE"


class MimeMismatchError(RejectedFileError):
    """Name, declared media type and content of a file contradict each other."""

    code = "MIME_MISMATCH"


class StateConflictError(CommandError):
    """The thing is not, or no longer, in a state in which the command is allowed."""

    code = "STATE_CONFLICT"


class InvalidStateError(StateConflictError):
    """The revision's state has no such command; `facts` holds both."""

    code = "INVALID_STATE"


class VersionConflictError(StateConflictError):
    """Somebody changed the row since the caller read it; `facts` holds both versions."""

    code = "VERSION_CONFLICT"


class ReleaseConflictError(StateConflictError):
    """Another publish, rollback or withdrawal came first; `facts` holds the release as it stands."""

    code = "RELEASE_CONFLICT"


class DraftConflictError(StateConflictError):
    """The item has another draft already."""

    code = "DRAFT_CONFLICT"


class ReviewInProgressError(StateConflictError):
    """A revision of the item is under review; a draft waits until that is decided."""

    code = "REVIEW_IN_PROGRESS"


class RevisionInUseError(StateConflictError):
    """The revision is live, under review or being processed."""

    code = "REVISION_IN_USE"


class IndexNotReadyError(StateConflictError):
    """The revision's index entities are not complete."""

    code = "INDEX_NOT_READY"


class KeyTakenError(StateConflictError):
    """The name that has to be unique in the organisation belongs to something else."""

    code = "KEY_TAKEN"


class DuplicateSourceError(StateConflictError):
    """The organisation holds the same file already; `facts["matches"]` lists where, the caller chooses."""

    code = "DUPLICATE_SOURCE"


class IdempotencyConflictError(StateConflictError):
    """The idempotency key stands for another payload."""

    code = "IDEMPOTENCY_CONFLICT"


class DependencyError(LorebaseError):
    """A service did not answer as it must. `facts["dependency"]` names it."""

    code = "DEPENDENCY_ERROR"


class UnavailableError(DependencyError):
    """The service could not be reached, timed out, or said that it cannot serve now."""

    code = "DEPENDENCY_UNAVAILABLE"
    retryable = True


class ModelUnavailableError(UnavailableError):
    """No model can be called for an answer now; the flow goes on to its fallback."""

    code = "MODEL_UNAVAILABLE"


class RetrievalTimeoutError(UnavailableError):
    """A retrieval did not end within its time budget; never an empty result instead."""

    code = "RETRIEVAL_TIMEOUT"


class RateLimitedError(DependencyError):
    """The service asked to wait. `facts["retry_after_seconds"]` holds how long, where it said so."""

    code = "RATE_LIMITED"
    retryable = True


class RefusedError(DependencyError):
    """The service understood and refused: credentials, permissions, an unknown model, an input over its limit."""

    code = "DEPENDENCY_REFUSED"


class ModelSeamError(DependencyError):
    """A host's language service ended without a text. `facts["failure_code"]` is its own code, where it gave one."""

    code = "MODEL_SEAM_FAILED"


class UnusableAnswerError(DependencyError):
    """The service answered this one request, and what it answered is of no use. Never kept in a cache."""

    code = "UNUSABLE_ANSWER"


class MalformedAnswerError(UnusableAnswerError):
    """The service answered something that breaks its contract: wrong width, NaN, missing rows, no JSON."""

    code = "MALFORMED_ANSWER"


class TruncatedAnswerError(UnusableAnswerError):
    """The answer ended with its tokens before it was whole; the same budget would end it there again."""

    code = "TRUNCATED_ANSWER"


class DeclinedAnswerError(UnusableAnswerError):
    """A model or its content filter declined to answer this one request."""

    code = "DECLINED_ANSWER"
