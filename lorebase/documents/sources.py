"""Scanning a source: which documents it holds now, with their digests, and reading one of them."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Protocol

from lorebase.documents.file_names import NameFilter, is_hidden
from lorebase.documents.model import SIDECAR_SUFFIX, SourceDocument
from lorebase.documents.unreadable import too_large
from lorebase.errors import ConfigurationError, ConflictError
from lorebase.fingerprint import sha256_of
from lorebase.ids import document_id_of

MAX_SIDECAR_BYTES = 64 * 1024

_BLOCK_BYTES = 1 << 20


class FileSystem(Protocol):
    """What a scan asks of a file system. Every fsspec file system is one."""

    def ls(self, path: str, detail: bool = True) -> list[dict[str, object]]:  # noqa: FBT001, FBT002 (fsspec's signature)
        """Entries of a folder: mappings with at least `name` (full path) and `type` ("file" or "directory")."""
        ...

    def info(self, path: str) -> dict[str, object]:
        """The entry of one path."""
        ...

    def open(self, path: str, mode: str = "rb") -> IO[bytes]:
        """The bytes of a file, as a stream."""
        ...

    def unstrip_protocol(self, name: str) -> str:
        """The path with its protocol before it."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """Where documents come from, as the recipe says.

    Attributes:
        name: Its name in the recipe; part of every document's identity.
        url: A local folder or any fsspec url.
        include: Patterns of which a document's name must match one (`lorebase.documents.file_names.NameFilter`).
        exclude: Patterns of which it must match none.
    """

    name: str
    url: str
    include: tuple[str, ...] = ("**/*",)
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceIssue:
    """An entry of a source that was left out.

    Attributes:
        code: SYMLINK_LOOP, UNREADABLE_ENTRY, DUPLICATE_NAME, SIDECAR_WITHOUT_DOCUMENT or SIDECAR_TOO_LARGE.
        name: Its name in the source.
        message: One sentence.
    """

    code: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class SourceScan:
    """What a scan found: documents by name, and the entries that it had to leave out."""

    documents: tuple[SourceDocument, ...]
    issues: tuple[SourceIssue, ...]


def scan(source: Source, filesystem: FileSystem, root: str) -> SourceScan:
    """List the documents of a source with size and digest; contents are streamed, never held.

    Hidden files and folders (leading dot) and office lock files (`~$`) are not documents. Large files are listed like
    any other: the limit is applied where content is read. A file `NAME.meta.yaml` is no document: it describes the
    document NAME beside it, whose entry holds its digest.

    Args:
        source: Its settings.
        filesystem: Opened for `source.url`.
        root: The folder inside `filesystem` that `source.url` names.

    Returns:
        Documents sorted by name; issues in the order of the walk.

    Raises:
        ConfigurationError: `root` does not exist, is no folder, or may not be read.
    """
    walk = _Walk(filesystem, NameFilter(source.include, source.exclude))
    documents: dict[str, SourceDocument] = {}
    sidecars: dict[str, str] = {}
    for name, path in walk.files(root):
        if name.endswith(SIDECAR_SUFFIX):
            sidecars[name.removesuffix(SIDECAR_SUFFIX)] = path
            continue
        if name in documents:
            walk.report("DUPLICATE_NAME", name, f"{path} has the same name as {documents[name].url}; it was left out.")
            continue
        try:
            sha256, size_bytes = _digest(filesystem, path)
        except OSError as error:
            walk.report("UNREADABLE_ENTRY", name, f"{path} cannot be read: {_reason(error)}.")
            continue
        documents[name] = SourceDocument(
            document_id=document_id_of(source.name, name),
            name=name,
            source=source.name,
            url=filesystem.unstrip_protocol(path),
            sha256=sha256,
            size_bytes=size_bytes,
        )
    for name, path in sidecars.items():
        _join_sidecar(walk, documents, name, path)
    return SourceScan(tuple(documents[name] for name in sorted(documents)), tuple(walk.issues))


def read_bytes(document: SourceDocument, filesystem: FileSystem, *, max_bytes: int) -> bytes:
    """The content of a scanned document.

    Raises:
        UnreadableDocumentError: It is longer than `max_bytes` (reason TOO_LARGE); nothing was read.
        ConflictError: Its bytes are no longer those of the scan, or they are gone.
    """
    if document.size_bytes > max_bytes:
        raise too_large(document.name, document.size_bytes, max_bytes)
    changed = f"Document {document.name!r} of source {document.source!r} changed after the source was scanned."
    remedy = "Build again; the next scan takes its new content."
    try:
        with filesystem.open(document.url, "rb") as stream:
            content = stream.read()
    except OSError as error:
        raise ConflictError(changed, remedy=remedy, document=document.name) from error
    if sha256_of(content) != document.sha256:
        raise ConflictError(changed, remedy=remedy, document=document.name)
    return content


def _join_sidecar(walk: _Walk, documents: dict[str, SourceDocument], name: str, path: str) -> None:
    """Give a document the digest of the file that describes it."""
    if name not in documents:
        if walk.names.accepts(name):
            walk.report("SIDECAR_WITHOUT_DOCUMENT", name, f"{path} describes {name!r}, which is not there.")
        return
    try:
        sha256, size_bytes = _digest(walk.filesystem, path)
    except OSError as error:
        walk.report("UNREADABLE_ENTRY", name, f"{path} cannot be read: {_reason(error)}.")
        return
    if size_bytes > MAX_SIDECAR_BYTES:
        message = f"{path} has {size_bytes} bytes; at most {MAX_SIDECAR_BYTES} are read, so it was passed over."
        walk.report("SIDECAR_TOO_LARGE", name, message)
        return
    documents[name] = replace(documents[name], sidecar_sha256=sha256)


@dataclass
class _Walk:
    """A walk through the folders of one source, depth first, that survives what it cannot enter."""

    filesystem: FileSystem
    names: NameFilter
    issues: list[SourceIssue] = field(default_factory=list)

    def report(self, code: str, name: str, message: str) -> None:
        self.issues.append(SourceIssue(code, name, message))

    def files(self, root: str) -> Iterator[tuple[str, str]]:
        """Names and paths of the wanted files below `root`."""
        try:
            entries = self._entries(root)
        except OSError as error:
            raise ConfigurationError(
                f"The source folder {root!r} cannot be read: {_reason(error)}.",
                remedy="Correct the source in the recipe, or create the folder.",
                root=root,
            ) from error
        yield from self._below("", entries, (_real_path(root),))

    def _below(
        self, prefix: str, entries: list[Mapping[str, object]], ancestors: tuple[str, ...]
    ) -> Iterator[tuple[str, str]]:
        for entry in entries:
            path = str(entry["name"])
            last = unicodedata.normalize("NFC", path.rstrip("/").rsplit("/", 1)[-1])
            if is_hidden(last):
                continue
            name = prefix + last
            kind = self._kind(entry)
            if kind == "directory":
                yield from self._folder(name, path, entry, ancestors)
            elif self.names.accepts(name) or name.endswith(SIDECAR_SUFFIX):
                if kind == "file":
                    yield name, path
                else:
                    self.report("UNREADABLE_ENTRY", name, f"{path} is no file and no folder, but {kind}.")

    def _folder(
        self, name: str, path: str, entry: Mapping[str, object], ancestors: tuple[str, ...]
    ) -> Iterator[tuple[str, str]]:
        # Only local file systems know links; elsewhere the path itself is the folder's identity.
        real_path = _real_path(path) if entry.get("islink") else path
        if real_path in ancestors:
            self.report("SYMLINK_LOOP", name, f"{path} links to a folder that it lies in; it was not entered.")
            return
        try:
            entries = self._entries(path)
        except OSError as error:
            self.report("UNREADABLE_ENTRY", name, f"The folder {path} cannot be read: {_reason(error)}.")
            return
        yield from self._below(f"{name}/", entries, (*ancestors, real_path))

    def _kind(self, entry: Mapping[str, object]) -> str:
        """What an entry is; for a link, what it leads to (a listing does not say that)."""
        if not entry.get("islink"):
            return str(entry["type"])
        try:
            return str(self.filesystem.info(str(entry["name"]))["type"])
        except OSError:
            return "a link that leads nowhere"

    def _entries(self, folder: str) -> list[Mapping[str, object]]:
        listed = self.filesystem.ls(folder, detail=True)
        own = folder.rstrip("/")
        if any(str(entry["name"]).rstrip("/") == own and entry["type"] == "file" for entry in listed):
            raise NotADirectoryError(folder)
        # Object stores list the marker object of a folder as an entry of that folder.
        inside = [entry for entry in listed if str(entry["name"]).rstrip("/") != own]
        return sorted(inside, key=lambda entry: str(entry["name"]))


def _digest(filesystem: FileSystem, path: str) -> tuple[str, int]:
    digest = hashlib.sha256()
    size_bytes = 0
    with filesystem.open(path, "rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
            size_bytes += len(block)
    return digest.hexdigest(), size_bytes


def _real_path(path: str) -> str:
    return str(Path(path).resolve())


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
