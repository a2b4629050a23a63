"""What every service stands on: the database, the clock, ids and rules, and the reading and writing that all share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, select

from lorebase.clock import Clock
from lorebase.database import Database, database_time
from lorebase.errors import ConflictError, InvalidInputError, NotFoundError, VersionConflictError
from lorebase.governance.context import PrincipalContext
from lorebase.governance.model import Item, Page, Record, Revision
from lorebase.governance.row_ids import IdGenerator
from lorebase.governance.settings import GovernanceSettings
from lorebase.governance.states import Command, next_state
from lorebase.governance.tables import audits, items, revisions

MAX_PAGE_SIZE = 100
DEFAULT_PAGE_SIZE = 10
MAX_REASON_CHARS = 1000

K = TypeVar("K", bound=Record)


@dataclass(frozen=True, slots=True)
class Store:
    """What a service needs.

    Attributes:
        database: The relational truth.
        clock: Time of every row.
        ids: Identity of every row.
        settings: The operator's rules.
        task_time: Time that tasks become due and leases run out by: that of the database, because the clocks of
            workers differ.
    """

    database: Database
    clock: Clock
    ids: IdGenerator
    settings: GovernanceSettings
    task_time: Callable[[Connection], datetime] = database_time

    def insert(self, connection: Connection, table: Table, context: PrincipalContext, values: Mapping[str, Any]) -> int:
        """Write a new row with its conventional columns; gives its id."""
        now = self.clock.now()
        row_id = self.ids.next_id()
        conventional = {
            "id": row_id,
            "organ_id": context.organ_id,
            "trace_id": context.trace_id,
            "create_time": now,
            "update_time": now,
        }
        connection.execute(table.insert().values(**conventional, **values))
        return row_id

    def update(
        self, connection: Connection, table: Table, row_id: int, expected_version: int, values: Mapping[str, Any]
    ) -> None:
        """Change a row that has still the version that the caller saw; the version rises by one.

        Raises:
            VersionConflictError: It has another version by now: the UPDATE itself found no row.
        """
        done = connection.execute(
            table.update()
            .where(table.c.id == row_id, table.c.version == expected_version)
            .values(version=table.c.version + 1, update_time=self.clock.now(), **values)
        )
        if done.rowcount != 1:
            raise version_conflict(table.name, row_id, expected_version)

    def change_revision(
        self,
        connection: Connection,
        context: PrincipalContext,
        revision: Revision,
        command: Command,
        *,
        reason: str = "",
        values: Mapping[str, Any] | None = None,
        operator: str = "",
    ) -> None:
        """Carry out a command on a revision: its state by the table, other columns, and the audit row with it.

        Raises:
            InvalidStateError: The revision's state has no such command.
            RevisionInUseError: As `next_state`.
            VersionConflictError: The revision was changed since it was read.
        """
        after = next_state(revision.status, command)
        self.update(connection, revisions, revision.id, revision.version, {"status": after.value, **(values or {})})
        self.record(
            connection,
            context,
            command.value,
            reason=reason,
            operator=operator,
            item_id=revision.item_id,
            revision_id=revision.id,
            state_before=revision.status.value,
            state_after=after.value,
            facts_json={"version": revision.version + 1},
        )

    def record(
        self,
        connection: Connection,
        context: PrincipalContext,
        command: str,
        *,
        reason: str = "",
        operator: str = "",
        **columns: Any,  # noqa: ANN401 (columns of the audit table)
    ) -> None:
        """Write the audit row of a command, in the command's own transaction."""
        values = {
            "command": command,
            "operator": operator or context.user_id,
            "reason": checked_reason(reason),
            "request_id": context.request_id,
        }
        self.insert(connection, audits, context, values | columns)


