"""Rebuilding a registered base: every layer derived again, nothing published, every warning word for word."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from lorebase.artifacts.manifest import ArtifactReference
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import ConfigurationError, NotFoundError, UnavailableError
from lorebase.models.chat import ChatModel
from lorebase.models.settings import ChatModelSpec
from lorebase.recipes.validation import validated_steps
from lorebase.registered_bases import HostCapabilities, RegisteredBases, open_bases, rebuild_base, registered_recipe
from lorebase.registry.base_changes import BaseChange
from lorebase.registry.base_recipe import LAYERS
from lorebase.registry.changes import SourceTypeChange
from lorebase.registry.record import BaseModels, IndexSettings, RecipeReference
from tests.fakes.scripted_chat import ScriptedChat
from tests.fakes.workspace import FakeWorkspace

LAYOUT = BaseLayout("handbook")
TEXTS = {
    "差旅管理办法.md": "# 总则\n\n出差前须经财务部批准。财务部位于上海市。\n",
    "faq.md": "# FAQ\n\nQ: Who operates the pier?\n\nA: Acme Corporation operates the pier of Norwick.\n",
    "staff.md": "# Staff of Acme\n\nLi Wei is the chief financial officer of Acme Corporation.\n",
}
OWN_RECIPE = """
name: other
sources: [{{folder: {folder}}}]
governance: {governance}
procedures:
  - use: full_text_index
