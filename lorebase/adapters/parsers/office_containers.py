"""The zip containers of office files: opened only when what they declare to hold is of a size that fits."""

from __future__ import annotations

import io
import zipfile
import zlib

from lxml import etree

from lorebase.documents.unreadable import too_large, unreadable

# What reading a damaged container raises, beside the errors of the office libraries: they trust what they read.
CONTAINER_FAULTS: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    etree.LxmlError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    EOFError,
    OSError,
    NotImplementedError,
    RecursionError,
)

_MAX_MEMBERS = 20_000
_MAX_BYTES = 1 << 30
# Sheets of numbers shrink to a hundredth; a bomb shrinks to a thousandth. Small files may do as they like.
_MAX_RATIO = 200
_RATIO_COUNTS_FROM_BYTES = 64 << 20
_ENCRYPTED_FLAG = 0x1


def check_container(content: bytes, *, name: str) -> None:
    """Look at a container's table of contents, before any of it is unpacked.

    Raises:
        UnreadableDocumentError: CORRUPT, ENCRYPTED, or TOO_LARGE where it would unpack to more than 1 GiB, or to more
            than 64 MiB at over 200 times its size, or holds more than 20,000 members.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise unreadable(name, "CORRUPT", "a zip container that cannot be opened") from error
    if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
        raise unreadable(name, "ENCRYPTED")
    if len(members) > _MAX_MEMBERS:
        raise unreadable(name, "TOO_LARGE", f"it holds {len(members):,} members, {_MAX_MEMBERS:,} are allowed")
    unpacked = sum(member.file_size for member in members)
    allowed = min(_MAX_BYTES, max(_RATIO_COUNTS_FROM_BYTES, _MAX_RATIO * len(content)))
    if unpacked > allowed:
        raise too_large(name, unpacked, allowed, "unpacked it has")


def xml_root(part: bytes) -> etree._Element:
    """Root of a part of a container; entities, which office files never need, are left as they are."""
    return etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True))