def item_of(
    connection: Connection, context: PrincipalContext, item_id: int, *, lock: bool = False, also_deleted: bool = False
) -> Item:
    """An item of the caller's organisation.

    Args:
        connection: Where to read.
        context: Who asks.
        item_id: The item.
        lock: Whether commands on this item wait until this transaction has ended.
        also_deleted: Whether a deleted one is found.

    Raises:
        NotFoundError: There is none, or it is another organisation's.
    """
    query = select(items).where(items.c.id == item_id, items.c.organ_id == context.organ_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None or (row.delete_flag and not also_deleted):
        raise not_found("item", item_id)
    return Item.from_row(row)


def revision_of(
    connection: Connection,
    context: PrincipalContext,
    revision_id: int,
    *,
    lock: bool = False,
    also_deleted: bool = False,
) -> Revision:
    """A revision of the caller's organisation; arguments and errors as `item_of`, the lock is its item's."""
    query = select(revisions).where(revisions.c.id == revision_id, revisions.c.organ_id == context.organ_id)
    row = connection.execute(query).one_or_none()
    if row is not None and lock:
        item_of(connection, context, row.item_id, lock=True, also_deleted=also_deleted)
        row = connection.execute(query).one_or_none()
    if row is None or (row.delete_flag and not also_deleted):
        raise not_found("revision", revision_id)
    return Revision.from_row(row)


def page_of(connection: Connection, kind: type[K], query: Select[Any], page_number: int, page_size: int) -> Page[K]:
    """A page of a query over one whole table.

    Raises:
        InvalidInputError: The page is below 1, or its size not 1 to 100.
    """
    if page_number < 1 or not 1 <= page_size <= MAX_PAGE_SIZE:
        raise InvalidInputError(
            f"Page {page_number} of {page_size} records is out of range.",
            remedy=f"Pages count from 1 and hold 1 to {MAX_PAGE_SIZE} records.",
        )
    total = connection.execute(select(func.count()).select_from(query.order_by(None).subquery())).scalar_one()
    rows: list[Row[Any]] = list(connection.execute(query.limit(page_size).offset((page_number - 1) * page_size)))
    return Page[K](
        records=tuple(kind.from_row(row) for row in rows), page_number=page_number, page_size=page_size, total=total
    )


def live(table: Table, context: PrincipalContext) -> ColumnElement[bool]:
    """Rows of the caller's organisation that are not deleted."""
    return (table.c.organ_id == context.organ_id) & (table.c.delete_flag == 0)


def require_version(revision: Revision, expected_version: int) -> None:
    """Go on only with what the caller saw.

    Raises:
        VersionConflictError: The revision has another version.
    """
    if revision.version != expected_version:
        raise version_conflict("revision", revision.id, expected_version, revision.version)


def version_conflict(what: str, row_id: int, expected: int, found: int | None = None) -> VersionConflictError:
    """The error for a row that somebody else changed first."""
    known = f", it has {found} now" if found is not None else ""
    return VersionConflictError(
        f"{what} {row_id} no longer has version {expected}{known}.",
        remedy="Read it again, look at what changed, and repeat the command with its version.",
        id=str(row_id),
        expected_version=expected,
        found_version=found,
    )


def changed_meanwhile(what: str, row_id: object) -> ConflictError:
    """The error for a unique key that collided without a row that explains it (any more)."""
    return ConflictError(f"The {what} {row_id} was changed at the same moment.", remedy="Repeat the command.")


def not_found(what: str, row_id: object) -> NotFoundError:
    """The error for what does not exist in the caller's organisation."""
    return NotFoundError(f"There is no {what} {row_id}.", remedy="Check the id.", kind=what, id=str(row_id))


def checked_reason(reason: str, *, required: bool = False) -> str:
    """The reason of a command, trimmed.

    Raises:
        InvalidInputError: It is required and blank, or has more than 1,000 characters.
    """
    trimmed = reason.strip()
    if required and not trimmed:
        raise InvalidInputError("This command needs a reason.", remedy="Say why, so that the author can act on it.")
    return checked_text("reason", trimmed, MAX_REASON_CHARS)


def checked_text(what: str, text: str, max_chars: int, *, min_chars: int = 0) -> str:
    """A text of an allowed length (code points), trimmed, that every database can hold.

    Raises:
        InvalidInputError: It is too short or too long, or has characters that are no text.
    """
    trimmed = text.strip()
    if not min_chars <= len(trimmed) <= max_chars:
        raise InvalidInputError(
            f"The {what} has {len(trimmed)} characters.", remedy=f"Use {min_chars} to {max_chars}.", field=what
        )
    if "\x00" in trimmed or any("\ud800" <= char <= "\udfff" for char in trimmed):
        raise InvalidInputError(f"The {what} holds characters that are no text.", field=what)
    return trimmed
