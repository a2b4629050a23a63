"""Which keys an object store takes."""

from __future__ import annotations

from lorebase.errors import UsageError


def checked_key(key: str) -> str:
    """The key, if it cannot lead out of its store.

    Raises:
        UsageError: It is empty, absolute, or has empty, `.` or `..` parts.
    """
    parts = key.split("/")
    if not key or any(part in {"", ".", ".."} for part in parts) or "\\" in key or "\0" in key:
        raise UsageError(f"{key!r} is not a key of an object store.", remedy="Use relative keys such as a/b/c.json.")
    return key
