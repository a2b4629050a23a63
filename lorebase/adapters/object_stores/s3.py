"""A prefix of an S3 bucket as an object store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import tenacity

from lorebase.adapters.object_stores.keys import checked_key
from lorebase.adapters.object_stores.s3_clients import OpenedClients, S3Address, S3Clients
from lorebase.adapters.object_stores.s3_refusals import refusal
from lorebase.adapters.object_stores.s3_uploads import abort_upload, is_upload, unfinished_uploads
from lorebase.artifacts.store import ObjectEntry, VersionedObject
from lorebase.errors import NotFoundError, UnavailableError

T = TypeVar("T")

_KEYS_IN_ONE_DELETION = 1000


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
        self._address = S3Address(endpoint_url, key, secret, region)
        self._clients = S3Clients(self._address)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_s3_object_store, (self._bucket, self._prefix, self._address))

    def close(self) -> None:
        """Give the connections back: at once, and those of calls under way when the last of them has its answer.

        A later call opens them anew.
        """
        self._clients.close()

    def get(self, key: str) -> bytes:
        """The whole object."""
        with self._opened(key) as opened:
            return _whole_answer(lambda: bytes(opened.files.cat_file(self._path(key))))

    def put(self, key: str, content: bytes, *, durable: bool = True) -> None:
        """Write the object with one put, which is always durable."""
        del durable
        with self._opened(key) as opened:
            opened.files.pipe_file(self._path(key), content)

    def exists(self, key: str) -> bool:
        """Whether the object is there."""
        with self._opened(key) as opened:
            return bool(opened.files.exists(self._path(key)))

    def list(self, prefix: str) -> list[str]:
        """Keys below the folder, sorted."""
        return [entry.key for entry in self.entries(prefix)]

    def entries(self, prefix: str) -> Sequence[ObjectEntry]:
        """Objects below the folder with size and time, sorted by key."""
        cut = len(self._path("x")) - 1
        folder = f"{self._path(prefix)}/"
        with self._opened(prefix) as opened:
            try:
                found = opened.files.find(folder, detail=True)
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
        with self._opened(prefix) as opened:
            found = unfinished_uploads(opened.client, self._bucket, f"{self._key_of(prefix)}/")
        cut = len(self._key_of("x")) - 1
        return [ObjectEntry(entry.key[cut:], entry.size_bytes, entry.modified_at) for entry in found]

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects, a thousand a request, and give up unfinished uploads."""
        wanted = [self._key_of(key) for key in keys]
        for key in filter(is_upload, wanted):
            with self._opened(key) as opened:
                abort_upload(opened.client, self._bucket, key)
        names = [{"Key": key} for key in wanted if not is_upload(key)]
        with self._opened(f"{len(names)} objects") as opened:
            for first in range(0, len(names), _KEYS_IN_ONE_DELETION):
                batch = names[first : first + _KEYS_IN_ONE_DELETION]
                answer = opened.client.delete_objects(Bucket=self._bucket, Delete={"Objects": batch, "Quiet": True})
                for fault in answer.get("Errors", []):
                    if fault.get("Code") != "NoSuchKey":
                        raise OSError(f"{fault.get('Key')} could not be deleted: {fault.get('Code')}")

    def get_versioned(self, key: str) -> VersionedObject | None:
        """The object with its entity tag."""
        with self._opened(key) as opened:
            return _whole_answer(lambda: self._read_versioned(opened.client, key))

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        """Write by a conditional put (If-None-Match, If-Match)."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 (as s3fs)

        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        with self._opened(key) as opened:
            try:
                opened.client.put_object(Bucket=self._bucket, Key=self._key_of(key), Body=content, **condition)
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

    def _read_versioned(self, client: Any, key: str) -> VersionedObject | None:  # noqa: ANN401 (boto3 has no types)
        try:
            answer = client.get_object(Bucket=self._bucket, Key=self._key_of(key))
        except client.exceptions.NoSuchKey:  # here: whoever keeps the error keeps its connection open
            return None
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
        with self._opened(self._bucket) as opened:
            try:
                opened.client.head_bucket(Bucket=self._bucket)
            except opened.client.exceptions.ClientError:
                opened.client.create_bucket(Bucket=self._bucket)

    def _key_of(self, key: str) -> str:
        return f"{self._prefix}/{checked_key(key)}" if self._prefix else checked_key(key)

    def _path(self, key: str) -> str:
        return f"{self._bucket}/{self._key_of(key)}"

    @contextmanager
    def _opened(self, key: str) -> Iterator[OpenedClients]:
        """The clients for one operation on an object, with foreign errors translated."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 (as s3fs)
        from botocore.parsers import ResponseParserError  # noqa: PLC0415 (as s3fs)

        where = f"s3://{self._bucket}/{self._prefix}"
        try:
            with self._clients.used() as opened:
                yield opened
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


def _s3_object_store(bucket: str, prefix: str, address: S3Address) -> S3ObjectStore:
    """What unpickling calls: the constructor takes most of these by name only."""
    return S3ObjectStore(
        bucket, prefix, endpoint_url=address.endpoint_url, key=address.key, secret=address.secret, region=address.region
    )
