"""An embedded index store in a temporary folder, which is gone once it is closed."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from lorebase.adapters.milvus.store import MilvusIndexStore
from lorebase.index.ports import EntityKind, LexicalIndex, VectorIndex


class ThrowawayIndexStore:
    """Shows that the embedded Milvus starts and works here, without touching any knowledge base."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lorebase-doctor-")
        self._store = MilvusIndexStore.in_folder(Path(self._folder.name))

    def vectors(self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks") -> VectorIndex:
        """The vector index of a base."""
        return self._store.vectors(base_name, profile_id, dimensions, kind=kind)

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> LexicalIndex:
        """The lexical index of a base."""
        return self._store.lexical(base_name, kind=kind)

    async def close(self) -> None:
        """Close the store and remove the folder."""
        await self._store.close()
        await asyncio.to_thread(self._folder.cleanup)
