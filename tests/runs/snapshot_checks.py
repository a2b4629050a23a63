"""What the tests of snapshots' life share: building, and checks that a base is whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.artifacts.erasure import read_manifests
from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, EmbeddedChunk
from lorebase.artifacts.ledger import Ledger
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.documents.model import Chunk
from lorebase.fingerprint import fingerprint, sha256_of
from lorebase.runs.groups import GroupRecord
from lorebase.runs.records import RecipeRunRecord
from lorebase.workspace import Workspace
from tests.fakes.workspace import RECIPE, recipe_in, write_documents

LAYOUT = BaseLayout("demo")
HARBOUR = "# Harbour\n\nThe lamp on the pier burns whale oil.\n\n## Fees\n\nA berth costs nine crowns a night.\n"
GARDEN = "# Garden\n\nBeans are sown in May.\n"
TOWER = "# 灯塔\n\n灯塔每晚八点亮灯。夏季推迟一小时。\n"


async def build(folder: Path, workspace: Workspace, text: str = RECIPE) -> RecipeRunRecord:
    result = await KnowledgeBase("demo", workspace).rebuild(
        recipe_in(folder, text), config=KnowledgeBaseBuilderConfig()
    )
    return result.record


async def build_of(folder: Path, workspace: Workspace, texts: dict[str, str], text: str = RECIPE) -> RecipeRunRecord:
    """Build a source that holds these documents and no others."""
    documents = folder / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    for path in documents.iterdir():
        path.unlink()
    write_documents(folder, texts)
    return await build(folder, workspace, text)


async def three_builds(folder: Path, workspace: Workspace, text: str = RECIPE) -> list[RecipeRunRecord]:
    """Snapshots of one, two and three documents; the last one has changed the first."""
    return [
        await build_of(folder, workspace, {"harbour.md": HARBOUR}, text),
        await build_of(folder, workspace, {"harbour.md": HARBOUR, "garden.md": GARDEN}, text),
        await build_of(
            folder,
            workspace,
            {"harbour.md": HARBOUR.replace("oil", "tallow"), "garden.md": GARDEN, "灯塔.md": TOWER},
            text,
        ),
    ]


def snapshots_of(workspace: Workspace) -> list[Snapshot]:
    return SnapshotStore(workspace.object_store, LAYOUT).all()


def live_id(workspace: Workspace) -> str:
    return SnapshotStore(workspace.object_store, LAYOUT).require_live().snapshot_id


def chunks_of(workspace: Workspace, made: Snapshot | RecipeRunRecord) -> dict[str, Chunk]:
    manifest = read_manifest(workspace.object_store, made.artifacts["chunks"])
    return {
        chunk.chunk_id: chunk
        for entry in manifest.partitions
        for chunk in read_partition(workspace.object_store, LAYOUT, CHUNKS, entry)
    }


def pay_for_chunks(workspace: Workspace, run: RecipeRunRecord) -> list[str]:
    """Leave what a task run leaves that was killed after it had embedded every chunk; returns the segments' keys."""
    step = next(step for step in run.step_records if step.step_type == "embed_chunks")
    writer = Ledger(workspace.object_store, LAYOUT, EMBEDDINGS, step.step_fingerprint).writer("group")
    vector = np.eye(1, 384, dtype=np.float32)[0]
    for chunk in chunks_of(workspace, run).values():
        key = fingerprint("embed", chunk.indexed_text)
        writer.record([EmbeddedChunk(key, chunk.chunk_id, chunk.document_id, vector)])
    writer.flush()
    return segments_of(workspace)


def segments_of(workspace: Workspace) -> list[str]:
    return [key for key in workspace.object_store.list(LAYOUT.ledgers) if "/open/" in key]


def assert_everything_is_whole(workspace: Workspace) -> None:
    """The pointer, every snapshot, every object of every manifest, and everything that finished groups refer to."""
    store = workspace.object_store
    SnapshotStore(store, LAYOUT).require_live()
    for snapshot in snapshots_of(workspace):
        for reference in snapshot.artifacts.values():
            for entry in read_manifest(store, reference).partitions:
                assert sha256_of(store.get(LAYOUT.object(entry.sha256))) == entry.sha256
    for manifest in read_manifests(store, LAYOUT).values():
        assert all(store.exists(LAYOUT.object(entry.sha256)) for entry in manifest.partitions)
    for key in store.list(LAYOUT.finished):
        for result in GroupRecord.model_validate_json(store.get(key)).partitions:
            assert store.exists(LAYOUT.object(result.entry.sha256)), key


async def names_found(workspace: Workspace, query: str, mode: str = "full_text_search") -> set[str]:
    found = await KnowledgeBase.load("demo", workspace).query(query, mode=mode, top_k=20)
    return {result.document.name for result in found.results}
