"""Governed knowledge in a database that another one took the place of: how much of it is left, and taking it over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, Table, select
from sqlalchemy.exc import IntegrityError

from lorebase.database import Database
from lorebase.errors import ConflictError, NotFoundError
from lorebase.governance.migrating import is_made, migrate
from lorebase.governance.tables import items, metadata, tags
from lorebase.registry.file_store import free_name_aside

IMPORT_COMMAND: Final = "lorebase item import"
_BATCH_ROWS: Final = 500
_NAMED: Final = 5
_SQLITE_HEADER: Final = b"SQLite format 3\x00"


class ImportedKnowledge(BaseModel):
    """What was taken over from another database."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    imported: dict[str, int] = Field(description="Rows that the database has now, by table.")
    there_already: int = Field(description="Rows that it had before, which stayed as they are.")
    put_aside: str | None = Field(description="Where the file is now; null where it was left in its place.")


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Topics that a database file holds and the database in its place lacks."""

    file: Path
    topics: int

    @property
    def message(self) -> str:
        """What is left behind."""
        return f"{self.topics} governed topic(s) are in {self.file} and not in the database of the workspace."

    @property
    def remedy(self) -> str:
        """How it is taken over."""
        return f"Take them over with `{IMPORT_COMMAND}`, or move that file away."


def require_database_file(file: Path) -> None:
    """Refuse a file that is no SQLite database.

    Raises:
        NotFoundError: There is none.
    """
    if not file.is_file():
        raise NotFoundError(f"There is no database file {file}.", remedy=f"Name the file: `{IMPORT_COMMAND} FILE`.")
    with file.open("rb") as opened:
        if opened.read(len(_SQLITE_HEADER)) != _SQLITE_HEADER:
            raise NotFoundError(f"{file} is no SQLite database.", remedy="Name the lorebase.db of a workspace.")


def count_left_behind(former: Database, present: Database) -> int:
    """How many topics a database holds and the one in its place lacks; no table is made for the question.

    Raises:
        UnavailableError: One of them does not answer.
    """
    if not is_made(former):
        return 0
    there = _ids_in(present) if is_made(present) else set()
    return len(_ids_in(former) - there)


def take_over(former: Database, present: Database) -> ImportedKnowledge:
    """Copy every row that the present database does not have, with its id: all of them or none.

    Nobody writes to the former one meanwhile. A second call copies nothing twice.

    Raises:
        NotFoundError: The former database holds no governed knowledge.
        ConflictError: Topics of both have the same key, or both were changed since an earlier copy.
        UnavailableError: One of them does not answer.
    """
    if not is_made(former):
        raise NotFoundError("That database holds no governed knowledge.", remedy="Name another file.")
    migrate(former)
    migrate(present)
    imported: dict[str, int] = {}
    there = 0
    try:
        with former.transaction() as source, present.transaction() as target:
            _require_other_keys(source, target)
            for table in metadata.sorted_tables:
                imported[table.name], already = _copy(source, target, table)
                there += already
    except IntegrityError as error:
        raise ConflictError(
            "Both databases were changed since one was copied into the other; nothing was taken over.",
            remedy="Work with one of them, and move the file of the other away.",
        ) from error
    return ImportedKnowledge(imported=imported, there_already=there, put_aside=None)


def put_aside(file: Path) -> Path | None:
    """Rename a database file that nobody has open; None where another process still has."""
    if any(file.with_name(f"{file.name}{suffix}").exists() for suffix in ("-wal", "-journal")):
        return None
    return file.rename(free_name_aside(file))


def _ids_in(database: Database) -> set[int]:
    with database.reading() as connection:
        return set(connection.execute(select(items.c.id)).scalars())


def _require_other_keys(source: Connection, target: Connection) -> None:
    query = select(items.c.organ_id, items.c.knowledge_key, items.c.id)
    there = {(organ, key): row_id for organ, key, row_id in target.execute(query)}
    both = [key for organ, key, row_id in source.execute(query) if there.get((organ, key), row_id) != row_id]
    if both:
        some = ", ".join(sorted(both)[:_NAMED]) + (", ..." if len(both) > _NAMED else "")
        raise ConflictError(
            f"{len(both)} key(s) name a topic in both databases ({some}); nothing was taken over.",
            remedy="A key stays taken for good: import before topics are made in the new database, or make those of "
            "the file again there by hand.",
        )


def _copy(source: Connection, target: Connection, table: Table) -> tuple[int, int]:
    """Rows copied, and rows that were there."""
    there = set(target.execute(select(table.c.id)).scalars())
    names = _live_names(target) if table is tags else set()
    copied = already = 0
    for batch in _batches(source, table):
        rows = [row for row in batch if row["id"] not in there and not _is_live_as(row, names)]
        if rows:
            target.execute(table.insert(), rows)
        copied += len(rows)
        already += len(batch) - len(rows)
    return copied, already


def _batches(source: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    options = {"yield_per": _BATCH_ROWS}
    for batch in source.execute(select(table).order_by(table.c.id), execution_options=options).mappings().partitions():
        yield [dict(row) for row in batch]


def _live_names(target: Connection) -> set[tuple[int, str]]:
    """Tags that both have count as one: they are used by name."""
    query = select(tags.c.organ_id, tags.c.name).where(tags.c.delete_flag == 0)
    return {(organ, name) for organ, name in target.execute(query)}


def _is_live_as(row: dict[str, Any], names: set[tuple[int, str]]) -> bool:
    return bool(names) and row["delete_flag"] == 0 and (row["organ_id"], row["name"]) in names
