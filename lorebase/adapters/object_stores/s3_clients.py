"""The clients of an S3 store: opened when first used, given back together, opened anew by the next call."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fsspec.spec import AbstractFileSystem

_CONNECT_SECONDS, _READ_SECONDS = 10, 60
_MOST_CONNECTIONS: Final = 4096
"""More than a process has threads, so that none waits for a connection and none is thrown away after its request: a
pool opens one only where all others are in use, so it is as large as the number of calls at once ever was."""


@dataclass(frozen=True, slots=True)
class S3Address:
    """Where a store is, and who asks.

    Attributes:
        endpoint_url: For stores other than AWS, with scheme, without a trailing slash.
        key: Access key; None uses the ambient credentials of the machine.
        secret: Its secret.
        region: Region of the bucket.
    """

    endpoint_url: str | None = None
    key: str | None = None
    secret: str | None = None
    region: str | None = None


class OpenedClients:
    """An s3fs file system and a boto3 client, each made when it is first asked for.

    Args:
        address: Where the store is.
    """

    def __init__(self, address: S3Address) -> None:
        self._address = address
        self._making = threading.Lock()  # a cached property may be made by two threads, from Python 3.12 on
        self.users = 0

    @property
    def files(self) -> AbstractFileSystem:
        """For reading, writing and listing."""
        with self._making:
            return self._files

    @property
    def client(self) -> Any:  # noqa: ANN401 (boto3 makes its clients at run time, they have no importable type)
        """For conditional writes, deletions and uploads in parts."""
        with self._making:
            return self._client

    def close(self) -> None:
        """Close every socket. Nobody may use them any more."""
        files, client = self.__dict__.pop("_files", None), self.__dict__.pop("_client", None)
        if client is not None:
            client.close()
        if files is not None:
            from fsspec.asyn import sync  # noqa: PLC0415 (as s3fs)

            # s3fs has no close of its own: its session is documented as the caller's to close, on its event loop.
            sync(files.loop, _close_session, files)

    @cached_property
    def _files(self) -> AbstractFileSystem:
        import s3fs  # noqa: PLC0415 (0.6 s; only workspaces on S3 need it)

        address = self._address
        return s3fs.S3FileSystem(
            key=address.key,
            secret=address.secret,
            client_kwargs={
                name: value
                for name, value in (("endpoint_url", address.endpoint_url), ("region_name", address.region))
                if value
            },
            # s3fs tries again by itself: botocore trying as well would multiply the waits on a store that is gone.
            config_kwargs={
                "connect_timeout": _CONNECT_SECONDS,
                "read_timeout": _READ_SECONDS,
                "retries": {"total_max_attempts": 1},
                "max_pool_connections": _MOST_CONNECTIONS,
            },
            use_listings_cache=False,
            skip_instance_cache=True,
            default_fill_cache=False,
        )

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401 (as above)
        import boto3  # noqa: PLC0415 (as s3fs)
        from botocore.config import Config  # noqa: PLC0415 (as s3fs)

        address = self._address
        return boto3.client(
            "s3",
            aws_access_key_id=address.key,
            aws_secret_access_key=address.secret,
            endpoint_url=address.endpoint_url,
            region_name=address.region or "us-east-1",
            config=Config(
                connect_timeout=_CONNECT_SECONDS,
                read_timeout=_READ_SECONDS,
                max_pool_connections=_MOST_CONNECTIONS,
                retries={"max_attempts": 3},
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )


class S3Clients:
    """Hands out the clients of a store, which any number of threads use at once.

    Args:
        address: Where the store is.
    """

    def __init__(self, address: S3Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._opened: OpenedClients | None = None
        _all_clients.add(self)
        _leave_to_parents_in_children()

    @contextmanager
    def used(self) -> Iterator[OpenedClients]:
        """The clients, which are not closed while they are in use."""
        with self._lock:
            clients = self._opened = self._opened or OpenedClients(self._address)
            clients.users += 1
        try:
            yield clients
        finally:
            with self._lock:
                clients.users -= 1
                is_last = clients.users == 0 and clients is not self._opened
            if is_last:
                clients.close()

    def close(self) -> None:
        """Give every connection back: at once, and those of calls under way when the last of them has its answer.

        Calls that begin later open new clients. Closing twice is no error.
        """
        with self._lock:
            clients, self._opened = self._opened, None
            is_idle = clients is not None and clients.users == 0
        if clients is not None and is_idle:
            clients.close()

    def leave_to_parent(self) -> None:
        """In a forked child: open clients of its own, for it lacks s3fs's thread, and would share sockets.

        What the parent opened stays referenced: its end would be waited for on an event loop that does not run here.
        """
        self._lock = threading.Lock()  # a thread of the parent may have held the old one
        self._of_parent, self._opened = self._opened, None


_all_clients: weakref.WeakSet[S3Clients] = weakref.WeakSet()
"""All of this process, for its forked children."""


@cache
def _leave_to_parents_in_children() -> None:
    os.register_at_fork(after_in_child=_leave_all_to_parent)


def _leave_all_to_parent() -> None:
    for clients in _all_clients:
        clients.leave_to_parent()


async def _close_session(files: Any) -> None:  # noqa: ANN401 (s3fs has no types)
    session = await files.set_session()
    await session.close()
    await asyncio.sleep(0)  # asyncio closes the sockets of closed transports in the next turn of its loop
