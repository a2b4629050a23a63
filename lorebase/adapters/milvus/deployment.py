"""What differs between an embedded Milvus and a server: index types, message sizes, waits."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MilvusLimits:
    """Waits, in seconds, that bound every call.

    Attributes:
        call_timeout_seconds: One request, its retries inside the client included.
        connect_timeout_seconds: Reaching a server, or starting the embedded one.
        lock_timeout_seconds: Waiting for another process to give an embedded file back.
    """

    call_timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 10.0
    lock_timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """How collections are made and how much fits in one message.

    Attributes:
        dense_index: Index of the vectors.
        dense_build: Its parameters.
        message_bytes: Aim for one request or answer; half of the deployment's limit, because sizes are estimated.
    """

    dense_index: str
    message_bytes: int
    dense_build: dict[str, int] = field(default_factory=dict)

    def dense_search(self, limit: int) -> dict[str, int]:
        """Search parameters for `limit` results."""
        return {"ef": max(2 * limit, 128)} if self.dense_index == "HNSW" else {}


# FLAT is exact, and as fast as the other indexes of Milvus Lite at 10,000 rows: docs/adr/0004-embedded-milvus.md.
EMBEDDED = Deployment(dense_index="FLAT", message_bytes=2 << 20)
SERVER = Deployment(dense_index="HNSW", message_bytes=16 << 20, dense_build={"M": 16, "efConstruction": 200})
