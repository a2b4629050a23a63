"""A connection to one Milvus, opened on first use, whose errors are ours."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

import grpc  # type: ignore[import-untyped]  # ships no types
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # ships no types
from pymilvus.exceptions import MilvusException  # type: ignore[import-untyped]  # ships no types

from lorebase.adapters.milvus.closed_file import DEFAULT_LITTLE_WRITES, ClosedFile, LittleWrites
from lorebase.adapters.milvus.counts import LASTING, KnownCounts, expression_of
from lorebase.adapters.milvus.deployment import EMBEDDED, SERVER, Deployment, MilvusLimits
from lorebase.adapters.milvus.embedded import EmbeddedMilvus
from lorebase.adapters.milvus.milvus_errors import CONNECT_FAILED, translated, unavailable
from lorebase.adapters.milvus.versions import require_full_text, version_of

T = TypeVar("T")

# pymilvus pings every 10 s; a local server takes that for an attack after some minutes and cuts the connection.
_NO_PINGS = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}


_SOON_AGAIN = {
    # gRPC lets up to two minutes pass between tries to reach a server that is away.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2_000,
    "grpc.use_local_subchannel_pool": 1,  # a new client does not wait for the tries of the one before
}


class Connection(Protocol):
    """One Milvus: its deployment, and calls to it. Safe for several threads."""

    @property
    def deployment(self) -> Deployment:
        """What it takes."""
        ...

    @property
    def limits(self) -> MilvusLimits:
        """How long its calls may take."""
        ...

    @property
    def write_lock(self) -> threading.RLock:
        """Held by a call that reads rows and writes them back."""
        ...

    @property
    def file(self) -> ClosedFile | None:
        """Its database, for what can be done without it; None where it is a server."""
        ...

    def call(self, request: Callable[[MilvusClient], T]) -> T:
        """The answer to a request, with foreign errors translated."""
        ...

    def write(self, request: Callable[[MilvusClient], T]) -> T:
        """The answer to a request that may change what the Milvus holds."""
        ...

    def count(self, question: str, request: Callable[[MilvusClient], int]) -> int:
        """The answer to a request for a count; a Milvus that only this process can change may know it already."""
        ...

    def require_full_text(self) -> None:
        """Refuse a Milvus that cannot hold an index of words, before it is asked to.

        Raises:
            ConfigurationError: It is a server before 2.5.
        """
        ...

    def close(self) -> None:
        """Give the connection back; the next call opens it anew."""
        ...


class _Connection(ABC):
    """Opens a client once, and hands it to requests.

    A forked child opens a client of its own: it would share sockets with its parent, and locks that no thread of the
    child will ever give back.
    """

    file: ClosedFile | None = None

    def __init__(self, name: str, deployment: Deployment, limits: MilvusLimits) -> None:
        self.deployment = deployment
        self.limits = limits
        self._name = name
        self._client: MilvusClient | None = None
        self._begin()
        _leave_to_parents_in_children()
        _connections.add(self)

    def _begin(self) -> None:
        self.write_lock = threading.RLock()
        self._turn = threading.Condition()
        self._calls = 0
        self._closing = False

    def leave_to_parent(self) -> None:
        """In a forked child: leave what the parent opened. It stays referenced: to end it is the parent's."""
        self._of_parent = self._client
        self._client = None
        self._begin()

    def call(self, request: Callable[[MilvusClient], T]) -> T:
        with self._in_use() as client:
            return request(client)

    def write(self, request: Callable[[MilvusClient], T]) -> T:
        return self.call(request)

    def count(self, question: str, request: Callable[[MilvusClient], int]) -> int:
        del question
        return self.call(request)

    def close(self) -> None:
        """Close once the calls under way have been answered: a build that ends must not break off somebody's query."""
        with self._turn:
            self._closing = True
            try:
                self._turn.wait_for(lambda: self._calls == 0, self.limits.call_timeout_seconds)
                self._close()
            finally:
                self._closing = False
                self._turn.notify_all()

    @contextmanager
    def _in_use(self) -> Iterator[MilvusClient]:
        """The open client, not closed while it is in use, with foreign errors translated."""
        try:
            with self._turn:
                self._turn.wait_for(lambda: not self._closing)
                client = self._opened()
                self._calls += 1
            try:
                yield client
            except MilvusException as error:
                if error.code == CONNECT_FAILED:
                    self._drop(client)
                raise
            except ValueError as error:
                if "closed channel" not in str(error).lower() and "channel closed" not in str(error).lower():
                    raise
                self._drop(client)  # pymilvus closed it in another thread, which could not reconnect
                raise unavailable(str(error), self._name) from error
            finally:
                with self._turn:
                    self._calls -= 1
                    self._turn.notify_all()
        except (MilvusException, grpc.RpcError) as error:
            raise translated(error, self._name) from error

    def _drop(self, client: MilvusClient) -> None:
        """Let the next call open a new client: pymilvus closes one that could not reconnect, for good."""
        with self._turn:
            if self._client is client:
                self._client = None

    def _opened(self) -> MilvusClient:
        with self._turn:
            if self._client is None or not self._usable():
                self._close()
                # pymilvus prints a traceback for every refusal; each one reaches the caller as an error of ours.
                logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
                try:
                    self._client = self._open()
                except BaseException:
                    self._close()
                    raise
            return self._client

    def _usable(self) -> bool:
        return True

    @abstractmethod
    def _open(self) -> MilvusClient:
        """A new client."""

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(MilvusException, grpc.RpcError, ValueError):  # already broken: nothing to give back
                client.close()


