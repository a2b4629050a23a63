"""Errors that the caller of a governed command mends."""

from __future__ import annotations

from lorebase.errors.root import LorebaseError


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
