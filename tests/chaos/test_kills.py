"""Builds whose processes are killed at every kind of write end where an undisturbed build ends."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random

import pytest

from lorebase import Workspace
from tests.chaos.build_once import BuildOrder
from tests.chaos.conftest import new_bucket
from tests.chaos.corpus import StoreAddress, write_workspace
from tests.chaos.crashing import Moment
from tests.chaos.long_run import LongRun
from tests.chaos.scene import Edition, Model, Switching, Trial, check_model_calls, examine
from tests.chaos.watching import edition_shown

MOMENTS: tuple[Moment, ...] = ("before", "half", "after")


def run_trial(trial: Trial, model: Model, *, most_kills: int, first: BuildOrder | None = None) -> int:
    """Run a trial, hold its end to the undisturbed build's; returns texts that kills made the model see again."""
    before = model.seen()

    trial.run(most_kills=most_kills, first=first)

    sent = model.seen() - before
    base = asyncio.run(examine(Workspace.load(trial.order.workspace)))
    assert base == trial.edition.base, str(trial)
    return check_model_calls(trial, sent)


@pytest.mark.parametrize("seed", range(9))
def test_a_build_that_is_killed_again_and_again_ends_as_an_undisturbed_one(
    tmp_path: Path, model: Model, editions: dict[str, Edition], seed: int
) -> None:
    """B-017, B-019, BQ-05, BQ-06, BQ-07, BQ-08."""
    order = BuildOrder(editions["one"].recipe, tmp_path / "workspace")
    write_workspace(order.workspace, model.base_url)
    trial = Trial(seed, order, editions["one"])
    # The first kills are spread evenly over all writes, so that every step has one.
    at = 1 + (seed * editions["one"].writes + editions["one"].writes // 2) // 9
    first = replace(order, kill_at=at, moment=MOMENTS[seed % 3])

    run_trial(trial, model, most_kills=3, first=first)

    assert trial.kills >= 1, str(trial)
    print(f"kills: {trial.kills}, {trial.killed_at}")


def switching_trial(folder: Path, editions: dict[str, Edition], switching: Switching, at: int, moment: Moment) -> Trial:
    """Kill the build of the second edition at one write of its switch, and look at the answers after every process."""
    order = BuildOrder(editions["two"].recipe, folder / "workspace")
    shutil.copytree(switching.workspace, order.workspace)
    trial = Trial(1000 + at, order, editions["two"])
    seen: list[str] = []

    def look() -> None:
        seen.append(asyncio.run(edition_shown(order.workspace, editions)))

    first = replace(order, kill_at=at, moment=moment, with_index_server=at % 3 == 0)
    trial.run(most_kills=1, first=first, after_kill=look)
    look()

    base = asyncio.run(examine(Workspace.load(order.workspace)))
    assert base.manifests == editions["two"].base.manifests, str(trial)
    # How often progress is written depends on the clock, so that a slow build may end before that write.
    assert trial.kills == 1 or len(order.log.read_text().splitlines()) < at, str(trial)
    assert seen[-1] == "two", f"{trial}: {seen}"
    assert "one" not in seen[seen.index("two") :], f"{trial}: {seen}"
    return trial


@pytest.mark.parametrize("back", range(2, 10))
def test_an_update_that_is_killed_at_its_switch_shows_one_edition_or_the_other(
    tmp_path: Path, editions: dict[str, Edition], switching: Switching, back: int
) -> None:
    """BQ-06, BQ-07: the last writes are the activation, the pointer and the records of the end."""
    switching_trial(tmp_path, editions, switching, len(switching.writes) - back, MOMENTS[back % 3])


@pytest.mark.parametrize("seed", range(3))
def test_a_build_on_s3_that_is_killed_ends_as_an_undisturbed_one_in_a_folder(
    tmp_path: Path, model: Model, editions: dict[str, Edition], bucket: StoreAddress, seed: int
) -> None:
    order = BuildOrder(editions["one"].recipe, tmp_path / "workspace")
    write_workspace(order.workspace, model.base_url, bucket)
    trial = Trial(2000 + seed, order, editions["one"])
    at = 1 + editions["one"].writes * (2 * seed + 1) // 6
    first = replace(order, kill_at=at, moment=MOMENTS[seed % 3])

    run_trial(trial, model, most_kills=3, first=first)

    assert trial.kills >= 1, str(trial)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_hundreds_of_kills(
    tmp_path: Path, model: Model, editions: dict[str, Edition], switching: Switching, seaweedfs: str
) -> None:
    """`CHAOS_KILLS` processes are killed (500 where it is not set), from the seed `CHAOS_SEED`."""
    wanted, first_seed = int(os.environ.get("CHAOS_KILLS", "500")), int(os.environ.get("CHAOS_SEED", "0"))
    record = LongRun(wanted, first_seed)
    places = [(at, moment) for at in range(1, editions["one"].writes + 1) for moment in MOMENTS]
    Random(first_seed).shuffle(places)
    switches = [(at, moment) for at in range(1, len(switching.writes) + 1) for moment in MOMENTS]
    for number in count():
        folder = tmp_path / str(number)
        if number % 2 and number // 2 < len(switches):
            trial = switching_trial(folder, editions, switching, *switches[number // 2])
            record.add(trial, "switch", repeated=0)
        else:
            at, moment = places[number % len(places)]
            order = BuildOrder(editions["one"].recipe, folder / "workspace")
            on_s3 = number % 10 == 0
            write_workspace(order.workspace, model.base_url, new_bucket(seaweedfs) if on_s3 else None)
            trial = Trial(first_seed + number, order, editions["one"])
            first = replace(order, kill_at=at, moment=moment, with_index_server=number % 3 == 0)
            repeated = run_trial(trial, model, most_kills=8, first=first)
            record.add(trial, "build on S3" if on_s3 else "build", repeated=repeated)
        shutil.rmtree(folder)
        if record.kills >= wanted:
            break

    record.write(os.environ.get("CHAOS_RESULT"))
    assert record.kills >= wanted
