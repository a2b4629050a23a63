"""What lies in a folder that is to be moved: files, folders and links, their sizes and, where asked for, digests."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lorebase.registry.migration.reasons import refusal, shown_name

Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tree.

    Attributes:
        kind: What it is; links are never followed.
        size_bytes: Length of a file, 0 for everything else.
        content: SHA-256 of a file where it was asked for, the text of a link, else empty.
        changed_ns: When a file was last written, as the file system says; no part of a comparison of contents.
    """

    kind: Kind
    size_bytes: int = 0
    content: str = ""
    changed_ns: int = 0

    def is_same(self, other: Entry | None) -> bool:
        """Whether both hold the same, whenever written."""
        return other is not None and replace(self, changed_ns=0) == replace(other, changed_ns=0)


Survey = dict[str, Entry]
"""Entries by path relative to the folder, parents before children; the folder itself is the empty path."""


def survey(folder: Path, *, digests: bool = False, after_file: Callable[[], None] | None = None) -> Survey:
    """Everything in a folder, sorted by path; the folder may be a file or a link itself.

    Args:
        folder: Where to look; it must exist.
        digests: Whether files are read for their SHA-256.
        after_file: Called after each file that was read.

    Raises:
        MigrationError: UNREADABLE, a folder or a file cannot be read.
        OSError: It is not there, or the disk fails.
    """
    found: dict[str, Entry] = {}
    for path, facts in _walked(folder):
        relative = path.relative_to(folder).as_posix()
        entry = _entry(path, facts)
        if digests and entry.kind == "file":
            entry = replace(entry, content=digest_of(path))
            if after_file is not None:
                after_file()
        found["" if relative == "." else relative] = entry
    return found


def digest_of(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        MigrationError: UNREADABLE.
        OSError: The disk fails.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except PermissionError as error:
        raise refusal("UNREADABLE", shown_name(str(path))) from error


def differences(expected: Survey, found: Survey) -> list[str]:
    """Paths that only one of the two has, or that hold other things; sorted."""
    paths = sorted(expected.keys() | found.keys())
    return [path for path in paths if path not in expected or not expected[path].is_same(found.get(path))]


def unsafe_links(
    surveys: Mapping[str, Survey], new_names: Mapping[str, str], root: Path, *, in_place: bool = False
) -> list[str]:
    """Links that would lead elsewhere, or nowhere, once the folders have moved together.

    A relative link is safe where it stays among folders that keep their names; an absolute one where it does not lead
    into a folder that moves.

    Args:
        surveys: Surveys of the folders that move, by their names in `root`.
        new_names: Their names afterwards.
        root: Where they lie now, absolute.
        in_place: Whether they stay in `root`, so that only those with a new name move.

    Returns:
        `path -> text of the link`, in order.
    """
    kept = {name for name in surveys if new_names[name] == name}
    moving = set(surveys) - kept if in_place else set(surveys)
    return [
        f"{_joined(name, path)} -> {entry.content}"
        for name, found in surveys.items()
        for path, entry in found.items()
        if entry.kind == "link" and not _is_safe(_joined(name, path), entry.content, root, moving, kept)
    ]


def _is_safe(path: str, text: str, root: Path, moving: set[str], kept: set[str]) -> bool:
    if text.startswith("/"):
        ends = (Path(os.path.normpath(text)), Path(os.path.realpath(text)))
        return not any(end.is_relative_to(root / name) for end in ends for name in moving)
    end = os.path.normpath(os.path.join(os.path.dirname(path), text))  # noqa: PTH118, PTH120 (lexical, no disk)
    first, _, _ = end.partition("/")
    return first in kept or (first == path.partition("/")[0] and not _leaves(path, text))


def _leaves(path: str, text: str) -> bool:
    """Whether a relative link steps out of the first folder of its path, even if it comes back by its name."""
    depth = path.count("/") - 1
    for part in text.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return False


def _joined(name: str, path: str) -> str:
    return f"{name}/{path}" if path else name


def _walked(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        facts = path.lstat()
        yield path, facts
        if stat.S_ISDIR(facts.st_mode):
            try:
                names = sorted(os.listdir(path), reverse=True)  # noqa: PTH208 (names alone; iterdir makes paths twice)
            except PermissionError as error:
                raise refusal("UNREADABLE", shown_name(str(path))) from error
            waiting += [path / name for name in names]


def _entry(path: Path, facts: os.stat_result) -> Entry:
    if stat.S_ISLNK(facts.st_mode):
        return Entry("link", content=os.readlink(path))  # noqa: PTH115 (the text as it is, no path made of it)
    if stat.S_ISDIR(facts.st_mode):
        return Entry("folder")
    if stat.S_ISREG(facts.st_mode):
        return Entry("file", facts.st_size, changed_ns=facts.st_mtime_ns)
    return Entry("other")