class ServerConnection(_Connection):
    """A connection to a server by its address, shared with no other store."""

    def __init__(self, uri: str, token: str, limits: MilvusLimits) -> None:
        super().__init__(uri, SERVER, limits)
        self._token = token
        self._has_full_text = False

    def require_full_text(self) -> None:
        """Ask the version, once where it will do; a server that is too old may be a new one the next time."""
        if not self._has_full_text:
            version = self.call(lambda client: version_of(client, self.limits.call_timeout_seconds))
            require_full_text(version, self._name)
            self._has_full_text = True

    def _open(self) -> MilvusClient:
        return MilvusClient(
            self._name,
            token=self._token,
            timeout=self.limits.connect_timeout_seconds,
            dedicated=True,  # without it pymilvus hands out one channel to all clients of an address and token
            grpc_options=_SOON_AGAIN,
        )


_connections: weakref.WeakSet[_Connection] = weakref.WeakSet()
"""All of this process, for its forked children."""

_of_files: weakref.WeakValueDictionary[tuple[str, MilvusLimits, LittleWrites], EmbeddedConnection]
_of_files = weakref.WeakValueDictionary()
_holding: set[EmbeddedConnection] = set()
"""Those whose file is held: kept although every store of theirs is forgotten, because nobody else could open it."""
_sharing = threading.Lock()


@cache
def _leave_to_parents_in_children() -> None:
    os.register_at_fork(after_in_child=_leave_all_to_parent)


def _leave_all_to_parent() -> None:
    global _sharing  # noqa: PLW0603 (a thread that the child does not have may hold it)
    _sharing = threading.Lock()
    for connection in _connections:
        connection.leave_to_parent()


def connection_to_file(database: Path, limits: MilvusLimits, *, little: LittleWrites) -> EmbeddedConnection:
    """The one connection of this process to a database file, which only one can hold.

    Whoever closes it closes it for all; their next calls open it again.
    """
    with _sharing:
        key = (os.path.realpath(database), limits, little)
        found = _of_files.get(key)
        if found is None:
            found = _of_files[key] = EmbeddedConnection(database, limits, little=little)
        return found


class EmbeddedConnection(_Connection):
    """A connection to a database file, which this process holds as long as the connection is open."""

    def __init__(self, database: Path, limits: MilvusLimits, *, little: LittleWrites = DEFAULT_LITTLE_WRITES) -> None:
        super().__init__(str(database), EMBEDDED, limits)
        self._counts = KnownCounts(database.absolute())
        self._file = ClosedFile(database.absolute(), self._counts, self._closed, little=little)
        self.file = self._file
        self._asked: dict[str, Callable[[MilvusClient], int]] = {}
        self._server = EmbeddedMilvus(
            database,
            lock_timeout_seconds=limits.lock_timeout_seconds,
            start_timeout_seconds=limits.connect_timeout_seconds,
            on_stopped=self._counts.save,
        )

    def require_full_text(self) -> None:
        """Nothing: the embedded Milvus has it."""

    def leave_to_parent(self) -> None:
        """In a forked child: the file is the parent's, and so is what it knows of counts."""
        super().leave_to_parent()
        self._counts.leave_to_parent()
        self._server.leave_to_parent()

    def write(self, request: Callable[[MilvusClient], T]) -> T:
        """The answer to a request that may change the database; nothing that was counted before is known after it."""
        with self.write_lock, self._in_use() as client:
            self._counts.forget()
            try:
                return request(client)
            finally:
                self._counts.forget()  # a count that was asked beside it may be of before or after

    def count(self, question: str, request: Callable[[MilvusClient], int]) -> int:
        """The answer to a count: what is known of the unchanged database, or else what Milvus says."""
        with self.write_lock:
            with self._turn:
                known = self._known(question)
            if known is None:
                known = self.call(request)
                self._counts.keep(question, known)
                if expression_of(question) in LASTING:
                    self._asked[question] = request
            return known

    @contextmanager
    def _closed(self) -> Iterator[bool]:
        """Hold the file while no Milvus serves it, and let none be started; tells whether it is so."""
        with self.write_lock, self._turn:
            self._turn.wait_for(lambda: not self._closing)
            if self._client is not None or self._server.has_file:
                yield False
                return
            with self._server.held() as held:
                if held:
                    self._counts.load()
                yield held

    def _known(self, question: str) -> int | None:
        """What is known without opening the file; called by one thread at a time."""
        if self._client is not None and self._server.serves_file:
            return self._counts.get(question)
        with self._server.held() as held:
            if not held:
                return None
            self._counts.load()
            return self._counts.get(question)

    def _usable(self) -> bool:
        if not self._server.serves_file:
            self._counts.forget()  # it died: nobody knows what reached the file; or another file lies there now
            return False
        return True

    def _open(self) -> MilvusClient:
        address = self._server.start()
        _holding.add(self)
        self._file.clean()
        self._counts.load()
        return MilvusClient(
            address,
            timeout=self.limits.connect_timeout_seconds,
            dedicated=True,
            grpc_options=_NO_PINGS,
        )

    def _close(self) -> None:
        if self._client is not None and self._server.serves_file:
            self._count_again(self._client)
        super()._close()
        self._server.stop()
        _holding.discard(self)
        self._asked.clear()
        self._file.begin_anew()

    def _count_again(self, client: MilvusClient) -> None:
        """Ask for counts that a write ended the knowledge of: the next build asks, and would have to load all rows."""
        for question, request in self._asked.items():
            if self._counts.get(question) is None:
                with suppress(
                    MilvusException, grpc.RpcError, ValueError
                ):  # a collection that is dropped, a broken client
                    self._counts.keep(question, request(client))
