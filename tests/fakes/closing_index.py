"""An index store that is closed after every call, so that each call finds an embedded file that nobody serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from lorebase.index.ports import EntityKind, IndexStore


class _ClosingIndex:
    def __init__(self, store: IndexStore, index: object) -> None:
        self._store = store
        self._index = index

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._index, name)

        @wraps(method)
        async def call(*arguments: object, **options: object) -> object:
            try:
                return await method(*arguments, **options)
            finally:
                await self._store.close()

        return call


class ClosingIndexStore:
    """Closes the store that it is given after every call of an index."""

    def __init__(self, store: IndexStore) -> None:
        self._store = store

    def vectors(self, base_name: str, profile_id: str, dimensions: int, *, kind: EntityKind = "chunks") -> Any:
        return _ClosingIndex(self._store, self._store.vectors(base_name, profile_id, dimensions, kind=kind))

    def lexical(self, base_name: str, *, kind: EntityKind = "chunks") -> Any:
        return _ClosingIndex(self._store, self._store.lexical(base_name, kind=kind))

    async def close(self) -> None:
        await self._store.close()
