"""The reconcile command mends whatever was lost, left over or half switched, and finds nothing the second time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from lorebase.database import Database
from lorebase.errors import ForbiddenError, IndexMismatchError
from lorebase.governance.context import Capability
from lorebase.governance.kinds import TaskKind, TaskStatus
from lorebase.governance.model import Revision
from lorebase.governance.reconciling import ReconcileReport
from lorebase.governance.states import RevisionState
from lorebase.governance.tables import audits, chunks, items, releases, revisions
from lorebase.index.ports import EntityFields, Equals, TextEntity
from lorebase.recipes.loading import parse_recipe
from tests.governance.knowledge_world import BASE, KnowledgeWorld, handbook
from tests.governance.world import AUTHOR, caller


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[KnowledgeWorld]:
    made = KnowledgeWorld(database, tmp_path)
    yield made
    await made.close()


async def reconcile(world: KnowledgeWorld, *, reindex: bool = False) -> ReconcileReport:
    return await world.knowledge.reconciling.reconcile_base(AUTHOR, BASE, reindex=reindex)


def change_model(world: KnowledgeWorld) -> None:
    world.workspace.embedder_options = {"dimensions": 32}
    recipe = f"name: {BASE}\ngovernance: reviewed\nmodels: {{embedding: {{provider: local, model: other}}}}\n"
    world.knowledge.bases.recipes.remember(parse_recipe(f"{recipe}procedures: [{{use: hybrid_index}}]\n"))


async def work(world: KnowledgeWorld) -> None:
    worker = world.knowledge.worker("worker-1")
    while (done := await worker.run_next()) is not None:
        assert done.error_code == ""


def kinds(report: ReconcileReport) -> list[str]:
    return [str(repair.kind) for repair in report.repairs]


async def published(world: KnowledgeWorld) -> Revision:
    revision = await world.ready(world.item(), handbook(30))
    await world.publish(revision)
    return revision


async def test_where_all_is_in_line_nothing_is_done_and_the_command_is_on_record(world: KnowledgeWorld) -> None:
    """K-028, K-029."""
    revision = await published(world)

    report = await world.knowledge.reconciling.reconcile_item(AUTHOR, revision.item_id, reason="after a power cut")

    (latest, *_rest) = world.governance.revisions.history(AUTHOR, revision.item_id).records
    assert (report.is_clean, report.repairs, report.revisions) == (True, (), 1)
    assert (latest.command, latest.reason, latest.operator) == ("RECONCILE_INDEX", "after a power cut", "author")


async def test_an_index_that_is_lost_is_written_again_from_the_rows(world: KnowledgeWorld) -> None:
    """KX-18."""
    revision = await published(world)
    await world.knowledge.index.delete(revision)
    with pytest.raises(IndexMismatchError, match=r"is empty, and something is live"):
        await world.texts()

    first, second = await reconcile(world), await reconcile(world)

    assert kinds(first) == ["RESTORED", "SWITCHED"]
    assert second.repairs == ()
    assert len(await world.texts()) == 3


async def test_entities_that_no_manifest_lists_are_removed(world: KnowledgeWorld) -> None:
    revision = await published(world)
    lexical = (await world.knowledge.bases.open(BASE)).lexical()
    assert lexical is not None
    stray = (await lexical.fields((Equals("revision_id", str(revision.id)),)))[0]
    await lexical.upsert([_text(stray, "999")])

    report = await reconcile(world)

    assert kinds(report)[0] == "RESTORED"
    assert await world.entities(revision) == [3, 3]


async def test_entities_of_revisions_that_no_row_knows_are_removed(world: KnowledgeWorld) -> None:
    """KX-18: a backup of the database from before the revision was made."""
    revision = await published(world)
    with world.database.transaction() as connection:
        for table in (chunks, revisions, releases, audits, items):
            connection.execute(table.delete())

    report = await reconcile(world)

    assert [(repair.revision_id, str(repair.kind)) for repair in report.repairs] == [(revision.id, "REMOVED")]
    assert await world.entities(revision) == [0, 0]


async def test_tags_that_differ_from_what_was_reviewed_are_put_right(world: KnowledgeWorld) -> None:
    """K-044, KQ-18."""
    revision = await world.ready(world.item(), handbook(30), ["差旅"])
    await world.publish(revision)
    lexical = (await world.knowledge.bases.open(BASE)).lexical()
    assert lexical is not None
    known = (await lexical.fields((Equals("revision_id", str(revision.id)),)))[0]
    await lexical.upsert([_text(known, known.chunk_id, tags=("sold",))])

    report = await reconcile(world)

    assert kinds(report)[0] == "RESTORED"
    assert len(await world.texts(all_tags=("差旅",), mode="full_text_search")) == 3


async def test_a_revision_of_another_vector_space_needs_another_run_and_is_left_alone(world: KnowledgeWorld) -> None:
    """K-044: the embedding profile."""
    await published(world)
    words_alone = "name: handbook\ngovernance: reviewed\nprocedures: [{use: full_text_index}]\n"
    world.knowledge.bases.recipes.remember(parse_recipe(words_alone))

    report = await reconcile(world)

    assert (report.is_clean, kinds(report)) == (False, ["NEEDS_REINDEX"])


async def test_after_a_change_of_model_no_evidence_is_an_error_until_everything_is_indexed_again(
    world: KnowledgeWorld,
) -> None:
    revision = await published(world)
    other = await world.ready(world.item("lighthouse"), "# Lighthouse\n\nThe lamp burns whale oil.")
    await world.publish(other)
    change_model(world)

    found_by_words = await world.retrieve()
    with pytest.raises(IndexMismatchError, match="not embedded with the model") as refused:
        await world.retrieve("quarks gluons neutrinos")
    with pytest.raises(IndexMismatchError, match="not embedded with the model"):
        await world.retrieve(mode="vector_search")
    by_words = await world.retrieve("quarks gluons neutrinos", mode="full_text_search")
    left, asked = await reconcile(world), await reconcile(world, reindex=True)
    await work(world)
    again = await reconcile(world, reindex=True)
    known = await world.retrieve(mode="vector_search")
    unknown = await world.retrieve("quarks gluons neutrinos")

    assert f"release reconcile {BASE} --reindex" in refused.value.remedy
    assert found_by_words.answerable
    assert by_words.reason == unknown.reason == "NO_EVIDENCE"
    assert (left.is_clean, kinds(left)) == (False, ["NEEDS_REINDEX"] * 2)
    assert (asked.is_clean, kinds(asked)) == (False, ["REINDEX_REQUESTED"] * 2)
    assert (again.is_clean, again.repairs) == (True, ())
    assert known.evidence[0].revision_id == str(revision.id)
    assert world.read(revision).status == RevisionState.PUBLISHED


async def test_a_reindex_is_asked_for_once_and_by_none_who_may_not_process(world: KnowledgeWorld) -> None:
    await published(world)
    change_model(world)
    publisher = caller("publisher", 7, Capability.READ, Capability.PUBLISH)

    with pytest.raises(ForbiddenError):
        await world.knowledge.reconciling.reconcile_base(publisher, BASE, reindex=True)
    reports = [await reconcile(world, reindex=True) for _ in range(2)]

    assert [kinds(report) for report in reports] == [["REINDEX_REQUESTED"], []]
    tasks = world.governance.processing.list(AUTHOR, status=TaskStatus.PENDING)
    assert [task.kind for task in tasks.records] == [TaskKind.REINDEX]


async def test_only_who_may_publish_reconciles(world: KnowledgeWorld) -> None:
    reader = caller("reader", 7, Capability.READ)

    with pytest.raises(ForbiddenError):
        await world.knowledge.reconciling.reconcile_base(reader, BASE)


def _text(fields: EntityFields, chunk_id: str, tags: tuple[str, ...] = ()) -> TextEntity:
    return TextEntity(replace(fields, chunk_id=chunk_id, tags=tags), "Travel reports are due tomorrow.")
