"""Corrections: what people have said about a base that every later build honours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import CorruptObjectError


class KeptApart(BaseModel):
    """Two names that are not the same entity, whatever speaks for it. It holds no text of any document.

    Attributes:
        merge_id: The merge that was undone.
        left: Key of the one name.
        right: Key of the other.
        undone_at: When.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    merge_id: str
    left: str
    right: str
    undone_at: datetime


class CorrectionStore:
    """The corrections of one base. Blocking."""

    def __init__(self, store: ObjectStore, layout: BaseLayout) -> None:
        self._store = store
        self._folder = f"{layout.prefix}/corrections/kept_apart"

    def keep_apart(self, correction: KeptApart) -> None:
        """Write a correction; the same one again changes nothing but its time."""
        self._store.put(f"{self._folder}/{correction.merge_id}.json", correction.model_dump_json(indent=1).encode())

    def withdraw(self, merge_id: str) -> bool:
        """Let a merge be made again. Returns whether it was kept apart."""
        key = f"{self._folder}/{merge_id}.json"
        found = self._store.exists(key)
        self._store.delete([key])
        return found

    def all(self) -> Sequence[KeptApart]:
        """Every correction, by merge.

        Raises:
            CorruptObjectError: One cannot be read: a build without it would merge what somebody has parted.
        """
        found = []
        for key in self._store.list(self._folder):
            try:
                found.append(KeptApart.model_validate_json(self._store.get(key)))
            except ValidationError as error:
                raise CorruptObjectError(
                    f"The correction {key} is unreadable.", remedy="Restore it, or remove it.", key=key
                ) from error
        return found


def kept_apart_pairs(store: ObjectStore, layout: BaseLayout) -> tuple[tuple[str, str], ...]:
    """The pairs of name keys that a build keeps apart, sorted. Blocking."""
    return tuple(sorted((one.left, one.right) for one in CorrectionStore(store, layout).all()))
