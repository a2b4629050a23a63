"""A prefix of an S3 bucket as an object store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import tenacity

from lorebase.adapters.object_stores.keys import checked_key
from lorebase.adapters.object_stores.s3_refusals import refusal
from lorebase.adapters.object_stores.s3_uploads import abort_upload, is_upload, unfinished_uploads
from lorebase.artifacts.store import ObjectEntry, VersionedObject
from lorebase.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    from fsspec.spec import AbstractFileSystem

T = TypeVar("T")

_KEYS_IN_ONE_DELETION = 1000
_CONNECTIONS = 32
"""As many as an event loop's default executor has threads: no caller waits for a connection."""


class S3ObjectStore:
    """A prefix of an S3 bucket: s3fs for reading, writing and listing, boto3 for conditional writes.

    Args:
        bucket: Name of the bucket.
        prefix: Folder in it, may be empty.
        endpoint_url: For stores other than AWS, with scheme, without a trailing slash.
        key: Access key; None uses the ambient credentials of the machine.
        secret: Its secret.
        region: Region of the bucket.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        endpoint_url: str | None = None,
        key: str | None = None,
        secret: str | None = None,
        region: str | None = None,
    ) -> None:
        self._bucket = bucket
        self._prefix = prefix.strip("/")
        self._endpoint_url = endpoint_url
        self._key = key
        self._secret = secret
        self._region = region
        self._process_id = os.getpid()

    @property
    def _files(self) -> AbstractFileSystem:
        self._leave_what_a_parent_opened()
        return self._opened_files

    @property
    def _client(self) -> Any:  # noqa: ANN401 (boto3 makes its clients at run time, they have no importable type)
        self._leave_what_a_parent_opened()
        return self._opened_client

    def _leave_what_a_parent_opened(self) -> None:
        """A forked process opens clients of its own: it lacks s3fs's thread, and would share sockets with its parent.

        What the parent opened stays referenced: its end would be waited for on an event loop that does not run here.
        """
        if self._process_id != os.getpid():
            self._of_parent = [self.__dict__.pop(name, None) for name in ("_opened_files", "_opened_client")]
            self._process_id = os.getpid()

    @cached_property
    def _opened_files(self) -> AbstractFileSystem:
        import s3fs  # noqa: PLC0415 (0.6 s; only workspaces on S3 need it)

        return s3fs.S3FileSystem(
            key=self._key,
            secret=self._secret,
            client_kwargs={
                name: value
                for name, value in (("endpoint_url", self._endpoint_url), ("region_name", self._region))
                if value
            },
            # s3fs tries again by itself: botocore trying as well would multiply the waits on a store that is gone.
            config_kwargs={
                "connect_timeout": 10,
                "read_timeout": 60,
                "retries": {"total_max_attempts": 1},
                "max_pool_connections": _CONNECTIONS,
            },
            use_listings_cache=False,
            skip_instance_cache=True,
            default_fill_cache=False,
        )

    @cached_property
    def _opened_client(self) -> Any:  # noqa: ANN401 (as above)
        import boto3  # noqa: PLC0415 (as s3fs)
        from botocore.config import Config  # noqa: PLC0415 (as s3fs)

        return boto3.client(
            "s3",
            aws_access_key_id=self._key,
            aws_secret_access_key=self._secret,
            endpoint_url=self._endpoint_url,
            region_name=self._region or "us-east-1",
            config=Config(
                connect_timeout=10,
                read_timeout=60,
                max_pool_connections=_CONNECTIONS,
                retries={"max_attempts": 3},
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        where = (self._bucket, self._prefix, self._endpoint_url, self._key, self._secret, self._region)
        return (_s3_object_store, where)

    def get(self, key: str) -> bytes:
        """The whole object."""
        with self._translated(key):
            return _whole_answer(lambda: bytes(self._files.cat_file(self._path(key))))

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Write the object with one put, which is always durable."""
        del durable
        with self._translated(key):
            self._files.pipe_file(self._path(key), content)

    def exists(self, key: str) -> bool:
        """Whether the object is there."""
        with self._translated(key):
            return bool(self._files.exists(self._path(key)))

    def list(self, prefix: str) -> list[str]:
        """Keys below the folder, sorted."""
        return [entry.key for entry in self.entries(prefix)]

    def entries(self, prefix: str) -> Sequence[ObjectEntry]:
        """Objects below the folder with size and time, sorted by key."""
        cut = len(self._path("x")) - 1
        folder = f"{self._path(prefix)}/"
        with self._translated(prefix):
            try:
                found = self._files.find(folder, detail=True)
            except FileNotFoundError:
                return []
        # Some stores keep an entry for a folder that has become empty; it is no object.
        return [
            ObjectEntry(path[cut:], found[path]["size"], found[path]["LastModified"])
            for path in sorted(found)
            if path.startswith(folder) and not path.endswith("/")
        ]

    def leftovers(self, prefix: str) -> Sequence[ObjectEntry]:
        """Uploads in parts that were never completed, which s3fs begins for objects of 100 MB and more."""
        with self._translated(prefix):
            found = unfinished_uploads(self._client, self._bucket, f"{self._key_of(prefix)}/")
        cut = len(self._key_of("x")) - 1
        return [ObjectEntry(entry.key[cut:], entry.size_bytes, entry.modified_at) for entry in found]

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects, a thousand a request, and give up unfinished uploads."""
        wanted = [self._key_of(key) for key in keys]
        for key in filter(is_upload, wanted):
            with self._translated(key):
                abort_upload(self._client, self._bucket, key)
        names = [{"Key": key} for key in wanted if not is_upload(key)]
        with self._translated(f"{len(names)} objects"):
            for first in range(0, len(names), _KEYS_IN_ONE_DELETION):
                batch = names[first : first + _KEYS_IN_ONE_DELETION]
                answer = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": batch, "Quiet": True})
                for fault in answer.get("Errors", []):
                    if fault.get("Code") != "NoSuchKey":
                        raise OSError(f"{fault.get('Key')} could not be deleted: {fault.get('Code')}")

    def get_versioned(self, key: str) -> VersionedObject | None:
        """The object with its entity tag."""
        with self._translated(key):
            try:
                return _whole_answer(lambda: self._read_versioned(key))
            except self._client.exceptions.NoSuchKey:
                return None

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        """Write by a conditional put (If-None-Match, If-Match)."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 (as s3fs)

        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        with self._translated(key):
            try:
                self._client.put_object(Bucket=self._bucket, Key=self._key_of(key), Body=content, **condition)
            except ClientError as error:
                # A missing object under If-Match is 404 on AWS and 412 elsewhere: either way nothing was written.
                facts = error.response["ResponseMetadata"]
                if facts["HTTPStatusCode"] not in {404, 409, 412}:
                    raise
                # Where the answer to an earlier try was lost, what stands there now may be our own write.
                return facts.get("RetryAttempts", 0) > 0 and self._holds(key, content)
            return True

    def _holds(self, key: str, content: bytes) -> bool:
        found = self.get_versioned(key)
        return found is not None and found.content == content

    def _read_versioned(self, key: str) -> VersionedObject:
        answer = self._client.get_object(Bucket=self._bucket, Key=self._key_of(key))
        content = answer["Body"].read()
        try:
            told = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
            # Both moments are cut to whole seconds, so they may lie a second closer than they look.
            age = max(timedelta(), told - answer["LastModified"] - timedelta(seconds=1))
            return VersionedObject(content, answer["ETag"], age)
        except (KeyError, ValueError) as error:
            raise _BrokenHeadError(f"the answer lacks a header: {error}") from error

    def make_bucket(self) -> None:
        """Create the bucket where it does not exist."""
        with self._translated(self._bucket):
            try:
                self._client.head_bucket(Bucket=self._bucket)
            except self._client.exceptions.ClientError:
                self._client.create_bucket(Bucket=self._bucket)

    def _key_of(self, key: str) -> str:
        return f"{self._prefix}/{checked_key(key)}" if self._prefix else checked_key(key)

    def _path(self, key: str) -> str:
        return f"{self._bucket}/{self._key_of(key)}"

    @contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 (as s3fs)
        from botocore.parsers import ResponseParserError  # noqa: PLC0415 (as s3fs)

        where = f"s3://{self._bucket}/{self._prefix}"
        try:
            yield
        except FileNotFoundError as error:
            raise NotFoundError(f"There is no object {key!r} in {where}.", key=key) from error
        except (BotoCoreError, ClientError, ResponseParserError, OSError) as error:
            refused = refusal(error, where, key)
            raise refused or self._unavailable(where, key, error) from error

    @staticmethod
    def _unavailable(where: str, key: str, error: Exception) -> UnavailableError:
        return UnavailableError(
            f"{where} failed at {key!r}: {error}.",
            remedy="Check that the store is reachable at the endpoint of the workspace file, then start again.",
            dependency="object store",
            key=key,
        )


class _BrokenHeadError(OSError):
    """An answer without the headers that every S3 store sends; never leaves the adapter."""


def _whole_answer(read: Callable[[], T]) -> T:
    """What a read gives. Clients try requests again, but not an answer whose content breaks off."""
    from botocore.exceptions import IncompleteReadError, ResponseStreamingError  # noqa: PLC0415 (as s3fs)
    from botocore.parsers import ResponseParserError  # noqa: PLC0415 (as s3fs)

    broken_off = (IncompleteReadError, ResponseStreamingError, ResponseParserError, _BrokenHeadError)
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(broken_off),
        stop=tenacity.stop_after_attempt(4),
        wait=tenacity.wait_random_exponential(multiplier=0.1, max=2),
        reraise=True,
    )
    return attempts(read)


def _s3_object_store(  # what unpickling calls: the constructor takes most of these by name only
    bucket: str, prefix: str, endpoint_url: str | None, key: str | None, secret: str | None, region: str | None
) -> S3ObjectStore:
    return S3ObjectStore(bucket, prefix, endpoint_url=endpoint_url, key=key, secret=secret, region=region)
