"""Object stores: a local folder, and S3 through s3fs with boto3 for conditional writes and deletions."""

from __future__ import annotations

from pathlib import Path

from lorebase.adapters.object_stores.local import LocalObjectStore
from lorebase.adapters.object_stores.s3 import S3ObjectStore
from lorebase.errors import ConfigurationError

__all__ = ["LocalObjectStore", "S3ObjectStore", "open_object_store"]


def open_object_store(
    url: str,
    *,
    endpoint_url: str | None = None,
    key: str | None = None,
    secret: str | None = None,
    region: str | None = None,
) -> LocalObjectStore | S3ObjectStore:
    """The store behind a URL: a folder (a plain path or `file://`), or `s3://bucket/prefix`.

    Raises:
        ConfigurationError: The URL has another scheme, or names no bucket.
    """
    if url.startswith("s3://"):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        if not bucket:
            raise ConfigurationError(f"{url!r} names no bucket.", remedy="Write s3://bucket/prefix.")
        if endpoint_url and not endpoint_url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"The endpoint {endpoint_url!r} has no scheme.", remedy=f"Write http://{endpoint_url} or https://."
            )
        endpoint = endpoint_url.rstrip("/") if endpoint_url else None
        return S3ObjectStore(bucket, prefix, endpoint_url=endpoint, key=key, secret=secret, region=region)
    if "://" in url and not url.startswith("file://"):
        raise ConfigurationError(f"An object store cannot lie at {url!r}.", remedy="Use a folder or an s3:// address.")
    return LocalObjectStore(Path(url.removeprefix("file://")))
