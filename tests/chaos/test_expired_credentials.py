"""Credentials of the object store that expire in the middle of a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.build_once import BuildOrder
from tests.chaos.corpus import StoreAddress, write_workspace
from tests.chaos.flaky_proxy import Fault, FlakyProxy
from tests.chaos.scene import Edition, Model, run

REFUSED = 4
MOST_REQUESTS_AFTERWARDS = 60
"""Those under way, the record of the failure, and giving the lease back."""


@pytest.mark.parametrize("answer", ["expired", "forbidden"])
def test_credentials_that_expire_are_named_are_not_tried_for_ever_and_the_next_build_goes_on(
    tmp_path: Path, model: Model, editions: dict[str, Edition], bucket: StoreAddress, answer: Fault
) -> None:
    segments: list[str] = []

    def expired_after_some_segments(method: str, path: str) -> Fault:
        if method == "PUT" and "/open/" in path:
            segments.append(path)
        return answer if len(segments) > 10 else ""

    with FlakyProxy(bucket.endpoint_url, expired_after_some_segments) as proxy:
        order = BuildOrder(editions["one"].recipe, tmp_path / "workspace")
        write_workspace(order.workspace, model.base_url, StoreAddress(bucket.url, proxy.url, bucket.key, bucket.secret))
        failed = run(order)
        refused = proxy.faults[answer]
    said = order.errors.read_text()
    write_workspace(order.workspace, model.base_url, bucket)
    before = model.seen()
    resumed = run(order)

    assert failed == REFUSED, said
    assert "the credentials have expired (ExpiredToken)" in said
    assert bucket.url in said
    assert 0 < refused < MOST_REQUESTS_AFTERWARDS
    assert resumed == 0, order.errors.read_text()
    assert (model.seen() - before).total() < editions["one"].sent.total()
