"""That Prefect reads back what it writes through our blocks, and shows none of their secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from blocks import LorebaseObjectStore, LorebaseWorkspace
from lorebase.adapters.object_stores import S3ObjectStore
from tests.conftest import S3_KEY, S3_SECRET
from tests.flows.conftest import PrefectServer

SECRET = "never-to-be-seen"


async def test_prefects_result_store_reads_back_what_it_wrote_from_a_saved_block(
    prefect: PrefectServer, tmp_path: Path
) -> None:
    from prefect.results import ResultStore

    async def act() -> tuple[bool, Any, bool]:
        await LorebaseObjectStore(url=str(tmp_path)).asave("read-back", overwrite=True)
        block = await LorebaseObjectStore.aload("read-back")
        store = ResultStore(result_storage=block)
        await store.awrite(key="base/step/g1", obj={"rows": 3})
        found = await ResultStore(result_storage=block).aread(key="base/step/g1")
        return await store.aexists("base/step/g1"), found.result, await store.aexists("base/step/g2")

    assert await prefect.run(act) == (True, {"rows": 3}, False)
    assert (tmp_path / "prefect-results" / "base" / "step" / "g1").is_file()


async def test_the_result_store_reads_back_through_a_block_that_is_not_saved(
    prefect: PrefectServer, tmp_path: Path
) -> None:
    from prefect.results import ResultStore

    async def act() -> Any:
        store = ResultStore(result_storage=LorebaseObjectStore(url=str(tmp_path)))
        await store.awrite(key="base/step/g1", obj={"rows": 3})
        return (await store.aread(key="base/step/g1")).result

    assert await prefect.run(act) == {"rows": 3}


async def test_the_result_store_reads_back_on_s3(
    prefect: PrefectServer, seaweedfs: str, s3_store: S3ObjectStore
) -> None:
    from prefect.results import ResultStore

    bucket = s3_store._bucket
    block = LorebaseObjectStore(
        url=f"s3://{bucket}/root", endpoint_url=seaweedfs, key=SecretStr(S3_KEY), secret=SecretStr(S3_SECRET)
    )

    async def act() -> tuple[Any, bool]:
        store = ResultStore(result_storage=block)
        await store.awrite(key="base/step/g1", obj={"rows": 3})
        return (await store.aread(key="base/step/g1")).result, await store.aexists("base/step/g2")

    assert await prefect.run(act) == ({"rows": 3}, False)
    assert s3_store.list("prefect-results") == ["prefect-results/base/step/g1"]


async def test_a_saved_workspace_comes_back_whole_and_shows_no_secret(prefect: PrefectServer, tmp_path: Path) -> None:
    from prefect.types import SecretDict

    block = LorebaseWorkspace(
        object_store_url="s3://bucket/prefix",
        object_store_key=SecretStr("key"),
        object_store_secret=SecretStr(SECRET),
        vector_store_uri="http://127.0.0.1:19530",
        vector_store_token=SecretStr(SECRET),
        database_url=SecretStr(f"postgresql://user:{SECRET}@127.0.0.1/name"),
        endpoints=SecretDict({"openai": {"base_url": "http://127.0.0.1:1/v1", "api_key": SECRET}}),
    )

    async def act() -> Any:
        await block.asave("whole", overwrite=True)
        return await LorebaseWorkspace.aload("whole")

    loaded = await prefect.run(act)

    shown = json.dumps(prefect.post("/block_documents/filter", {}))
    config = loaded.get_workspace(tmp_path).config
    assert config == block.get_config()
    assert config.endpoints["openai"].api_key == SecretStr(SECRET)
    assert loaded.get_workspace(tmp_path).folder == tmp_path
    assert SECRET not in shown
    assert SECRET not in repr(loaded)
