"""Deciding whether a tree or a memory can move, and planning the move, without changing anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lorebase.errors import UsageError
from lorebase.registry.layout.folders import KNOWLEDGE_FOLDERS, LEGACY_MEMORY, LEGACY_SOURCE, SOURCE_RAW
from lorebase.registry.layout.paths import knowledge_tree, memory_root
from lorebase.registry.migration.journal import JournalRecord, Phase
from lorebase.registry.migration.outcome import Mode, MovedFolder, What
from lorebase.registry.migration.reasons import listed, refusal
from lorebase.registry.migration.survey import Survey, survey, unsafe_links

SameDevice = Callable[[Path, Path], bool]
"""Whether folders can travel from the first to the second path by being renamed."""

TREE_NAMES: Mapping[str, str] = {
    LEGACY_SOURCE: SOURCE_RAW,
    **{folder.name: folder.name for folder in KNOWLEDGE_FOLDERS},
}
"""Names of what moves with a tree: before, and afterwards. `04_memory` is none of them."""

MEMORY_NAMES: Mapping[str, str] = {LEGACY_MEMORY: ""}
"""The old memory becomes the memory of the base itself."""


@dataclass(frozen=True)
class Places:
    """Where a move begins and ends.

    Attributes:
        what: Tree or memory.
        base_id: The base.
        source: Folder that holds what moves; absolute, without symbolic links.
        target: The tree or the memory in the new layout; absolute, without symbolic links.
    """

    what: What
    base_id: str
    source: Path
    target: Path

    @property
    def staging(self) -> Path:
        """Where everything is gathered before it appears at the target at once."""
        return self.target.with_name(f"{self.target.name}.partial")

    @property
    def journal(self) -> Path:
        """The journal of the move."""
        return self.target.with_name(f"{self.target.name}.migration.jsonl")

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Names of what may move, before and afterwards."""
        return TREE_NAMES if self.what == "tree" else MEMORY_NAMES

    def found(self) -> tuple[tuple[str, str], ...]:
        """What of it lies in the source, in the order of the layout."""
        return tuple(names for names in self.names.items() if os.path.lexists(self.source / names[0]))


@dataclass(frozen=True)
class MovePlan:
    """A move that nothing speaks against."""

    places: Places
    moves: tuple[tuple[str, str], ...]
    mode: Mode
    folders: tuple[MovedFolder, ...] = ()

    def record(self, phase: Phase) -> JournalRecord:
        """The plan as the journal keeps it."""
        places = self.places
        return JournalRecord(
            phase=phase,
            what=places.what,
            base_id=places.base_id,
            source=str(places.source),
            target=str(places.target),
            mode=self.mode,
            moves=self.moves,
        )

    def pairs(self) -> list[tuple[Path, Path]]:
        """Where each folder lies, and where it is gathered."""
        places = self.places
        return [(places.source / old, places.staging / new if new else places.staging) for old, new in self.moves]

    def published(self) -> list[tuple[Path, Path]]:
        """Where each folder lay, and where it lies in the end."""
        places = self.places
        return [(places.source / old, places.target / new if new else places.target) for old, new in self.moves]


def tree_places(source: Path, agent_root: Path, base_id: str) -> Places:
    """The places of a tree's move.

    Raises:
        UsageError: `base_id` is no id of a base, or a path is no UTF-8.
    """
    return Places("tree", base_id, _resolved(source), _resolved(knowledge_tree(agent_root, base_id)))


def memory_places(source: Path, agent_root: Path, base_id: str) -> Places:
    """The places of a memory's move; as `tree_places`."""
    return Places("memory", base_id, _resolved(source), _resolved(memory_root(agent_root, base_id)))


