"""Errors of a service that did not answer as it must."""

from __future__ import annotations

from lorebase.errors.root import LorebaseError


class DependencyError(LorebaseError):
    """A service did not answer as it must. `facts["dependency"]` names it."""

    code = "DEPENDENCY_ERROR"


class UnavailableError(DependencyError):
    """The service could not be reached, timed out, or said that it cannot serve now."""

    code = "DEPENDENCY_UNAVAILABLE"
    retryable = True


class TransactionUndoneError(UnavailableError):
    """A database undid a transaction because of a lock or a deadlock. Nothing changed; it may be made again."""

    code = "TRANSACTION_UNDONE"


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
