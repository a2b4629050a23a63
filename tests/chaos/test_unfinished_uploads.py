"""What a process that is killed in the middle of a large object leaves on S3, and who removes it."""

from __future__ import annotations

import multiprocessing
from datetime import timedelta
from pathlib import Path

from lorebase.runs.cleaning import clean_up
from tests.chaos.corpus import StoreAddress, store_at
from tests.chaos.flaky_proxy import Fault, FlakyProxy
from tests.chaos.scene import wait_until
from tests.fakes.workspace import FakeWorkspace
from tests.runs.snapshot_checks import LAYOUT, build_of, names_found

PART_BYTES = 50 << 20
LARGE_BYTES = 2 * PART_BYTES + 1
"""Above what s3fs sends with one put: two parts, and one of a byte."""

KEY = f"{LAYOUT.objects}/ab/{'ab' * 32}.parquet"


def _put_large(bucket: StoreAddress, endpoint_url: str) -> None:
    store_at(bucket, endpoint_url).put(KEY, bytes(LARGE_BYTES))


async def test_an_upload_that_a_kill_broke_off_is_counted_and_given_up_by_cleaning(
    tmp_path: Path, bucket: StoreAddress
) -> None:
    arrived: list[str] = []

    def hang_at_the_last_part(method: str, path: str) -> Fault:
        if method != "PUT" or "partNumber=" not in path:
            return ""
        arrived.append(path)
        return "hang" if "partNumber=2" in path else ""

    workspace = FakeWorkspace(tmp_path / "ws")
    store = store_at(bucket, bucket.endpoint_url)
    workspace.__dict__["object_store"] = store
    await build_of(tmp_path, workspace, {"harbour.md": "Whale oil.\n"})
    with FlakyProxy(bucket.endpoint_url, hang_at_the_last_part) as proxy:
        writer = multiprocessing.get_context("spawn").Process(target=_put_large, args=(bucket, proxy.url))
        writer.start()
        wait_until(lambda: len(arrived) == 3 and sum(one.size_bytes for one in store.leftovers(LAYOUT.prefix)) > 0)
        writer.kill()
        writer.join()

    young = await clean_up(workspace, LAYOUT, apply=True)
    left = store.leftovers(LAYOUT.prefix)
    promised = await clean_up(workspace, LAYOUT, leftover_age=timedelta(seconds=-5))
    done = await clean_up(workspace, LAYOUT, leftover_age=timedelta(seconds=-5), apply=True)

    assert young.freed_count == 0
    assert [one.key.partition(".uploading-")[0] for one in left] == [KEY]
    for report in (promised, done):
        assert [(one.kind, one.count) for one in report.freed if one.count] == [("temporary_files", 1)]
    assert done.freed_bytes in {1, PART_BYTES, PART_BYTES + 1}
    assert store.leftovers(LAYOUT.prefix) == []
    assert not store.exists(KEY)
    assert await names_found(workspace, "oil") == {"harbour.md"}
