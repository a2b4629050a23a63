"""What an uploaded file must be before anything is stored: its name, size, type, and content that agrees with both."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

from lorebase.documents.file_types import MEDIA_TYPES, FileType, decide_file_type
from lorebase.errors import (
    FileTooLargeError,
    InvalidInputError,
    MimeMismatchError,
    UnreadableDocumentError,
    UnsafeFileNameError,
    UnsupportedTypeError,
)
from lorebase.governance.ports import ContainerCheck

MAX_NAME_BYTES = 255

ACCEPTED_EXTENSIONS: Mapping[str, FileType] = {
    "pdf": "pdf",
    "docx": "docx",
    "pptx": "pptx",
    "xlsx": "xlsx",
    "html": "html",
    "htm": "html",
    "md": "md",
    "markdown": "md",
    "txt": "txt",
    "csv": "csv",
}
"""What is taken in. Office files with macros and formats before 2007 are not."""

_CONTAINERS = frozenset({"docx", "pptx", "xlsx"})
_ZIP_MAGIC = b"PK"
_BLOCK_BYTES = 1 << 20
# What browsers and mail programs say where they do not know better.
_VAGUE_MEDIA_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_TEXT_TYPES = frozenset({"md", "txt", "csv"})
_ALSO_DECLARED: Mapping[str, frozenset[str]] = {
    "md": frozenset({"text/x-markdown"}),
    "csv": frozenset({"application/csv", "application/vnd.ms-excel"}),
    "html": frozenset({"application/xhtml+xml"}),
    "pdf": frozenset({"application/x-pdf"}),
}
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it comes in.

    Attributes:
        name: The name that the sender gives it.
        stream: Its bytes; read once, from where it stands, no further than the limit.
        media_type: What the sender says it is; may be empty.
    """

    name: str
    stream: BinaryIO = field(repr=False)
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that passed every check."""

    name: str
    file_type: FileType
    media_type: str
    sha256: str
    content: bytes = field(repr=False)


def checked_file(upload: Upload, *, max_bytes: int, check_container: ContainerCheck) -> CheckedFile:
    """The file, read in blocks and never past the limit.

    Raises:
        UnsafeFileNameError: See `safe_file_name`.
        UnsupportedTypeError: Its type is not taken in, or it is protected by a password.
        FileTooLargeError: It is over the limit, or would be when unpacked.
        MimeMismatchError: Name, declared media type and content do not agree.
        InvalidInputError: It is empty.
    """
    name = safe_file_name(upload.name)
    file_type = _type_by_name(name)
    _require_agreement(name, file_type, upload.media_type)
    content = _read(name, upload.stream, max_bytes)
    _require_content(name, file_type, content, check_container)
    return CheckedFile(name, file_type, MEDIA_TYPES[file_type], hashlib.sha256(content).hexdigest(), content)


def safe_file_name(name: str) -> str:
    """The name in NFC, without blanks around it.

    Raises:
        UnsafeFileNameError: It is empty, begins with a dot, has a path separator, a control or invisible
            character, or more than 255 bytes in UTF-8.
    """
    normal = unicodedata.normalize("NFC", name).strip()
    problem = _name_problem(normal)
    if problem:
        raise UnsafeFileNameError(
            f"The file name {normal[:80]!a} {problem}.", remedy="Rename the file and send it again.", field="name"
        )
    return normal


def _name_problem(name: str) -> str:
    if not name:
        return "is empty"
    if name.startswith("."):
        return "begins with a dot"
    if "/" in name or "\\" in name:
        return "holds a path separator"
    if any(unicodedata.category(char) in _FORBIDDEN_CATEGORIES for char in name):
        return "holds a control or invisible character"
    size = len(name.encode())
    return f"has {size} bytes, {MAX_NAME_BYTES} are allowed" if size > MAX_NAME_BYTES else ""


def _type_by_name(name: str) -> FileType:
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    file_type = ACCEPTED_EXTENSIONS.get(extension)
    if file_type is None:
        raise UnsupportedTypeError(
            f"The file {name!r} is of a type that is not taken in.",
            remedy=f"Send one of {', '.join(sorted(ACCEPTED_EXTENSIONS))}.",
            extension=extension,
        )
    return file_type


def _require_agreement(name: str, file_type: FileType, declared: str) -> None:
    media_type = declared.partition(";")[0].strip().lower()
    allowed = {MEDIA_TYPES[file_type], *_VAGUE_MEDIA_TYPES, *_ALSO_DECLARED.get(file_type, ())}
    if file_type in _TEXT_TYPES:
        allowed.add("text/plain")
    if media_type not in allowed:
        raise MimeMismatchError(
            f"The file {name!r} is declared as {media_type[:80]!r}, its name says {MEDIA_TYPES[file_type]!r}.",
            remedy="Send it with the media type of its content.",
        )


def _read(name: str, stream: BinaryIO, max_bytes: int) -> bytes:
    content = bytearray()
    while block := stream.read(min(_BLOCK_BYTES, max_bytes + 1 - len(content))):
        content += block
        if len(content) > max_bytes:
            raise FileTooLargeError(
                f"The file {name!r} has more than {max_bytes:,} bytes.", remedy="Split it.", max_bytes=max_bytes
            )
    if not content:
        raise InvalidInputError(f"The file {name!r} is empty.", remedy="Send the file again.", field="file")
    return bytes(content)


def _require_content(name: str, file_type: FileType, content: bytes, check_container: ContainerCheck) -> None:
    try:
        if file_type in _CONTAINERS and content.startswith(_ZIP_MAGIC):
            check_container(content, name=name)
        found = decide_file_type(name, content)
    except UnreadableDocumentError as error:
        _reject(name, file_type, error)
    if found != file_type or (file_type in _TEXT_TYPES | {"html"} and b"\x00" in content and not _is_utf16(content)):
        raise MimeMismatchError(
            f"The file {name!r} holds no {file_type}.", remedy="Give it the extension of its content.", found=found
        )


def _is_utf16(content: bytes) -> bool:
    return content.startswith((b"\xff\xfe", b"\xfe\xff"))


def _reject(name: str, file_type: FileType, error: UnreadableDocumentError) -> NoReturn:
    reason = error.facts["reason"]
    if reason == "TOO_LARGE":
        raise FileTooLargeError(f"The file {name!r} would unpack to more than is allowed.", reason=reason) from error
    if reason == "ENCRYPTED":
        raise UnsupportedTypeError(
            f"The file {name!r} is protected by a password.", remedy="Save it without the password.", reason=reason
        ) from error
    raise MimeMismatchError(
        f"The file {name!r} is damaged, or no {file_type}.",
        remedy="Open it in its own program and save it again.",
        reason=reason,
    ) from error
