"""Why a migration ended as it did, as one table: reason, kind of outcome, sentence and remedy."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Literal

from lorebase.errors import MigrationError

Status = Literal["skipped", "moved", "failed"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One row of the table.

    Attributes:
        code: Stable name; lower case where there was nothing wrong, UPPER_SNAKE for failures.
        status: The outcome that it belongs to.
        sentence: What it means; `{source}`, `{target}` and `{detail}` are filled in.
        remedy: What to do next.
    """

    code: str
    status: Status
    sentence: str
    remedy: str = ""


_TABLE = (
    Reason("nothing_to_move", "skipped", "{source} holds nothing to move."),
    Reason("already_in_place", "skipped", "{target} is where it belongs already."),
    Reason(
        "target_occupied", "skipped", "{target} is occupied already, {source} was left as it is.",
        "Compare both; move the one that is not wanted aside and migrate again.",
    ),
    Reason("moved", "moved", "{source} -> {target}"),
    Reason("renamed_in_place", "moved", "{detail} in {target}."),
    Reason("resumed", "moved", "{source} -> {target}, an interrupted migration that goes on from its journal"),
    Reason(
        "source_remains", "moved", "{source} -> {target}; {detail} could not be removed or changed meanwhile.",
        "The target is complete. Compare what is left of the source and remove it by hand.",
    ),
    Reason(
        "LAYOUT_CONFLICT", "failed", "{source} holds both 01_source_truth and 01_source_raw.",
        "Merge them into 01_source_raw by hand, then migrate again.",
    ),
    Reason(
        "TARGET_NOT_EMPTY", "failed", "{target} is no knowledge tree, but holds {detail}.",
        "Move it aside, then migrate again.",
    ),
    Reason(
        "TARGET_INSIDE_SOURCE", "failed", "{target} lies inside {detail}, which would be moved.",
        "Choose an agent root outside of the folders that are moved.",
    ),
    Reason(
        "PARTIAL_LEFTOVER", "failed", "{detail} exists, and no journal says what it is.",
        "Look into it and move it aside, then migrate again.",
    ),
    Reason(
        "OTHER_MIGRATION", "failed", "A migration of {detail} to {target} was interrupted.",
        "Finish it first: migrate with that folder as the old root.",
    ),
    Reason(
        "UNSAFE_LINK", "failed", "Symbolic links would lead elsewhere after the move: {detail}.",
        "Replace them by the files that they lead to, or by links that stay inside the tree.",
    ),
    Reason(
        "UNSUPPORTED_FILE", "failed", "There are entries that are no files, folders or symbolic links: {detail}.",
        "Remove the sockets, pipes or devices, then migrate again.",
    ),
    Reason("UNREADABLE", "failed", "Cannot be read: {detail}.", "Give yourself the right to read it, then go on."),
    Reason(
        "DISK_FULL", "failed", "The disk of {target} has too little space: {detail}.",
        "Make room or choose another agent root, then migrate again.",
    ),
    Reason("READ_ONLY", "failed", "The file system is read-only: {detail}.", "Mount it writable, then migrate again."),
    Reason(
        "NO_PERMISSION", "failed", "Permission was denied: {detail}.",
        "Run as the owner of both folders, then migrate again.",
    ),
    Reason("IO_ERROR", "failed", "{detail}.", "Everything was put back. See to the cause, then migrate again."),
    Reason(
        "SOURCE_CHANGED", "failed", "{source} changed while it was moved: {detail}.",
        "Stop what writes there, then migrate again.",
    ),
    Reason(
        "VERIFICATION_FAILED", "failed", "The copy differs from {source}: {detail}.",
        "The source is untouched. Check the disk and whether it takes these names, then migrate again.",
    ),
    Reason(
        "TIDYING_FAILED", "failed", "{target} is complete, but tidying up after the move failed: {detail}.",
        "See to the cause, then migrate again: it goes on from its journal.",
    ),
    Reason(
        "RESTORE_INCOMPLETE", "failed", "An error could not be undone: {detail}.",
        "Nothing was deleted and the journal is kept. See to the cause, then migrate again to go on.",
    ),
)  # fmt: skip

REASONS = {reason.code: reason for reason in _TABLE}

_OF_ERRNO = {
    errno.ENOSPC: "DISK_FULL",
    errno.EDQUOT: "DISK_FULL",
    errno.EROFS: "READ_ONLY",
    errno.EACCES: "NO_PERMISSION",
    errno.EPERM: "NO_PERMISSION",
}
_NAMES_SHOWN = 5


def refusal(code: str, detail: str = "") -> MigrationError:
    """The error that ends a migration with this reason; whoever catches it fills in the places."""
    return MigrationError(f"{code}: {detail}", reason=code, detail=detail)


def refusal_of(error: OSError) -> MigrationError:
    """What an error of the file system means for a migration."""
    words = error.strerror or str(error) or type(error).__name__
    where = f" at {shown_name(str(error.filename))}" if error.filename else ""
    return refusal(_OF_ERRNO.get(error.errno or 0, "IO_ERROR"), f"{words}{where}")


def shown_name(name: str) -> str:
    """A name that any terminal and JSON can take: bytes that are no UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(shown_name(name) for name in names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
