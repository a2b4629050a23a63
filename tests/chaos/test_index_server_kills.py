"""The embedded Milvus dies during the steps that write to it, and the process of the build lives."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from lorebase import Workspace
from tests.chaos.build_once import BuildOrder
from tests.chaos.corpus import write_workspace
from tests.chaos.crashing import Moment
from tests.chaos.scene import Edition, Model, examine, run

UNAVAILABLE = 4


def writes_to(edition: Edition, what: str) -> list[int]:
    """Numbers of the writes of an undisturbed build whose lines begin so."""
    lines = (edition.workspace / "writes.log").read_text().splitlines()
    return [number for number, line in enumerate(lines, start=1) if line.partition(" ")[2].startswith(what)]


@pytest.mark.parametrize(
    ("what", "place", "moment"),
    [("upsert vectors", 0, "after"), ("upsert vectors", -1, "half"), ("upsert text", -1, "before")],
)
def test_a_milvus_that_dies_in_an_index_step_is_started_again_and_the_base_ends_whole(
    tmp_path: Path, model: Model, editions: dict[str, Edition], what: str, place: int, moment: Moment
) -> None:
    """BQ-06."""
    order = BuildOrder(editions["one"].recipe, tmp_path / "workspace")
    write_workspace(order.workspace, model.base_url)
    at = writes_to(editions["one"], what)[place]

    disturbed = run(replace(order, kill_at=at, moment=moment, only_index_server=True))
    said, log = order.errors.read_text(), order.log.read_text()
    after = run(order)

    assert log.count("the index server was killed") == 1
    assert disturbed == 0 or (disturbed == UNAVAILABLE and "Milvus" in said), said
    assert after == 0, order.errors.read_text()
    assert asyncio.run(examine(Workspace.load(order.workspace))) == editions["one"].base
