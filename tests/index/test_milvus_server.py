"""A whole life of a base, governed and not, on a real Milvus server: as on the embedded store, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import os
import subprocess
import sys
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymilvus import MilvusClient  # type: ignore[import-untyped]  # ships no types
from pymilvus.exceptions import MilvusException  # type: ignore[import-untyped]  # ships no types

from lorebase import KnowledgeBase
from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.adapters.milvus.versions import require_full_text
from lorebase.diagnosis.model import Diagnosis
from lorebase.errors import ConfigurationError, UnavailableError
from lorebase.index.ports import EntityFields, Equals, TextEntity, VectorEntity, VectorIndex
from lorebase.runs.cleaning import clean_up
from lorebase.runs.forgetting import forget_document
from lorebase.runs.plan import plan_build
from lorebase.runs.rollback import roll_back
from lorebase.workspace_config import VectorStoreConfig
from tests.fakes.milvus_server import VERSION, MilvusServer
from tests.fakes.workspace import RECIPE, recipe_in, write_documents
from tests.governance.knowledge_world import handbook
from tests.governance.sqlite_world import world_by_vectors
from tests.governance.world import AUTHOR
from tests.index.placed_base import OnStore, PlacedBase, new_name, on_server
from tests.runs.snapshot_checks import GARDEN, HARBOUR, TOWER

TOO_OLD = rf"version {VERSION}\S*, which has no full text; .* needs 2\.5 or newer"


PROFILE = "0123456789abcdef"
OF_BASE = (Equals("base_id", "base"),)
READINGS: dict[str, Callable[[VectorIndex], Awaitable[object]]] = {
    "count": lambda index: index.count(OF_BASE),
    "search": lambda index: index.search(entity("a").vector, (), 5),
    "fields": lambda index: index.fields(OF_BASE),
    "delete": lambda index: index.delete(OF_BASE),
    "switch": lambda index: index.set_searchable(["a"], searchable=False),
}


def entity(chunk_id: str) -> VectorEntity:
    """A row whose vector no other letter has."""
    angle = ord(chunk_id)
    vector = np.array([math.cos(angle), math.sin(angle)], np.float32)
    return VectorEntity(EntityFields(chunk_id, "d", "r", "base"), vector)


async def live_through(life: PlacedBase) -> list[tuple[str, Any]]:
    """Everything that can become of a base, with what is in the index after each."""
    texts = {"harbour.md": HARBOUR, "garden.md": GARDEN, "灯塔.md": TOWER}
    seen: list[tuple[str, Any]] = [("built", await life.build(texts))]
    first = life.live().snapshot_id
    seen.append(("unchanged", await life.build(texts)))
    changed = texts | {"灯塔.md": TOWER.replace("八点", "九点"), "harbour.md": HARBOUR.replace("nine", "ten")}
    seen.append(("changed", await life.build(changed)))
    renamed = {"beans.md" if name == "garden.md" else name: text for name, text in changed.items()}
    seen.append(("renamed", await life.build(renamed)))
    fewer = {name: text for name, text in renamed.items() if name != "灯塔.md"}
    seen.append(("deleted", await life.build(fewer)))
    await roll_back(life.workspace, life.layout, first)
    seen.append(("rolled back", await life.state()))
    seen.append(("built again", await life.build(renamed)))
    forgotten = await forget_document(life.workspace, life.layout, "beans.md")
    seen.append(("forgotten", (list(forgotten.entities_removed.values()), await life.state())))
    cleaned = await clean_up(life.workspace, life.layout, keep=1, apply=True)
    seen.append(("cleaned", ([freed.entities for freed in cleaned.index], await life.state())))
    return seen


async def test_a_base_lives_on_a_server_as_in_an_embedded_store(tmp_path: Path, milvus: VectorStoreConfig) -> None:
    name = new_name()
    served = PlacedBase(tmp_path / "served", name, on_server(milvus))
    embedded = PlacedBase(tmp_path / "embedded", name, MilvusIndexStore.in_folder(tmp_path / "indexes"))

    on_a_server, in_a_file = await live_through(served), await live_through(embedded)

    assert on_a_server == in_a_file
    counts = {what: state[0] for what, state in on_a_server if what in {"built", "unchanged", "changed"}}
    assert counts["built"] == counts["unchanged"]
    assert counts["built"][1] == counts["changed"][1] > 3
    assert served.workspace.seen == embedded.workspace.seen
    assert served.workspace.seen.total() > 0
    await served.close()
    await embedded.close()


async def test_a_recipe_with_full_text_is_refused_before_anything_is_paid_or_written(
    tmp_path: Path, milvus_server: MilvusServer
) -> None:
    name = new_name()
    workspace = OnStore(tmp_path / "ws", MilvusIndexStore.on_server(milvus_server.uri))
    write_documents(tmp_path, {"harbour.md": HARBOUR})
    recipe = recipe_in(tmp_path, RECIPE.replace("name: demo", f"name: {name}"))

    with pytest.raises(ConfigurationError, match=TOO_OLD):
        await plan_build(recipe, workspace)
    with pytest.raises(ConfigurationError, match=TOO_OLD) as refused:
        await KnowledgeBase(name, workspace).rebuild(recipe)

    assert milvus_server.uri in refused.value.message
    assert "out of the recipe" in refused.value.remedy
    assert workspace.seen.total() == 0
    assert workspace.object_store.list("knowledge_bases") == []


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        *((version, False) for version in ("v2.5.0", "2.6.0-rc1", "3.0", "master-b0260d8", "")),
        *((version, True) for version in ("v2.3.5-lite", "2.4.23", "v1.1")),
    ],
)
def test_a_server_before_2_5_is_refused_and_one_that_does_not_tell_is_let_through(version: str, refused: bool) -> None:
    said = ""
    try:
        require_full_text(version, "somewhere")
    except ConfigurationError as error:
        said = error.message

    assert ("needs 2.5 or newer" in said) is refused


async def test_words_are_neither_written_nor_searched_on_a_server_that_they_would_end(
    milvus_server: MilvusServer,
) -> None:
    store = MilvusIndexStore.on_server(milvus_server.uri)
    lexical = store.lexical(new_name())

    with pytest.raises(ConfigurationError, match=TOO_OLD):
        await lexical.upsert([TextEntity(EntityFields("a", "d", "r", "base"), "whale oil")])
    with pytest.raises(ConfigurationError, match=TOO_OLD):
        await lexical.search("灯塔", (), 5)

    assert await lexical.count(()) == 0
    await lexical.drop()
    await store.close()


@pytest.mark.parametrize("reading", READINGS)
async def test_a_collection_whose_maker_was_cut_off_before_its_index_is_read_as_empty_and_filled_by_the_next_write(
    milvus: VectorStoreConfig, monkeypatch: pytest.MonkeyPatch, reading: str
) -> None:
    store, base = on_server(milvus), new_name()
    index = store.vectors(base, PROFILE, 2)

    def cut_off(*_args: object, **_named: object) -> None:
        raise MilvusException(code=2, message="the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(MilvusClient, "create_index", cut_off)
        with pytest.raises(UnavailableError, match="the connection was lost"):
            await index.upsert([entity("a")])
    read = await READINGS[reading](index)
    await index.upsert([entity("a"), entity("b")])

    assert not read
    assert await index.count(()) == 2
    assert [found.chunk_id for found in await index.search(entity("b").vector, (), 5)] == ["b", "a"]
    await index.drop()
    await store.close()


async def test_readers_of_an_index_that_others_are_just_making_see_what_is_in_it(milvus: VectorStoreConfig) -> None:
    store, other_store, base = on_server(milvus), on_server(milvus), new_name()
    read: list[int] = []

    async def fill_and_read(number: int) -> int:
        profile = f"{number:016x}"
        index, same_index = store.vectors(base, profile, 2), other_store.vectors(base, profile, 2)
        filling = asyncio.create_task(index.upsert([entity("a"), entity("b")]))
        while not filling.done():
            read.append(await same_index.count(()))
        await filling
        count = await same_index.count(())
        await index.drop()
        return count

    counts = await asyncio.gather(*(fill_and_read(number) for number in range(12)))

    assert counts == [2] * 12
    assert set(read) <= {0, 2}
    assert len(read) > 12
    await store.close()
    await other_store.close()


async def test_governed_knowledge_is_published_rolled_back_and_taken_offline(
    tmp_path: Path, milvus: VectorStoreConfig
) -> None:
    base = new_name()
    async with world_by_vectors(tmp_path, on_server(milvus), base) as world:
        item, other = world.item("travel", base=base), world.item("灯塔", base=base)
        first, second = await world.ready(item, handbook(30), ["差旅"]), await world.ready(item, handbook(10), ["差旅"])
        tower = await world.ready(other, TOWER, ["灯塔"])

        async def found(query: str = "when are travel reports due", **given: Any) -> set[str]:
            result = await world.retrieve(query, base_id=base, **given)
            return {evidence.revision_id for evidence in result.evidence}

        before = await found()
        for revision in (first, tower, second):
            await world.publish(revision)
        published = await found(), await found("灯塔每晚几点亮灯", all_tags=("灯塔",)), await world.shown(base)
        await world.roll_back(first)
        rolled_back = await found(), await world.shown(base)
        await world.take_offline(item.id)
        offline = await found(any_tags=("差旅",)), await world.shown(base)

        assert before == set()
        assert published == ({str(second.id)}, {str(tower.id)}, [{str(second.id), str(tower.id)}])
        assert rolled_back == ({str(first.id)}, [{str(first.id), str(tower.id)}])
        assert offline == (set(), [{str(tower.id)}])
        assert await world.entities(first, base) == [3]
        assert world.release(item.id, AUTHOR).active_revision_id is None


def test_a_diagnosis_names_the_version_and_warns_that_full_text_is_missing(
    tmp_path: Path, milvus_server: MilvusServer
) -> None:
    (tmp_path / "lorebase.yaml").write_text(f"vector_store: {{uri: '{milvus_server.uri}'}}\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-m", "apps.cli.main", "doctor", "--workspace", str(tmp_path), "--json"]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    findings = {finding.check: finding for finding in Diagnosis.model_validate(json.loads(done.stdout)).findings}
    assert done.returncode == 0, done.stdout + done.stderr
    assert VERSION in str(findings["index store"].facts["version"])
    assert findings["index store"].status == "ok"
    assert findings["index store: full text"].status == "warning"
    assert "needs 2.5 or newer" in findings["index store: full text"].message


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
async def test_a_forked_child_writes_and_counts_beside_its_parent(milvus: VectorStoreConfig, tmp_path: Path) -> None:
    life = PlacedBase(tmp_path, new_name(), on_server(milvus))
    before = await life.build({"harbour.md": HARBOUR})

    def count_in_child() -> None:
        assert asyncio.run(life.state()) == before

    child = multiprocessing.get_context("fork").Process(target=count_in_child)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, which is what is tried here
        child.start()
    await asyncio.to_thread(child.join, 60)
    child.kill()

    assert child.exitcode == 0
    assert await life.state() == before
    await life.close()
