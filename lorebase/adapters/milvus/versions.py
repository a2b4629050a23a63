"""Which servers can search words: a schema with BM25 ends a server before 2.5, and it never starts again."""

from __future__ import annotations

import re

import grpc  # type: ignore[import-untyped]  # ships no types
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # ships no types

from lorebase.errors import ConfigurationError

FIRST_WITH_FULL_TEXT = (2, 5)
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


def version_of(client: MilvusClient, timeout_seconds: float) -> str:
    """What a server says of its version; empty where it does not know the question, as Milvus Lite behind a port."""
    try:
        return str(client.get_server_version(timeout=timeout_seconds))
    except grpc.RpcError as error:
        if hasattr(error, "code") and error.code() == grpc.StatusCode.UNIMPLEMENTED:
            return ""
        raise


def require_full_text(version: str, name: str) -> None:
    """Refuse a server that is known to have no full text.

    Args:
        version: As it says, such as `v2.3.5-lite` or `2.6.0`; one without numbers is let through.
        name: The server, for the message.

    Raises:
        ConfigurationError: It is older than 2.5.
    """
    numbers = _NUMBERS.search(version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) >= FIRST_WITH_FULL_TEXT:
        return
    needed = ".".join(map(str, FIRST_WITH_FULL_TEXT))
    raise ConfigurationError(
        f"Milvus {name} is version {version.removeprefix('v')}, which has no full text; an index of words needs "
        f"{needed} or newer.",
        remedy=f"Upgrade the server to {needed} or newer, use embedded indexes (no vector_store.uri), "
        "or take the steps that index words out of the recipe.",
        dependency="milvus",
        version=version,
    )
