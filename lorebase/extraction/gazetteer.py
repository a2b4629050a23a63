"""Names that a recipe knows beforehand: with their types, and the other names of the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_NAMES = 20_000
OTHER_TYPE = "other"


class GazetteerEntry(BaseModel):
    """One thing with a name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200, description="Its name.")
    type: str = Field(OTHER_TYPE, min_length=1, max_length=60, description='What it is, such as "person".')
    aliases: tuple[str, ...] = Field((), description="Other names of it.")

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and the others."""
        return (self.name, *self.aliases)

    @model_validator(mode="after")
    def _has_no_blank_name(self) -> Self:
        if not all(name.strip() for name in self.names):
            raise ValueError(f"a name of the gazetteer entry {self.name!r} is blank")
        return self


def check_gazetteer(entries: Sequence[GazetteerEntry]) -> None:
    """Hold a gazetteer to its size.

    Raises:
        ValueError: It has too many names.
    """
    names = sum(len(entry.names) for entry in entries)
    if names > MAX_NAMES:
        raise ValueError(f"the gazetteer has {names:,} names, at most {MAX_NAMES:,} are allowed")
