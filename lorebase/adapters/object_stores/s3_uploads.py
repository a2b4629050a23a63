"""Uploads in parts that a killed process left on S3: invisible in listings, paid for until somebody gives them up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lorebase.artifacts.store import ObjectEntry

_UPLOAD_MARK = ".uploading-"


def unfinished_uploads(client: Any, bucket: str, prefix: str) -> list[ObjectEntry]:  # noqa: ANN401 (boto3 has no types)
    """Uploads below a prefix, sorted, each named by its object's key and its id; the time is that of its beginning."""
    found = [
        ObjectEntry(f"{upload['Key']}{_UPLOAD_MARK}{upload['UploadId']}", size, upload["Initiated"])
        for upload in _uploads(client, bucket, prefix)
        if (size := _size(client, bucket, upload)) is not None
    ]
    return sorted(found, key=lambda entry: entry.key)


def is_upload(key: str) -> bool:
    """Whether a key is one that `unfinished_uploads` gave."""
    return _UPLOAD_MARK in key


def abort_upload(client: Any, bucket: str, key: str) -> None:  # noqa: ANN401 (as above)
    """Give an upload up and free its parts; one that is gone is no error."""
    name, _, upload_id = key.partition(_UPLOAD_MARK)
    try:
        client.abort_multipart_upload(Bucket=bucket, Key=name, UploadId=upload_id)
    except client.exceptions.NoSuchUpload:
        return


def _uploads(client: Any, bucket: str, prefix: str) -> Iterator[Any]:  # noqa: ANN401 (as above)
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix)
    for page in pages:
        yield from (upload for upload in page.get("Uploads", ()) if upload["Key"].startswith(prefix))


def _size(client: Any, bucket: str, upload: Any) -> int | None:  # noqa: ANN401 (as above)
    """Bytes of the parts that arrived; None where it was completed or given up meanwhile."""
    where = {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
    try:
        pages = client.get_paginator("list_parts").paginate(**where)
        return sum(int(part["Size"]) for page in pages for part in page.get("Parts", ()))
    except client.exceptions.NoSuchUpload:
        return None
