"""Asks services of a diagnosis over httpx, SQLAlchemy and pymilvus."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, delete, insert, select
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from lorebase.adapters.databases import open_engine
from lorebase.diagnosis.ports import DatabaseAnswer, HttpAnswer
from lorebase.errors import ConfigurationError, UnavailableError

_TEXT_CHARS = 2000
_PROBE_TEXT = "probe 探针"


class HttpServiceProbe:
    """Asks services with a connection of its own each time."""

    async def fetch(self, url: str, headers: Mapping[str, str], timeout_seconds: float) -> HttpAnswer:
        """The answer to a GET."""
        try:
            async with httpx.AsyncClient(timeout=timeout_seconds, follow_redirects=False) as client:
                answer = await client.get(url, headers=dict(headers))
        except httpx.InvalidURL as error:
            raise ConfigurationError(f"{url!r} is no address: {error}.", remedy="Correct it.") from error
        except httpx.HTTPError as error:
            raise UnavailableError(
                f"{url} cannot be reached: {type(error).__name__}.",
                remedy="Check the address, that the service runs, and that this machine reaches it.",
            ) from error
        return HttpAnswer(
            status=answer.status_code,
            sent_at=_moment(answer.headers.get("date", "")),
            server=answer.headers.get("server", ""),
            text=answer.text[:_TEXT_CHARS],
        )

    def try_database(self, url: str, table: str) -> DatabaseAnswer:
        """Make a table, use it, drop it."""
        engine = open_engine(url)
        try:
            return _used(engine, table)
        except OperationalError as error:
            # The driver's message names host and user, which the operator knows, and never the password.
            raise UnavailableError(
                f"The database does not answer: {_first_line(error)}.",
                remedy="Check its address and login in the workspace file, and that it runs.",
            ) from error
        except SQLAlchemyError as error:
            raise ConfigurationError(
                f"The database refused the probe: {_first_line(error)}.",
                remedy="Give the user the right to create, fill and drop tables in its schema.",
            ) from error
        finally:
            engine.dispose()

    async def milvus_version(self, uri: str, token: str) -> str:
        """The version of a Milvus server."""
        from lorebase.adapters.milvus.connection import ServerConnection  # noqa: PLC0415 (pymilvus takes 0.7 s)
        from lorebase.adapters.milvus.deployment import MilvusLimits  # noqa: PLC0415 (as above)

        connection = ServerConnection(uri, token, MilvusLimits())
        try:
            return await asyncio.to_thread(connection.call, lambda client: str(client.get_server_version()))
        finally:
            await asyncio.to_thread(connection.close)


def _used(engine: Engine, name: str) -> DatabaseAnswer:
    table = Table(name, MetaData(), Column("id", Integer, primary_key=True), Column("text", String(64)))
    with engine.connect() as connection:
        version = ".".join(map(str, engine.dialect.server_version_info or ()))
        connection.rollback()
        with connection.begin():
            table.create(connection)
        try:
            with connection.begin():
                connection.execute(insert(table).values(id=1, text=_PROBE_TEXT))
                kept = connection.execute(select(table.c.text)).scalar_one()
                connection.execute(delete(table))
        finally:
            with connection.begin():
                table.drop(connection)
    if kept != _PROBE_TEXT:
        raise ConfigurationError(
            f"The database gives back {kept!r} for {_PROBE_TEXT!r}.",
            remedy="Use a database with the character set UTF-8.",
        )
    return DatabaseAnswer(product=engine.dialect.name, version=version)


def _first_line(error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(cause).__name__


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
