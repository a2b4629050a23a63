"""The index store over Milvus: a server by its address, or one embedded file a knowledge base."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lorebase.adapters.milvus import schema
from lorebase.adapters.milvus.closed_file import DEFAULT_LITTLE_WRITES, LittleWrites
from lorebase.adapters.milvus.collection import Collection
from lorebase.adapters.milvus.connection import Connection, ServerConnection, connection_to_file
from lorebase.adapters.milvus.deployment import MilvusLimits
from lorebase.adapters.milvus.rows import FLOAT_BYTES, check_vector, text_row, vector_row
from lorebase.errors import UsageError
from lorebase.ids import is_slug
from lorebase.index.ports import Candidate, EntityFields, EntityKind, Filter, TextEntity, VectorEntity
from lorebase.index.words import lookup_words


class MilvusIndexStore:
    """Opens the indexes of knowledge bases. Blocking calls run in threads, so any number of event loops may use it.

    Made by `on_server` or `in_folder`.
    """

    def __init__(
        self,
        *,
        uri: str | None,
        token: str,
        folder: Path | None,
        limits: MilvusLimits,
        little: LittleWrites = DEFAULT_LITTLE_WRITES,
    ) -> None:
        self._uri = uri
        self._token = token
        self._folder = folder
        self._limits = limits
        self._little = little
        self._connections: dict[str, Connection] = {}
        self._lock = threading.Lock()

    @classmethod
    def on_server(cls, uri: str, *, token: str = "", limits: MilvusLimits | None = None) -> MilvusIndexStore:
        """Indexes on a Milvus server, which every base shares.

        Args:
            uri: `http://host:port` or `https://...`.
            token: `user:password` or an API key; empty where the server asks for none.
            limits: How long calls may take.
        """
        return cls(uri=uri, token=token, folder=None, limits=limits or MilvusLimits())

    @classmethod
    def in_folder(
        cls, folder: Path, *, limits: MilvusLimits | None = None, little: LittleWrites = DEFAULT_LITTLE_WRITES
    ) -> MilvusIndexStore:
        """Indexes in files `<folder>/<base name>.db`, each held by one process at a time, for all of its stores.

        Args:
            folder: Theirs.
            limits: How long calls may take.
            little: Which writes are done without loading the collection first.
        """
        return cls(uri=None, token="", folder=folder, limits=limits or MilvusLimits(), little=little)

    def vectors(
        self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks"
    ) -> MilvusVectorIndex:
        """The vector index of a base for an embedding profile and a kind of entity."""
        return MilvusVectorIndex(self._connection(base_name), base_name, profile_id, dimensions, kind)

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> MilvusLexicalIndex:
        """The lexical index of a base for a kind of entity."""
        return MilvusLexicalIndex(self._connection(base_name), base_name, kind)

    async def close(self) -> None:
        """Close every connection: embedded files can be opened by another process right after."""
        with self._lock:
            connections = tuple(self._connections.values())
        for connection in connections:
            await asyncio.to_thread(connection.close)

    def _connection(self, base_name: str) -> Connection:
        if not is_slug(base_name):
            raise UsageError(f"{base_name!r} is no name of a knowledge base.", remedy="Use a-z, 0-9 and hyphens.")
        with self._lock:
            if self._folder is None:
                assert self._uri is not None  # noqa: S101 (one of both is always given)
                return self._connections.setdefault("", ServerConnection(self._uri, self._token, self._limits))
            database = self._folder / f"{base_name}.db"
            shared = connection_to_file(database, self._limits, little=self._little)
            return self._connections.setdefault(base_name, shared)


class _MilvusIndex:
    """What both indexes pass on to their collection."""

    def __init__(self, connection: Connection, collection: Collection) -> None:
        self._connection = connection
        self._collection = collection

    async def set_searchable(self, chunk_ids: Sequence[str], *, searchable: bool) -> int:
        return await asyncio.to_thread(partial(self._collection.set_searchable, chunk_ids, searchable=searchable))

    async def delete(self, where: Filter) -> int:
        return await asyncio.to_thread(self._collection.delete, where)

    async def count(self, where: Filter) -> int:
        return await asyncio.to_thread(self._collection.count, where)

    async def fields(self, where: Filter) -> list[EntityFields]:
        return await asyncio.to_thread(self._collection.fields, where)

    async def drop(self) -> None:
        await asyncio.to_thread(self._collection.drop)

    async def require_supported(self) -> None:
        """Nothing: every Milvus holds vectors."""

    async def close(self) -> None:
        """Nothing: the connection serves every index of its store, and `MilvusIndexStore.close` gives it back."""


class MilvusVectorIndex(_MilvusIndex):
    """Dense vectors of one knowledge base, one embedding profile and one kind of entity."""

    def __init__(
        self,
        connection: Connection,
        base_name: str,
        profile_id: str,
        dimensions: int,
        kind: EntityKind = "chunks",
    ) -> None:
        collection = Collection(
            connection,
            schema.vectors_collection(base_name, profile_id, kind),
            schema=lambda: schema.vectors_schema(dimensions),
            index=lambda: schema.vectors_index(connection.deployment),
            content_field=schema.VECTOR_FIELD,
            content_bytes=dimensions * FLOAT_BYTES,
            dimensions=dimensions,
        )
        super().__init__(connection, collection)
        self._dimensions = dimensions

    async def upsert(self, entities: Sequence[VectorEntity]) -> None:
        """Write entities in place of those with the same id."""
        await asyncio.to_thread(self._upsert, entities)

    async def search(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Candidate]:
        """The nearest entities by cosine."""
        check_vector(vector, self._dimensions)
        parameters = self._connection.deployment.dense_search
        data = vector.astype(np.float32, copy=False)
        return await asyncio.to_thread(self._collection.search, data, schema.VECTOR_FIELD, where, limit, parameters)

    def _upsert(self, entities: Sequence[VectorEntity]) -> None:
        self._collection.upsert([vector_row(entity, self._dimensions) for entity in entities])


class MilvusLexicalIndex(_MilvusIndex):
    """Words of one knowledge base and one kind of entity."""

    def __init__(self, connection: Connection, base_name: str, kind: EntityKind = "chunks") -> None:
        collection = Collection(
            connection,
            schema.text_collection(base_name, kind),
            schema=schema.text_schema,
            index=schema.text_index,
            content_field=schema.TEXT_FIELD,
            content_bytes=schema.MAX_WORDS_BYTES,
        )
        super().__init__(connection, collection)

    async def upsert(self, entities: Sequence[TextEntity]) -> None:
        """Write entities in place of those with the same id."""
        await asyncio.to_thread(self._upsert, entities)

    async def search(self, text: str, where: Filter, limit: int) -> list[Candidate]:
        """The best entities by BM25; none for a text without words."""
        words = " ".join(lookup_words(text))
        if not words:
            return []
        await self.require_supported()
        return await asyncio.to_thread(
            self._collection.search, words, schema.WORDS_FIELD, where, limit, lambda _limit: {}
        )

    async def require_supported(self) -> None:
        """Refuse a server that cannot search words."""
        await asyncio.to_thread(self._connection.require_full_text)

    def _upsert(self, entities: Sequence[TextEntity]) -> None:
        self._connection.require_full_text()
        self._collection.upsert([text_row(entity) for entity in entities])
