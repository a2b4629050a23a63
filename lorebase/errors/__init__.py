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
│   │   ├── InvalidDataSetError
│   │   ├── InvalidDefinitionError
│   │   ├── InvalidSelectionError
│   │   │   ├── OverlappingSelectionError
│   │   │   └── SelectionTooLongError
│   │   ├── CardNotConfirmedError
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
│   ├── GateNotMetError
│   ├── MigrationError
│   ├── GovernedWorkError
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
    │   ├── TransactionUndoneError
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

from lorebase.errors.authors import (
    InvalidRecipeError,
    RecipeError,
    SourceError,
    UnreadableDocumentError,
    UnsupportedModeError,
)
from lorebase.errors.commands import (
    CommandError,
    DraftConflictError,
    DuplicateSourceError,
    FileTooLargeError,
    ForbiddenError,
    IdempotencyConflictError,
    IndexNotReadyError,
    InvalidInputError,
    InvalidStateError,
    KeyTakenError,
    MimeMismatchError,
    RejectedFileError,
    ReleaseConflictError,
    ReviewInProgressError,
    RevisionInUseError,
    StateConflictError,
    UnauthenticatedError,
    UnsafeFileNameError,
    UnsupportedTypeError,
    VersionConflictError,
)
from lorebase.errors.dependencies import (
    DeclinedAnswerError,
    DependencyError,
    MalformedAnswerError,
    ModelSeamError,
    ModelUnavailableError,
    RateLimitedError,
    RefusedError,
    RetrievalTimeoutError,
    TransactionUndoneError,
    TruncatedAnswerError,
    UnavailableError,
    UnusableAnswerError,
)
from lorebase.errors.operators import (
    BudgetExceededError,
    BuildCancelledError,
    BuildFailedError,
    ConfigurationError,
    ConflictError,
    CorruptObjectError,
    GateNotMetError,
    GovernedWorkError,
    IndexMismatchError,
    MigrationError,
    MissingArtifactError,
    NewerFormatError,
    OperationCancelledError,
    OperatorError,
)
from lorebase.errors.root import (
    LorebaseError,
)
from lorebase.errors.usage import (
    AnswerContractError,
    CardNotConfirmedError,
    ContractError,
    InvalidDataSetError,
    InvalidDefinitionError,
    InvalidSelectionError,
    MissingFieldError,
    NotFoundError,
    OutputNotPassedError,
    OverlappingSelectionError,
    SchemaError,
    SelectionTooLongError,
    UnknownIdError,
    UsageError,
)

__all__ = [
    "AnswerContractError",
    "BudgetExceededError",
    "BuildCancelledError",
    "BuildFailedError",
    "CardNotConfirmedError",
    "CommandError",
    "ConfigurationError",
    "ConflictError",
    "ContractError",
    "CorruptObjectError",
    "DeclinedAnswerError",
    "DependencyError",
    "DraftConflictError",
    "DuplicateSourceError",
    "FileTooLargeError",
    "ForbiddenError",
    "GateNotMetError",
    "GovernedWorkError",
    "IdempotencyConflictError",
    "IndexMismatchError",
    "IndexNotReadyError",
    "InvalidDataSetError",
    "InvalidDefinitionError",
    "InvalidInputError",
    "InvalidRecipeError",
    "InvalidSelectionError",
    "InvalidStateError",
    "KeyTakenError",
    "LorebaseError",
    "MalformedAnswerError",
    "MigrationError",
    "MimeMismatchError",
    "MissingArtifactError",
    "MissingFieldError",
    "ModelSeamError",
    "ModelUnavailableError",
    "NewerFormatError",
    "NotFoundError",
    "OperationCancelledError",
    "OperatorError",
    "OutputNotPassedError",
    "OverlappingSelectionError",
    "RateLimitedError",
    "RecipeError",
    "RefusedError",
    "RejectedFileError",
    "ReleaseConflictError",
    "RetrievalTimeoutError",
    "ReviewInProgressError",
    "RevisionInUseError",
    "SchemaError",
    "SelectionTooLongError",
    "SourceError",
    "StateConflictError",
    "TransactionUndoneError",
    "TruncatedAnswerError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnknownIdError",
    "UnreadableDocumentError",
    "UnsafeFileNameError",
    "UnsupportedModeError",
    "UnsupportedTypeError",
    "UnusableAnswerError",
    "UsageError",
    "VersionConflictError",
]