def planned_move(places: Places, moves: tuple[tuple[str, str], ...], same_device: SameDevice) -> MovePlan:
    """The plan of a move, after everything was looked at that can be foreseen to fail.

    Raises:
        MigrationError: It cannot be done, and why.
        OSError: A place cannot be looked into.
    """
    _require_no_nesting(places, moves)
    _require_free_target(places)
    folders = [places.source / old for old, _ in moves]
    mode: Mode = "rename" if all(same_device(folder, places.target) for folder in folders) else "copy"
    surveys = {old: survey(places.source / old) for old, _ in moves}
    require_movable(surveys, dict(moves), places.source)
    sizes = tuple(moved_folder(old, new, surveys[old]) for old, new in moves)
    if mode == "copy":
        _require_readable(surveys, places.source)
        _require_room(sum(size.size_bytes for size in sizes), places.target)
    _require_writable(places.target)
    return MovePlan(places, moves, mode, sizes)


def require_movable(
    surveys: Mapping[str, Survey], new_names: Mapping[str, str], root: Path, *, in_place: bool = False
) -> None:
    """Refuse entries that no move can take along, and links that it would break; see `unsafe_links`.

    Raises:
        MigrationError: UNSUPPORTED_FILE or UNSAFE_LINK.
    """
    odd = [f"{old}/{path}" for old, found in surveys.items() for path, entry in found.items() if entry.kind == "other"]
    if odd:
        raise refusal("UNSUPPORTED_FILE", listed(odd))
    if links := unsafe_links(surveys, new_names, root, in_place=in_place):
        raise refusal("UNSAFE_LINK", listed(links))


def files_below(folder: Path) -> list[str]:
    """Names of everything in a folder that is no folder, sorted; empty where there is no such folder.

    Raises:
        MigrationError: UNREADABLE.
    """
    if not os.path.lexists(folder):
        return []
    return [path or folder.name for path, entry in survey(folder).items() if entry.kind != "folder"]


def on_same_device(one: Path, other: Path) -> bool:
    """Whether both lie on one file system; of what does not exist, where it would be made."""
    return _existing(one).lstat().st_dev == _existing(other).stat().st_dev


def _existing(path: Path) -> Path:
    return path if os.path.lexists(path) else _existing(path.parent)


def _resolved(path: Path) -> Path:
    resolved = path.expanduser().resolve()
    try:
        str(resolved).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"The path {resolved!r} is no UTF-8.", remedy="Rename its folders first.") from error
    return resolved


def _require_no_nesting(places: Places, moves: tuple[tuple[str, str], ...]) -> None:
    if len({new for _, new in moves}) < len(moves):
        raise refusal("LAYOUT_CONFLICT")
    for old, _ in moves:
        if places.target.is_relative_to(places.source / old):
            raise refusal("TARGET_INSIDE_SOURCE", str(places.source / old))


def _require_free_target(places: Places) -> None:
    if os.path.lexists(places.staging):
        raise refusal("PARTIAL_LEFTOVER", str(places.staging))
    if names := files_below(places.target):
        raise refusal("TARGET_NOT_EMPTY", listed(names))


def _require_readable(surveys: Mapping[str, Survey], root: Path) -> None:
    unreadable = [
        f"{old}/{path}"
        for old, found in surveys.items()
        for path, entry in found.items()
        if entry.kind == "file" and not _may(root / old / path, os.R_OK)
    ]
    if unreadable:
        raise refusal("UNREADABLE", listed(unreadable))


def _may(path: Path, rights: int) -> bool:
    """Whether this process, as who it acts, has the rights."""
    return os.access(path, rights, effective_ids=os.access in os.supports_effective_ids)


def _require_room(size_bytes: int, target: Path) -> None:
    free_bytes = shutil.disk_usage(_existing(target)).free
    if free_bytes < size_bytes:
        raise refusal("DISK_FULL", f"{size_bytes} bytes to copy, {free_bytes} free")


def _require_writable(target: Path) -> None:
    folder = _existing(target.parent)
    if not folder.is_dir():
        raise refusal("IO_ERROR", f"{folder} is no folder")
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise refusal("READ_ONLY", str(folder))
    if not _may(folder, os.W_OK | os.X_OK):
        raise refusal("NO_PERMISSION", f"{folder} cannot be written to")


def moved_folder(old: str, new: str, found: Survey) -> MovedFolder:
    """A folder of an outcome, counted."""
    files = [entry for entry in found.values() if entry.kind != "folder"]
    return MovedFolder(name=old, new_name=new, files=len(files), size_bytes=sum(entry.size_bytes for entry in files))
