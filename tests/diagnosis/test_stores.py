"""What the checks of stores see, against real small stores."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore
from lorebase.adapters.service_probe import HttpServiceProbe
from lorebase.diagnosis.ports import HttpAnswer, Places
from lorebase.diagnosis.stores import check_clock, check_database, check_folder, check_index, check_object_store
from lorebase.errors import ConfigurationError
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_index import MemoryIndexStore
from tests.fakes.service_probe import ScriptedProbe


class _CarelessStore(LocalObjectStore):
    """Writes whatever the condition says."""

    def put_if(self, key: str, content: bytes, version: str | None) -> bool:
        self.put(key, content)
        return True


async def test_a_probe_object_leaves_nothing_behind(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)

    findings = await check_object_store(store, "p1", tmp_path)

    assert [finding.status for finding in findings] == ["ok", "ok"]
    assert store.list("lorebase-doctor") == []


async def test_a_store_that_ignores_conditions_is_named(tmp_path: Path) -> None:
    """C122."""
    with pytest.raises(ConfigurationError, match="ignores the conditions"):
        await check_object_store(_CarelessStore(tmp_path), "p1", tmp_path)


async def test_a_folder_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "知识库" / "objects"

    findings = await check_object_store(LocalObjectStore(folder), "p1", folder)

    assert [finding.status for finding in findings] == ["ok"]
    assert not folder.parent.exists()


async def test_an_s3_store_is_written_read_listed_and_cleaned(s3_store: S3ObjectStore) -> None:
    findings = await check_object_store(s3_store, "p1", None)

    assert [finding.status for finding in findings] == ["ok", "ok"]
    assert s3_store.list("lorebase-doctor") == []


@pytest.mark.parametrize(
    ("seconds", "status", "cause"),
    [
        (0, "ok", ""),
        (4, "ok", ""),
        (-6, "warning", ""),
        (15, "failed", "configuration"),
        (-90, "failed", "configuration"),
    ],
)
def test_clocks_further_apart_than_a_lease_allows_are_a_failure(seconds: int, status: str, cause: str) -> None:
    clock = FixedClock()
    answer = HttpAnswer(200, clock.now() - timedelta(seconds=seconds), "", "")

    finding = check_clock("clock", answer, (clock.now() - answer.sent_at).total_seconds())

    assert (finding.status, finding.cause) == (status, cause)


def test_a_service_without_a_date_is_noted() -> None:
    assert check_clock("clock", HttpAnswer(200, None, "", ""), 0.0).status == "warning"


async def test_an_index_store_holds_nothing_of_the_probe_afterwards() -> None:
    store = MemoryIndexStore()

    findings = await check_index(store, ScriptedProbe(), Places(Path()), "lorebase-doctor-p1")

    assert [finding.status for finding in findings] == ["ok"]
    assert await store.lexical("lorebase-doctor-p1").count(()) == 0


async def test_a_server_tells_its_version() -> None:
    places = Places(Path(), vector_store_uri="http://127.0.0.1:1")

    (finding,) = await check_index(MemoryIndexStore(), ScriptedProbe(), places, "lorebase-doctor-p1")

    assert finding.facts["version"] == "2.6.0"


async def test_a_folder_below_a_file_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "文件").write_text("x")

    (refused,) = await check_folder("workspace", tmp_path / "文件" / "kb")
    (usable,) = await check_folder("workspace", tmp_path / "新")

    assert (refused.status, refused.cause) == ("failed", "configuration")
    assert usable.status in {"ok", "warning"}
    assert not (tmp_path / "新").exists()


async def test_a_real_database_is_probed_and_left_as_it_was() -> None:
    url = os.environ.get("LOREBASE_TEST_POSTGRES_URL")
    if not url:
        pytest.skip("LOREBASE_TEST_POSTGRES_URL is not set: no PostgreSQL here")
    address = url.replace("postgresql://", "postgresql+psycopg://", 1)

    first = await check_database(HttpServiceProbe(), Places(Path(), database_url=address), "p1")
    again = await check_database(HttpServiceProbe(), Places(Path(), database_url=address), "p1")

    assert first[0].status == again[0].status == "ok"
    assert "postgresql" in first[0].message


async def test_a_sqlite_database_is_probed(tmp_path: Path) -> None:
    places = Places(tmp_path, database_url=f"sqlite:///{tmp_path / '数据.db'}")

    (finding,) = await check_database(HttpServiceProbe(), places, "p1")

    assert finding.status == "ok"
    assert "sqlite 3" in finding.message
