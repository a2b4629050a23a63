"""What a migration did, or would do: skipped, moved or failed, with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lorebase.registry.migration.reasons import REASONS, Status, shown_name

What = Literal["tree", "memory"]
Mode = Literal["rename", "copy"]


class MovedFolder(BaseModel):
    """One folder of a migration."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="Name in the old place.")
    new_name: str = Field(description="Name in the new place; empty where the folder becomes the target itself.")
    files: int = Field(description="Files and symbolic links in it, at any depth.")
    size_bytes: int = Field(description="Bytes of its files.")


class MigrationOutcome(BaseModel):
    """What became of one tree or one memory."""

    model_config = ConfigDict(frozen=True)

    what: What = Field(description="Whether it is about the tree or the memory of the base.")
    base_id: str = Field(description="The base.")
    status: Status = Field(description="How it ended; of a dry run, how it would end as far as that can be foreseen.")
    applied: bool = Field(description="Whether it was done; false for a dry run.")
    reason: str = Field(description="Stable code of the reason.")
    message: str = Field(description="One sentence.")
    remedy: str = Field(default="", description="What to do next.")
    source: str = Field(description="The old place.")
    target: str = Field(description="The new place.")
    mode: Mode | None = Field(default=None, description="By renaming, or by copying and verifying; null if neither.")
    folders: tuple[MovedFolder, ...] = Field(default=(), description="What was or would be moved.")
    remaining: tuple[str, ...] = Field(default=(), description="What is left in the old place although it was copied.")


def outcome(
    code: str,
    *,
    what: What,
    base_id: str,
    source: str,
    target: str,
    applied: bool,
    detail: str = "",
    mode: Mode | None = None,
    folders: Iterable[MovedFolder] = (),
    remaining: Iterable[str] = (),
) -> MigrationOutcome:
    """An outcome from its row in the table of reasons."""
    reason = REASONS[code]
    shown = {"source": shown_name(source), "target": shown_name(target)}
    return MigrationOutcome(
        what=what,
        base_id=base_id,
        status=reason.status,
        applied=applied,
        reason=code,
        message=reason.sentence.format(**shown, detail=shown_name(detail)),
        remedy=reason.remedy,
        mode=mode,
        folders=tuple(folders),
        remaining=tuple(shown_name(name) for name in remaining),
        **shown,
    )
