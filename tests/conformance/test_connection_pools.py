"""As many callers at once as there are threads for blocking calls: none of them waits for a connection."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

from sqlalchemy import text

from lorebase.adapters.databases import open_engine
from lorebase.governance.database import open_database
from tests.governance.conftest import server_database

CALLERS = 32


def all_at_once(connect: Callable[[], AbstractContextManager[object]]) -> int:
    """How many callers have a connection at the same moment."""
    together = threading.Barrier(CALLERS, timeout=20)

    def call(_number: int) -> int:
        with connect() as connection:
            connection.execute(text("SELECT 1"))  # type: ignore[attr-defined]  # SQLAlchemy's, as both engines give it
            together.wait()
        return 1

    with ThreadPoolExecutor(CALLERS) as callers:
        return sum(callers.map(call, range(CALLERS)))


def test_graphs_have_a_connection_for_each_thread(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'graphs.db'}")

    served = all_at_once(engine.connect)

    engine.dispose()
    assert served == CALLERS


def test_governed_knowledge_has_a_connection_for_each_thread() -> None:
    with server_database("LOREBASE_TEST_POSTGRES_URL", "postgresql+psycopg") as url:
        database = open_database(url)

        served = all_at_once(database.reading)

        database.close()
    assert served == CALLERS
