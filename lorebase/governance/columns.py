"""Column types and the columns that every table of governed knowledge has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, DateTime, Integer, SmallInteger, String, text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

DRAFT_SLOT = "(CASE WHEN status = 'DRAFT' AND delete_flag = 0 THEN 1 END)"
"""Key part that is 1 for a live draft and NULL otherwise, so that a unique index counts live drafts alone."""

LIVE_SLOT = "(CASE WHEN delete_flag = 0 THEN 1 END)"
"""Key part that is 1 for a live row. The outer parentheses are syntax: PostgreSQL and MySQL want them."""

TABLE_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    # A binary collation: keys, tags and names are equal where their characters are, as on every other database.
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC datetime with microseconds on every database."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type of a database."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True))
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(mysql.TIMESTAMP(fsp=6))
        return dialect.type_descriptor(DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """UTC; without its zone where the database keeps none."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment if dialect.name == "postgresql" else moment.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Aware UTC."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CurrentTime(FunctionElement[datetime]):
    """The database's own time, for rows that something else than Lorebase writes."""

    inherit_cache = True
    type = UtcTime()


@compiles(CurrentTime)
def _standard(element: CurrentTime, compiler: SQLCompiler, **options: object) -> str:
    del element, compiler, options
    return "CURRENT_TIMESTAMP"


@compiles(CurrentTime, "mysql", "mariadb")
def _with_microseconds(element: CurrentTime, compiler: SQLCompiler, **options: object) -> str:
    del element, compiler, options
    return "CURRENT_TIMESTAMP(6)"


def conventions() -> list[Column[Any]]:
    """Identity, organisation, trace, times, optimistic version and logical deletion."""
    return [
        Column("id", BigInteger, primary_key=True, autoincrement=False),
        Column("organ_id", BigInteger, nullable=False),
        Column("trace_id", String(64), nullable=False, server_default=""),
        Column("create_time", UtcTime, nullable=False, server_default=CurrentTime()),
        Column("update_time", UtcTime, nullable=False, server_default=CurrentTime()),
        Column("version", Integer, nullable=False, server_default=text("0")),
        Column("delete_flag", SmallInteger, nullable=False, server_default=text("0")),
    ]


def json_column(name: str) -> Column[Any]:
    """A structured value; SQL NULL where there is none."""
    return Column(name, JSON(none_as_null=True), nullable=True)
