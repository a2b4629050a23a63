"""Builds over an S3 store that refuses, delays and cuts requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from lorebase import Workspace
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.errors import UnavailableError
from tests.chaos.build_once import BuildOrder
from tests.chaos.corpus import StoreAddress, store_at, write_workspace
from tests.chaos.flaky_proxy import Fault, FlakyProxy
from tests.chaos.scene import LAYOUT, Edition, Model, examine, run

UNAVAILABLE = 4


def seeded(seed: int, share: float) -> Callable[[str, str], Fault]:
    """A fault of any kind in that share of the requests."""
    chance = Random(seed)
    kinds: tuple[Fault, ...] = ("refuse", "slow", "cut before", "cut after", "half answer")
    return lambda _method, _path: chance.choice(kinds) if chance.random() < share else ""


def build_order(folder: Path, edition: Edition, model: Model, bucket: StoreAddress, proxy: FlakyProxy) -> BuildOrder:
    order = BuildOrder(edition.recipe, folder / "workspace")
    address = StoreAddress(bucket.url, proxy.url, bucket.key, bucket.secret)
    write_workspace(order.workspace, model.base_url, address)
    return order


@pytest.mark.parametrize(("seed", "share"), [(2, 0.1)])
def test_a_store_that_fails_now_and_then_delays_builds_and_never_falsifies_them(
    tmp_path: Path, model: Model, editions: dict[str, Edition], bucket: StoreAddress, seed: int, share: float,
) -> None:  # fmt: skip
    codes = []
    with FlakyProxy(bucket.endpoint_url, seeded(seed, share)) as proxy:
        order = build_order(tmp_path, editions["one"], model, bucket, proxy)
        while not codes or (codes[-1] and len(codes) < 5):
            codes.append(run(order))
        faults = proxy.faults.total()
    said = order.errors.read_text()
    write_workspace(order.workspace, model.base_url, bucket)
    codes.append(run(order))

    base = asyncio.run(examine(Workspace.load(order.workspace)))
    assert base.manifests == editions["one"].base.manifests
    assert faults > 0
    assert set(codes) <= {0, UNAVAILABLE}, f"seed {seed}: {codes} {said}"
    assert codes[-1] == 0
    assert "INTERNAL_ERROR" not in said
    assert UNAVAILABLE not in codes or bucket.url in said


@pytest.mark.parametrize("name", ["snapshot.json", "lease.json"])
def test_a_conditional_write_whose_answer_is_lost_counts_as_done(
    tmp_path: Path, model: Model, editions: dict[str, Edition], bucket: StoreAddress, name: str
) -> None:
    """BQ-07, BQ-08: the client sends it again, and the store then refuses because the first one was done."""
    cut: list[str] = []

    def lose_the_first(method: str, path: str) -> Fault:
        if method == "PUT" and path.endswith(name) and not cut:
            cut.append(path)
            return "cut after"
        return ""

    with FlakyProxy(bucket.endpoint_url, lose_the_first) as proxy:
        order = build_order(tmp_path, editions["one"], model, bucket, proxy)
        code = run(order)
    write_workspace(order.workspace, model.base_url, bucket)

    snapshots = SnapshotStore(Workspace.load(order.workspace).object_store, LAYOUT)
    assert cut
    assert code == 0
    assert len(snapshots.moves()) == 1


@pytest.mark.parametrize("times", [1, 1_000])
def test_an_answer_that_breaks_off_in_its_headers_is_asked_for_again_and_never_taken_for_the_object(
    bucket: StoreAddress, times: int
) -> None:
    direct = store_at(bucket, bucket.endpoint_url)
    direct.put("lease.json", b"held")
    cut: list[str] = []

    def cut_in_the_headers(method: str, path: str) -> Fault:
        if method == "GET" and path.endswith("lease.json") and len(cut) < times:
            cut.append(path)
            return "half head"
        return ""

    with FlakyProxy(bucket.endpoint_url, cut_in_the_headers) as proxy:
        behind = store_at(bucket, proxy.url)
        if times == 1:
            found = behind.get_versioned("lease.json")
        else:
            with pytest.raises(UnavailableError, match="s3://"):
                behind.get_versioned("lease.json")
            found = None

    assert 1 <= len(cut) < 50
    assert (found.content if found else None) == (b"held" if times == 1 else None)


@pytest.mark.timeout(900)
def test_a_store_that_is_gone_is_named_and_the_next_build_goes_on(
    tmp_path: Path, model: Model, editions: dict[str, Edition], bucket: StoreAddress
) -> None:
    segments: list[str] = []

    def gone_after_some_segments(method: str, path: str) -> Fault:
        if method == "PUT" and "/open/" in path:
            segments.append(path)
        return "refuse" if len(segments) > 10 else ""

    with FlakyProxy(bucket.endpoint_url, gone_after_some_segments) as proxy:
        order = build_order(tmp_path, editions["one"], model, bucket, proxy)
        failed = run(order)
    said = order.errors.read_text()
    write_workspace(order.workspace, model.base_url, bucket)
    before = model.seen()
    resumed = run(order)

    assert failed == UNAVAILABLE
    assert bucket.url in said
    assert resumed == 0
    assert (model.seen() - before).total() < editions["one"].sent.total()
