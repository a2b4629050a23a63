"""Builds on a disk that is full, or has become read-only."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import replace
from pathlib import Path

import pytest

from lorebase import Workspace
from tests.chaos.build_once import BuildOrder
from tests.chaos.corpus import write_workspace
from tests.chaos.scene import Edition, Model, examine, run

UNAVAILABLE = 4


@pytest.mark.parametrize(("error", "share"), [(errno.ENOSPC, 0.5), (errno.ENOSPC, 0.97), (errno.EROFS, 0.0)])
def test_a_disk_that_takes_no_more_is_named_and_the_next_build_goes_on(
    tmp_path: Path, model: Model, editions: dict[str, Edition], error: int, share: float
) -> None:
    order = BuildOrder(editions["one"].recipe, tmp_path / "workspace")
    write_workspace(order.workspace, model.base_url)
    at = int(editions["one"].writes * share)

    failed = run(replace(order, kill_at=at, disk_error=error))
    said = order.errors.read_text()
    resumed = run(order)

    assert failed == UNAVAILABLE, said
    assert f"The object store folder {order.workspace / 'objects'} failed" in said
    assert resumed == 0
    assert asyncio.run(examine(Workspace.load(order.workspace))) == editions["one"].base
