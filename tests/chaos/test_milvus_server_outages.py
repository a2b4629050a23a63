"""A Milvus server dies under builds and readers, and several processes write to one server at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from lorebase import KnowledgeBase, Workspace
from lorebase.adapters.milvus import MilvusIndexStore, MilvusLimits
from lorebase.artifacts.kinds import VECTOR_INDEX
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import RetrievalTimeoutError, UnavailableError
from lorebase.index.ports import Equals
from lorebase.retrieval.governed.evidence import RetrievalResult
from tests.chaos.corpus import RECIPE as CHAOS_RECIPE
from tests.chaos.corpus import write_corpus, write_workspace
from tests.chaos.crashing import CrashingIndexes, Moment, WritePoint
from tests.chaos.scene import Model
from tests.fakes.milvus_server import MilvusServer
from tests.fakes.openai_server import OpenAIServer
from tests.flows.conftest import HYBRID, PrefectServer, Project, endpoint, prefect, project
from tests.flows.test_build import build
from tests.governance.knowledge_world import handbook
from tests.governance.sqlite_world import world_by_vectors
from tests.index.placed_base import QUERIES, PlacedBase, new_name
from tests.runs.snapshot_checks import GARDEN, HARBOUR, TOWER

__all__ = ["endpoint", "prefect", "project"]  # fixtures, imported from the suite of the flows

# A server that was killed hands collections out again when the sessions of its dead parts have run out.
LIMITS = MilvusLimits(call_timeout_seconds=90, connect_timeout_seconds=10)
TEXTS = {
    "harbour.md": HARBOUR,
    "garden.md": GARDEN,
    "灯塔.md": TOWER,
    **{f"rule {number}.md": f"# Rule {number}\n\nRule {number}: 第{number}条规定。\n" for number in range(9)},
}
FULL_TEXT_STEP = "      - index_full_text: {retry: {attempts: 3, delays_seconds: [0.05]}}\n"


@pytest.fixture
async def undisturbed(tmp_path: Path) -> AsyncIterator[PlacedBase]:
    """What a build leaves that nothing disturbs."""
    base = PlacedBase(tmp_path / "undisturbed", new_name(), MilvusIndexStore.in_folder(tmp_path / "indexes"))
    await base.build(TEXTS)
    yield base
    await base.close()


@pytest.mark.parametrize(
    ("at", "moment", "comes_back"), [(1, "before", True), (3, "half", False), (5, "after", True), (-1, "half", False)]
)
async def test_a_server_that_dies_while_an_index_is_written_leaves_a_base_that_the_next_build_makes_whole(
    tmp_path: Path, milvus_server: MilvusServer, undisturbed: PlacedBase, at: int, moment: Moment, comes_back: bool
) -> None:
    """BQ-06."""
    log = tmp_path / "writes.log"
    at = at if at > 0 else await writes_of_a_build(tmp_path, milvus_server)
    point = WritePoint(log, at=at, moment=moment, only_index_server=True)
    store = CrashingIndexes(MilvusIndexStore.on_server(milvus_server.uri, limits=LIMITS), point)
    point.index_servers = milvus_server.pids
    base = PlacedBase(tmp_path / "served", undisturbed.name, store)
    restarting = Thread(target=start_once_it_is_dead, args=(milvus_server,), daemon=True)
    if comes_back:
        restarting.start()

    disturbed = await base.try_to_build(TEXTS)
    assert log.read_text().count("the index server was killed") == 1, disturbed.error
    if comes_back:
        restarting.join()
    else:
        milvus_server.restart()
    paid = base.workspace.seen.copy()
    whole = await base.build(TEXTS)

    assert disturbed.status == "succeeded" or (
        disturbed.error is not None
        and disturbed.error.code == UnavailableError.code
        and milvus_server.uri in disturbed.error.message
    ), disturbed.error
    assert whole == await undisturbed.state()
    assert base.workspace.seen == paid == undisturbed.workspace.seen
    assert manifests(base) == manifests(undisturbed)
    await base.close()


async def writes_of_a_build(folder: Path, server: MilvusServer) -> int:
    """How many writes an index gets from an undisturbed build."""
    log = folder / "counted.log"
    store = CrashingIndexes(MilvusIndexStore.on_server(server.uri), WritePoint(log))
    base = PlacedBase(folder / "counted", new_name(), store)
    await base.build(TEXTS)
    await base.close()
    return len(log.read_text().splitlines())


def start_once_it_is_dead(server: MilvusServer) -> None:
    while server.pids():
        time.sleep(0.05)
    server.restart()


def manifests(base: PlacedBase) -> dict[str, bytes]:
    """Bytes of the manifest of every artifact that is live."""
    store = base.workspace.object_store
    return {name: store.get(reference.manifest_key) for name, reference in base.live().artifacts.items()}


async def test_a_question_while_the_server_is_away_is_an_error_and_the_same_process_answers_afterwards(
    tmp_path: Path, milvus_server: MilvusServer
) -> None:
    store = MilvusIndexStore.on_server(milvus_server.uri, limits=LIMITS)
    placed = PlacedBase(tmp_path, new_name(), store)
    before, _ = await placed.build(TEXTS)
    base = KnowledgeBase.load(placed.name, placed.workspace)
    answered = await base.query(QUERIES[1], mode="vector_search", top_k=3)

    milvus_server.kill()
    for _ in range(2):
        with pytest.raises(UnavailableError, match=f"Milvus {milvus_server.uri}"):
            await base.query(QUERIES[1], mode="vector_search", top_k=3)
    milvus_server.start()
    again = await base.query(QUERIES[1], mode="vector_search", top_k=3)
    after, _ = await placed.state()

    assert answered.results
    assert again.results == answered.results
    assert after == before
    await placed.close()


async def test_governed_knowledge_is_an_error_and_not_without_evidence_while_the_server_is_away(
    tmp_path: Path, milvus_server: MilvusServer
) -> None:
    name = new_name()
    store = MilvusIndexStore.on_server(milvus_server.uri, limits=LIMITS)
    async with world_by_vectors(tmp_path, store, name) as world:
        revision = await world.ready(world.item(base=name), handbook(30))
        await world.publish(revision)
        before = await world.retrieve(base_id=name)

        milvus_server.kill()
        with pytest.raises(UnavailableError, match=f"Milvus {milvus_server.uri}"):
            await world.retrieve(base_id=name)
        milvus_server.start()
        after = await once_it_serves(lambda: world.retrieve(base_id=name))

        assert before.answerable
        assert after.evidence == before.evidence


async def once_it_serves(ask: Callable[[], Awaitable[RetrievalResult]]) -> RetrievalResult:
    """The first answer of a server that was just started: until then nothing but that it does not answer in time."""
    for _try in range(30):
        with suppress(RetrievalTimeoutError, UnavailableError):
            return await ask()
        await asyncio.sleep(0.5)
    return await ask()


def test_two_processes_fill_one_server_at_once_with_a_base_each(
    tmp_path: Path, milvus_server: MilvusServer, model: Model
) -> None:
    builds = []
    for name in (new_name(), new_name()):
        recipe = write_corpus(tmp_path / name, "one")
        text = CHAOS_RECIPE.replace(FULL_TEXT_STEP, "").replace("name: chaos", f"name: {name}")
        recipe.write_text(text, encoding="utf-8")
        workspace = tmp_path / name / "ws"
        write_workspace(workspace, model.base_url)
        with (workspace / "lorebase.yaml").open("a") as config:
            config.write(f"\nvector_store: {{uri: '{milvus_server.uri}'}}\n")
        command = [sys.executable, "-m", "apps.cli.main", "build", str(recipe), "--executor", "inline"]
        log = (tmp_path / name / "log").open("wb")
        with log:
            building = subprocess.Popen([*command, "--workspace", str(workspace)], stdout=log, stderr=log)
        builds.append((name, workspace, building))

    codes = [building.wait(200) for _name, _workspace, building in builds]

    assert codes == [0, 0], [(tmp_path / name / "log").read_text() for name, *_ in builds]
    counts = [asyncio.run(searchable_and_wanted(Workspace.load(folder), name)) for name, folder, _ in builds]
    assert counts[0] == counts[1]
    assert counts[0][0] == counts[0][1] > 60


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # Prefect's background clients
async def test_task_runs_of_other_processes_write_to_the_server_by_themselves(
    milvus_server: MilvusServer, prefect: PrefectServer, project: Project, endpoint: OpenAIServer
) -> None:
    name = new_name()
    project.write(
        **{f"bird{number}": f"Bird number {number} stands in marsh {number}. 第{number}只鸟。" for number in range(12)}
    )
    project.use_endpoint(endpoint.base_url, "sk-any")
    with (project.workspace / "lorebase.yaml").open("a") as config:
        config.write(f"vector_store: {{uri: '{milvus_server.uri}'}}\n")
    spread = "execution: {task_runner: processes, workers: 2, chunks_per_task_run: 5}\n"
    recipe = HYBRID.format(name=name, embed="batch_texts: 2").replace("      - index_full_text: {}\n", "") + spread

    state = await build(prefect, project, recipe)

    runs = prefect.task_runs(state, 8)
    searchable, wanted = await searchable_and_wanted(Workspace.load(project.workspace), name)
    assert state.is_completed()
    assert sum(run.startswith("index_vectors ") for run in runs) > 2
    assert searchable == wanted == 14  # and the two of the project


async def searchable_and_wanted(workspace: Workspace, name: str) -> tuple[int, int]:
    """Entities that searches return, by the index and by the manifest."""
    snapshot = SnapshotStore(workspace.object_store, BaseLayout(name)).require_live()
    index = workspace.index_store.vectors(name, snapshot.embedding_profile_id, snapshot.embedding_dimensions)
    try:
        return await index.count((Equals("searchable", value=True),)), snapshot.artifacts[VECTOR_INDEX.name].rows
    finally:
        await workspace.index_store.close()
