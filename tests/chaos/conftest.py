"""The model, the two editions of the documents with what undisturbed builds leave, and the marker `long`."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from lorebase import Workspace
from lorebase.adapters.object_stores import S3ObjectStore
from lorebase.artifacts.kinds import CHUNKS
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import SnapshotStore
from tests.chaos.build_once import BuildOrder
from tests.chaos.corpus import StoreAddress, write_corpus, write_workspace
from tests.chaos.scene import LAYOUT, Edition, Model, Switching, examine, run, running_model
from tests.conftest import S3_KEY, S3_SECRET
from tests.fakes.openai_server import _digest

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes many minutes; only `-m long` and `make chaos` run it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("chaos"))
    if config.getoption("markexpr"):
        return
    for item in [item for item in items if item.get_closest_marker("long")]:
        items.remove(item)


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    with running_model() as found:
        yield found


def _edition(folder: Path, name: str, model: Model) -> Edition:
    recipe = write_corpus(folder / name, name)
    order = BuildOrder(recipe, folder / f"workspace {name}")
    write_workspace(order.workspace, model.base_url)
    before, began = model.seen(), time.monotonic()
    assert run(order) == 0
    seconds, sent = time.monotonic() - began, model.seen() - before
    workspace = Workspace.load(order.workspace)
    writes = len(order.log.read_text().splitlines())
    base = asyncio.run(examine(workspace))
    return Edition(recipe, order.workspace, base, writes, seconds, sent, _copies(workspace))


def _copies(workspace: Workspace) -> Counter[str]:
    """How many chunks have each text, by the digest that the endpoint counts by."""
    store = workspace.object_store
    manifest = read_manifest(store, SnapshotStore(store, LAYOUT).require_live().artifacts[CHUNKS.name])
    rows = (chunk for entry in manifest.partitions for chunk in read_partition(store, LAYOUT, CHUNKS, entry))
    return Counter(_digest(chunk.indexed_text) for chunk in rows)


@pytest.fixture(scope="session")
def editions(tmp_path_factory: pytest.TempPathFactory, model: Model) -> dict[str, Edition]:
    """Both states of the documents."""
    folder = tmp_path_factory.mktemp("editions")
    return {name: _edition(folder, name, model) for name in ("one", "two")}


@pytest.fixture(scope="session")
def switching(tmp_path_factory: pytest.TempPathFactory, editions: dict[str, Edition]) -> Switching:
    """The first edition live, the second one built up to its activation, where the process was killed."""
    folder = tmp_path_factory.mktemp("switching")
    order = BuildOrder(editions["two"].recipe, folder / "whole")
    shutil.copytree(editions["one"].workspace, order.workspace)
    assert run(order) == 0
    lines = order.log.read_text().splitlines()
    activation = next(number for number, line in enumerate(lines, start=1) if "set_searchable" in line)
    order = BuildOrder(editions["two"].recipe, folder / "killed")
    shutil.copytree(editions["one"].workspace, order.workspace)
    assert run(replace(order, kill_at=activation)) == -signal.SIGKILL
    rest = BuildOrder(editions["two"].recipe, folder / "rest")
    shutil.copytree(order.workspace, rest.workspace)
    assert run(rest) == 0
    return Switching(order.workspace, tuple(rest.log.read_text().splitlines()))


@pytest.fixture
def bucket(seaweedfs: str) -> StoreAddress:
    return new_bucket(seaweedfs)


def new_bucket(endpoint_url: str) -> StoreAddress:
    """An empty bucket."""
    name = f"b{uuid4().hex[:12]}"
    S3ObjectStore(name, endpoint_url=endpoint_url, key=S3_KEY, secret=S3_SECRET).make_bucket()
    return StoreAddress(f"s3://{name}/root", endpoint_url, S3_KEY, S3_SECRET)
