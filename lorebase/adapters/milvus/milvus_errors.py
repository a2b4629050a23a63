"""What Milvus and its client say, as errors of ours."""

from __future__ import annotations

import grpc  # type: ignore[import-untyped]  # ships no types
from pymilvus.exceptions import (  # type: ignore[import-untyped]  # ships no types
    DataTypeNotMatchException,
    MilvusException,
    ParamError,
    PrimaryKeyException,
)

from lorebase.errors import DependencyError, MalformedAnswerError, RefusedError, UnavailableError

# Codes of Milvus since 2.3. Its older code for a missing collection, 4, now says that too many requests wait.
COLLECTION_NOT_FOUND = 100
COLLECTION_NOT_LOADED = 101
CONNECT_FAILED = 2
UNAVAILABLE = frozenset({1, 2, 3, 4, 5, 8, 9, 11, 12})
"""Not ready (also what pymilvus calls its own timeouts), no connection, memory, requests, internal, rate, quota, clock
that lags, resources."""

BEING_RECOVERED = frozenset({103, 106, 202, 401, 501, 503, 505, 507, 601, 602, 604, 901, 902, 903, 905, 1001, 1302})
"""A part of the server died or is not there yet, and another one takes over what it held: collections and partitions
that are still being loaded, replicas, channels, segments and nodes that are away, its storage and its queue."""

UNAVAILABLE_STATUS = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.CANCELLED,
    }
)
REFUSED_BY_CLIENT = (ParamError, DataTypeNotMatchException, PrimaryKeyException)
REFUSED_STATUS = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})


class CollectionNotFoundError(DependencyError):
    """The collection does not exist; never leaves the adapter."""

    code = "COLLECTION_NOT_FOUND"


class CollectionNotLoadedError(DependencyError):
    """The collection is released; never leaves the adapter."""

    code = "COLLECTION_NOT_LOADED"


def translated(error: MilvusException | grpc.RpcError, name: str) -> DependencyError:
    """The error of ours that one of the client stands for.

    Args:
        error: What was raised.
        name: The Milvus, for the message.
    """
    code = error.code() if isinstance(error, grpc.RpcError) and hasattr(error, "code") else getattr(error, "code", None)
    said = str(getattr(error, "message", "") or error).strip()
    lowered = said.lower()
    if code == COLLECTION_NOT_FOUND or "collection not found" in lowered:
        return CollectionNotFoundError(said, dependency="milvus")
    if code == COLLECTION_NOT_LOADED or "collection not loaded" in lowered:
        return CollectionNotLoadedError(said, dependency="milvus")
    if "dimension" in lowered or "should divide the dim" in lowered:
        return MalformedAnswerError(f"Milvus {name} refused the vectors: {said}", dependency="milvus")
    if _is_passing(error, code, lowered):
        return unavailable(said, name)
    remedy = "Check the token." if code in REFUSED_STATUS or "auth" in lowered or "permission" in lowered else ""
    return RefusedError(f"Milvus {name} refused the call: {said}", remedy=remedy, dependency="milvus")


def unavailable(said: str, name: str) -> UnavailableError:
    """That a Milvus does not serve, in its own words."""
    return UnavailableError(
        f"Milvus {name} did not serve the call: {said}",
        remedy="Check that it runs and can be reached.",
        dependency="milvus",
    )


def _is_passing(error: MilvusException | grpc.RpcError, code: object, said: str) -> bool:
    if isinstance(error, REFUSED_BY_CLIENT) or code in REFUSED_STATUS or "auth check failure" in said:
        return False
    if getattr(error, "retriable", False):  # the server's own word
        return True
    return code in UNAVAILABLE | BEING_RECOVERED or code in UNAVAILABLE_STATUS or "timeout" in said
