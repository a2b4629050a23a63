"""Run states and records in the object store: written by the builder, read by reports, resume and status."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import CorruptObjectError, NotFoundError
from lorebase.runs.records import RecipeRunRecord, RecipeRunState


class LatestRun(BaseModel):
    """Pointer to the run that was started last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    started_at: datetime


class RunJournal:
    """States and records of the runs of one knowledge base. Blocking."""

    def __init__(self, store: ObjectStore, layout: BaseLayout) -> None:
        self._store = store
        self._layout = layout

    def begin(self, state: RecipeRunState) -> None:
        """Store the first state of a run and make it the latest."""
        self.save(state)
        latest = LatestRun(run_id=state.run_id, started_at=state.started_at)
        self._store.put(self._layout.latest_run, latest.model_dump_json(indent=1).encode())

    def save(self, state: RecipeRunState) -> None:
        """Store a state of a run in the place of the one before."""
        self._store.put(self._layout.run_state(state.run_id), state.model_dump_json(indent=1).encode())

    def finish(self, state: RecipeRunState) -> RecipeRunRecord:
        """Store the end of a run: its record, and the state that equals it."""
        record = state.as_record()
        self.save(state)
        self._store.put(self._layout.run_record(state.run_id), record.model_dump_json(indent=1).encode())
        return record

    def latest_run_id(self) -> str | None:
        """The run that was started last, None where there was none."""
        try:
            return LatestRun.model_validate_json(self._store.get(self._layout.latest_run)).run_id
        except NotFoundError:
            return None
        except ValidationError as error:
            raise self._corrupt(self._layout.latest_run) from error

    def run_ids(self) -> list[str]:
        """All runs, oldest first."""
        prefix = f"{self._layout.runs}/"
        keys = self._store.list(self._layout.runs)
        return sorted({key.removeprefix(prefix).partition("/")[0] for key in keys})

    def read(self, run_id: str) -> RecipeRunRecord:
        """The record of a run; for one that goes on or broke off, its last state.

        Raises:
            NotFoundError: There is no such run.
            CorruptObjectError: It cannot be read.
        """
        key = self._layout.run_state(run_id)
        try:
            return RecipeRunRecord.model_validate_json(self._store.get(key))
        except NotFoundError as error:
            known = self.run_ids()
            raise NotFoundError(
                f"There is no run {run_id!r} of {self._layout.base_name!r}.",
                remedy=f"Known runs: {', '.join(known[-5:]) or 'none'}.",
            ) from error
        except ValidationError as error:
            raise self._corrupt(key) from error

    @staticmethod
    def _corrupt(key: str) -> CorruptObjectError:
        return CorruptObjectError(f"{key} is unreadable.", remedy="Restore it, or remove it and build again.")
