"""What type a document has: decided by its extension and by its first bytes, which win where they are plain."""

from __future__ import annotations

import io
import zipfile
from typing import Literal

from lorebase.documents.unreadable import unreadable

FileType = Literal["md", "txt", "html", "docx", "pptx", "xlsx", "xls", "csv", "tsv", "json", "jsonl", "pdf", "eml"]

MEDIA_TYPES: dict[FileType, str] = {
    "md": "text/markdown",
    "txt": "text/plain",
    "html": "text/html",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xls": "application/vnd.ms-excel",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "pdf": "application/pdf",
    "eml": "message/rfc822",
}

EXTENSIONS: dict[str, FileType] = {
    "md": "md",
    "markdown": "md",
    "txt": "txt",
    "text": "txt",
    "log": "txt",
    "rst": "txt",
    "": "txt",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "docx": "docx",
    "docm": "docx",
    "dotx": "docx",
    "pptx": "pptx",
    "pptm": "pptx",
    "ppsx": "pptx",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
    "xls": "xls",
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "json": "json",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "pdf": "pdf",
    "eml": "eml",
}

# Types whose files have a binary form: without it the file is damaged or mislabelled, never "just text".
_BINARY_TYPES: frozenset[FileType] = frozenset({"docx", "pptx", "xlsx", "xls", "pdf"})
_OFFICE_FOLDERS: dict[str, FileType] = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx"}
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
# Readers of PDF accept some bytes before the header (ISO 32000-1, annex H, note 13: within the first 1,024).
_PDF_HEADER_WITHIN_BYTES = 1024
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_WORKBOOK_STREAMS = tuple(name.encode("utf-16-le") for name in ("Workbook", "Book"))
# What a file may begin with that is neither text nor readable here.
_FOREIGN_MAGICS = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\x7fELF",
    b"SQLite format 3",
)


def decide_file_type(name: str, content: bytes) -> FileType:
    """The type of a document.

    Args:
        name: Its name; only the extension counts.
        content: All of its bytes.

    Raises:
        UnreadableDocumentError: EMPTY, ENCRYPTED (office file with a password), CORRUPT (no form of what its extension
            says), BINARY (data under the name of a text, or of no known type) or UNKNOWN_TYPE.
    """
    if not content:
        raise unreadable(name, "EMPTY")
    by_content = _type_by_content(name, content)
    if by_content is not None:
        return by_content
    extension = _extension_of(name)
    by_name = EXTENSIONS.get(extension)
    if by_name in _BINARY_TYPES:
        raise unreadable(name, "CORRUPT", f"its content is no {by_name}")
    if content.startswith(_FOREIGN_MAGICS) or (by_name is None and _looks_binary(content)):
        raise unreadable(name, "BINARY")
    if by_name is None:
        raise unreadable(name, "UNKNOWN_TYPE", f"extension .{extension}")
    return by_name


def _extension_of(name: str) -> str:
    last = name.rsplit("/", 1)[-1]
    return last.rsplit(".", 1)[1].lower() if "." in last.lstrip(".") else ""


def _type_by_content(name: str, content: bytes) -> FileType | None:
    if content.startswith(_ZIP_MAGICS):
        return _type_of_zip(name, content)
    if content.startswith(_OLE_MAGIC):
        return _type_of_ole(name, content)
    head = content[:_PDF_HEADER_WITHIN_BYTES]
    if head.startswith(b"%PDF-") or (b"%PDF-" in head and _extension_of(name) == "pdf"):
        return "pdf"
    return None


def _type_of_zip(name: str, content: bytes) -> FileType:
    by_name = EXTENSIONS.get(_extension_of(name))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        reason: Literal["CORRUPT", "BINARY"] = "CORRUPT" if by_name in _BINARY_TYPES else "BINARY"
        raise unreadable(name, reason, "a zip container that cannot be opened") from error
    for folder, file_type in _OFFICE_FOLDERS.items():
        if any(member.startswith(folder) for member in members):
            return file_type
    if by_name in _BINARY_TYPES:
        raise unreadable(name, "CORRUPT", "a zip container without an office document in it")
    raise unreadable(name, "BINARY" if by_name else "UNKNOWN_TYPE", "a zip container")


def _type_of_ole(name: str, content: bytes) -> FileType:
    if _ENCRYPTED_STREAM in content:
        raise unreadable(name, "ENCRYPTED")
    if any(stream in content for stream in _WORKBOOK_STREAMS):
        return "xls"
    raise unreadable(name, "UNKNOWN_TYPE", "an office file of the format before 2007")


def _looks_binary(content: bytes) -> bool:
    head = content[:4096]
    controls = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x1b")  # noqa: PLR2004 (first printable ASCII)
    return controls * 50 > len(head)
