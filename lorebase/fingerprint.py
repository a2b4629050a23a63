"""Canonical fingerprints: equal content gives equal digests on every machine, at any time, in any dictionary order.

Values are encoded with their type and their length before they are hashed, so that no two different values share an
encoding: `["ab", "c"]` is not `["a", "bc"]`, `"1"` is not `1`, `1` is not `1.0`, and `True` is not `1`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping
from pathlib import PurePath

DIGEST_CHARS = 32


def fingerprint(*values: object) -> str:
    """Digest of the values, in order.

    Args:
        values: None, bool, int, float, str, bytes, sequences, mappings with text keys, sets of text, nested at will.

    Returns:
        32 lower-case hexadecimal characters (the first 128 bits of SHA-256).

    Raises:
        TypeError: A value has no canonical form (an object, a path, a date): the caller names what counts of it.
    """
    digest = hashlib.sha256()
    _encode(values, digest.update)
    return digest.hexdigest()[:DIGEST_CHARS]


def sha256_of(content: bytes) -> str:
    """SHA-256 of the bytes, 64 lower-case hexadecimal characters."""
    return hashlib.sha256(content).hexdigest()


def _encode(value: object, write: Callable[[bytes], None]) -> None:
    match value:
        case str():
            write(_framed(b"S", value.encode("utf-8", "surrogatepass")))
        case None | bool() | int() | float() | bytes():
            write(_scalar(value))
        case Mapping():
            write(b"M" + struct.pack(">Q", len(value)))
            for key in sorted(value, key=_text_key):
                _encode(key, write)
                _encode(value[key], write)
        case set() | frozenset():
            write(b"X" + struct.pack(">Q", len(value)))
            for member in sorted(value):
                _encode(member, write)
        case list() | tuple():
            write(b"L" + struct.pack(">Q", len(value)))
            for member in value:
                _encode(member, write)
        case _:
            hint = "pass its text" if isinstance(value, PurePath) else "pass the fields that count"
            msg = f"a {type(value).__name__} has no canonical form to fingerprint: {hint}"
            raise TypeError(msg)


def _scalar(value: bool | float | bytes | None) -> bytes:  # noqa: FBT001 (a value to hash, not a switch)
    match value:
        case None:
            return b"N"
        case bool():
            return b"T" if value else b"F"
        case int():
            return _framed(b"I", str(value).encode())
        case float():
            return b"D" + struct.pack(">d", value)
        case bytes():
            return _framed(b"B", value)


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        msg = f"a mapping key must be text to be fingerprinted, not {type(key).__name__}"
        raise TypeError(msg)
    return key


def _framed(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack(">Q", len(content)) + content