"""


@pytest.fixture
def workspace(tmp_path: Path) -> FakeWorkspace:
    """A workspace whose base `handbook` has three raw documents."""
    made = FakeWorkspace(tmp_path / "ws")
    open_bases(made).create("handbook", BaseChange(name="员工手册"))
    raw = tmp_path / "ws" / "domain_knowledge" / "handbook" / "01_source_raw"
    raw.mkdir(parents=True)
    for name, text in TEXTS.items():
        (raw / name).write_text(text, encoding="utf-8")
    (raw.parent / "02_wiki").mkdir()
    (raw.parent / "02_wiki" / "card.md").write_text("# A card\n", encoding="utf-8")
    return made


@pytest.fixture
def bases(workspace: FakeWorkspace) -> RegisteredBases:
    return open_bases(workspace)


def digest_of_tree(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def live_artifacts(workspace: FakeWorkspace) -> dict[str, ArtifactReference]:
    return SnapshotStore(workspace.object_store, LAYOUT).require_live().artifacts


async def test_a_rebuild_walks_every_layer_in_order(workspace: FakeWorkspace, bases: RegisteredBases) -> None:
    """D-003, D-053, DQ-27: rules take the place of a model that is not there, and it is said."""
    report = await rebuild_base(bases.runtime_of("handbook"))

    assert (report.status, report.error) == ("succeeded", "")
    assert [layer.layer for layer in report.layers] == list(LAYERS)
    left = {layer.layer: set(layer.artifacts) for layer in report.layers}
    assert left["source"] == {"parsed_documents"}
    assert left["classification"] == {"document_classes"}
    assert {"chunks", "entity_mentions", "relation_mentions"} <= left["extraction"]
    assert left["cards"] == {"wiki_cards"}
    assert {"embeddings", "vector_index", "full_text_index"} <= left["compiled"]
    assert sum("extraction unavailable: the recipe has no chat model" in text for text in report.warnings) == 2


async def test_a_rebuild_writes_nothing_into_what_cannot_be_derived(
    workspace: FakeWorkspace, bases: RegisteredBases
) -> None:
    """D-055, D-057."""
    tree = workspace.folder / "domain_knowledge"
    before = digest_of_tree(tree)

    report = await rebuild_base(bases.runtime_of("handbook"))

    assert report.status == "succeeded"
    assert len(before) == 4
    assert digest_of_tree(tree) == before


async def test_derived_layers_that_are_wiped_come_back_identical(
    workspace: FakeWorkspace, bases: RegisteredBases
) -> None:
    """D-055."""
    await rebuild_base(bases.runtime_of("handbook"))
    snapshot = SnapshotStore(workspace.object_store, LAYOUT).require_live()
    objects = workspace.folder / "objects" / LAYOUT.prefix
    before = digest_of_tree(objects / "objects"), digest_of_tree(objects / "manifests")
    graphs = await workspace.graph_store.content_keys("handbook")
    vectors = workspace.index_store.vectors("handbook", snapshot.embedding_profile_id, snapshot.embedding_dimensions)
    indexed = await vectors.fields(())

    shutil.rmtree(objects / "objects")
    shutil.rmtree(objects / "manifests")
    await vectors.drop()
    await workspace.index_store.lexical("handbook").drop()
    await workspace.graph_store.remove("handbook", graphs)
    report = await rebuild_base(bases.runtime_of("handbook"))

    assert report.status == "succeeded"
    assert len(graphs) == 1
    assert len(indexed) > 0
    assert live_artifacts(workspace) == snapshot.artifacts
    assert (digest_of_tree(objects / "objects"), digest_of_tree(objects / "manifests")) == before
    assert await workspace.graph_store.content_keys("handbook") == graphs
    assert await vectors.fields(()) == indexed
    found = await bases.runtime_of("handbook").query("Who operates the pier?", mode="hybrid_search")
    assert found.results[0].document.name == "faq.md"


async def test_figures_are_counted_in_the_live_snapshot_and_kept(
    workspace: FakeWorkspace, bases: RegisteredBases
) -> None:
    """D-006, D-019, D-022."""
    assert bases.show("handbook").data.source_count == 0

    await rebuild_base(bases.runtime_of("handbook"))

    shown = bases.show("handbook").data
    (listed,) = bases.list().data
    assert (shown.source_count, shown.build_version, listed.source_count) == (3, 1, 3)
    counts = {known.id: known.source_count for known in shown.source_types if known.source_count}
    assert counts == {"document": 1, "policy": 1, "faq": 1}
    assert shown.updated_at == bases.show("handbook").data.updated_at


async def test_a_governed_base_shows_nothing_of_a_rebuild(
    tmp_path: Path, workspace: FakeWorkspace, bases: RegisteredBases
) -> None:
    """X-08."""
    raw = workspace.folder / "domain_knowledge" / "handbook" / "01_source_raw"
    inline = OWN_RECIPE.format(folder=raw, governance="reviewed")
    bases.update("handbook", BaseChange(recipe=RecipeReference(inline=inline)))

    report = await rebuild_base(bases.runtime_of("handbook"))

    searchable = [fields.searchable for fields in await workspace.index_store.lexical("handbook").fields(())]
    assert (report.status, report.published, report.snapshot_id) == ("succeeded", False, "")
    assert searchable == [False] * len(searchable)
    assert len(searchable) >= 3
    assert SnapshotStore(workspace.object_store, LAYOUT).pointer() is None


async def test_what_production_sees_stays_where_a_governed_base_is_rebuilt(
    workspace: FakeWorkspace, bases: RegisteredBases
) -> None:
    """X-08."""
    raw = workspace.folder / "domain_knowledge" / "handbook" / "01_source_raw"
    free, governed = (
        BaseChange(recipe=RecipeReference(inline=OWN_RECIPE.format(folder=raw, governance=how)))
        for how in ("none", "reviewed")
    )
    bases.update("handbook", free)
    await rebuild_base(bases.runtime_of("handbook"))
    pointer = SnapshotStore(workspace.object_store, LAYOUT).pointer()
    before = await workspace.index_store.lexical("handbook").fields(())
    bases.update("handbook", governed)
    (raw / "staff.md").write_text("# Staff\n\nNobody works here.\n", encoding="utf-8")

    await rebuild_base(bases.runtime_of("handbook"))

    after = await workspace.index_store.lexical("handbook").fields(())
    assert SnapshotStore(workspace.object_store, LAYOUT).pointer() == pointer
    assert [fields for fields in after if fields.searchable] == before
    assert len(after) > len(before)


async def test_a_models_failure_stands_word_for_word_among_the_warnings(
    workspace: FakeWorkspace,
) -> None:
    """D-015, D-074: host abilities reach the base, however late they come."""
    host: list[HostCapabilities] = []
    bases = open_bases(workspace, host=lambda: host[0] if host else None)
    bases.update("handbook", BaseChange(models=BaseModels(chat="seam/some-model")))
    base = bases.runtime_of("handbook")
    specs: list[ChatModelSpec] = []

    def open_chat(spec: ChatModelSpec) -> ChatModel:
        specs.append(spec)
        return ScriptedChat([UnavailableError("401 MissingSessionID: no session.", dependency="seam")])

    host.append(HostCapabilities(open_chat))
    report = await rebuild_base(base)

    assert (report.status, report.published) == ("failed", False)
    assert report.error == "401 MissingSessionID: no session."
    assert "model classification unavailable: 401 MissingSessionID: no session." in report.warnings
    assert {(spec.provider, spec.model) for spec in specs} == {("seam", "some-model")}


def test_the_types_of_the_record_stand_in_the_recipe(workspace: FakeWorkspace, bases: RegisteredBases) -> None:
    """D-003: equal types give an equal fingerprint, other types another."""
    before = registered_recipe(workspace, "handbook")
    again = registered_recipe(workspace, "handbook")
    contract = {
        "label": "合同",
        "description": "Signed agreements of any kind.",
        "signals": ["合同"],
        "excludes": ["发票"],
    }
    bases.source_types.add("handbook", SourceTypeChange.from_json(contract, type_id="contract"))

    after = registered_recipe(workspace, "handbook")

    assert before.fingerprint == again.fingerprint != after.fingerprint
    assert "合同" in after.to_yaml()
    assert [step.name for step in validated_steps(after)][:2] == ["parse_documents", "classify_documents"]


def test_a_base_searched_by_words_alone_needs_no_vectors(workspace: FakeWorkspace, bases: RegisteredBases) -> None:
    bases.update("handbook", BaseChange(index=IndexSettings(vector=False)))

    names = [step.name for step in validated_steps(registered_recipe(workspace, "handbook"))]

    assert "index_full_text" in names
    assert not {"embed_chunks", "index_vectors"} & set(names)


def test_a_base_that_is_not_registered_is_not_rebuilt(workspace: FakeWorkspace) -> None:
    with pytest.raises(NotFoundError, match="nobody"):
        registered_recipe(workspace, "nobody")


async def test_a_build_that_would_show_itself_is_refused_for_a_governed_base(
    workspace: FakeWorkspace, bases: RegisteredBases
) -> None:
    """X-08: only what stays hidden may be built beside what people publish."""
    raw = workspace.folder / "domain_knowledge" / "handbook" / "01_source_raw"
    inline = OWN_RECIPE.format(folder=raw, governance="reviewed")
    bases.update("handbook", BaseChange(recipe=RecipeReference(inline=inline)))

    with pytest.raises(ConfigurationError, match="governance: reviewed"):
        await bases.runtime_of("handbook").rebuild(registered_recipe(workspace, "handbook"))
