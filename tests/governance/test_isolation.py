"""Organisations do not see each other: what belongs to another one does not exist.

The second half has two organisations with the same keys, names, tags and files in one base.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lorebase.answering.over_retrieval import AskOptions
from lorebase.database import Database
from lorebase.errors import DuplicateSourceError, InvalidInputError, NotFoundError
from lorebase.governance.context import PrincipalContext
from lorebase.governance.drafts import DraftFields
from lorebase.governance.kinds import FeedbackKind, FeedbackStatus
from lorebase.governance.model import FaqEntry, Revision
from lorebase.governance.service import Governance
from lorebase.governance.states import Command, IndexStatus
from lorebase.recipes.loading import parse_recipe
from lorebase.retrieval.governed.request import GovernedMode
from tests.answering.over_retrieval.ask_scene import judged, playing, said
from tests.fakes.scripted_chat import ScriptedChat
from tests.fakes.workspace import write_documents
from tests.governance.knowledge_world import BASE, KnowledgeWorld
from tests.governance.world import AUTHOR, STRANGER, World, upload

Call = Callable[[Governance, PrincipalContext, dict[str, int]], object]

CALLS: dict[str, Call] = {
    "items.get": lambda g, c, ids: g.items.get(c, ids["item"]),
    "items.delete": lambda g, c, ids: g.items.delete(c, ids["item"], version=0),
    "items.restore": lambda g, c, ids: g.items.restore(c, ids["item"], version=0),
    "revisions.get": lambda g, c, ids: g.revisions.get(c, ids["revision"]),
    "revisions.list": lambda g, c, ids: g.revisions.list(c, item_id=ids["item"]),
    "revisions.original": lambda g, c, ids: g.revisions.original(c, ids["revision"]),
    "revisions.history": lambda g, c, ids: g.revisions.history(c, ids["item"]),
    "revisions.delete": lambda g, c, ids: g.revisions.delete(c, ids["revision"], version=0),
    "drafts.create": lambda g, c, ids: g.drafts.create(c, ids["item"]),
    "drafts.copy": lambda g, c, ids: g.drafts.copy(c, ids["revision"]),
    "drafts.edit": lambda g, c, ids: g.drafts.edit(c, ids["revision"], DraftFields(tags=["x"]), version=0),
    "drafts.set_faq": lambda g, c, ids: g.drafts.set_faq(
        c, ids["revision"], [FaqEntry(question="q", answer="a")], version=0
    ),
    "uploads.add_file": lambda g, c, ids: g.uploads.add_file(c, ids["item"], upload("a.txt", b"x")),
    "review.submit": lambda g, c, ids: g.review.submit(c, ids["revision"], version=0),
    "review.approve": lambda g, c, ids: g.review.approve(c, ids["revision"], version=0),
    "review.reject": lambda g, c, ids: g.review.reject(c, ids["revision"], version=0, reason="no"),
    "processing.start": lambda g, c, ids: g.processing.start(c, ids["revision"], version=0, idempotency_key="k"),
    "processing.retry": lambda g, c, ids: g.processing.retry(c, ids["revision"], version=0, idempotency_key="k"),
    "processing.reindex": lambda g, c, ids: g.processing.reindex(c, ids["revision"], version=0, idempotency_key="k"),
    "processing.delete_index": lambda g, c, ids: g.processing.delete_index(
        c, ids["revision"], version=0, idempotency_key="k"
    ),
    "processing.get": lambda g, c, ids: g.processing.get(c, ids["task"]),
    "tasks.cancel": lambda g, c, ids: g.tasks.cancel(c, ids["task"]),
    "releases.get": lambda g, c, ids: g.releases.get(c, ids["item"]),
    "releases.require_switchable": lambda g, c, ids: g.releases.require_switchable(
        c, ids["revision"], Command.PUBLISH, expected_version=0
    ),
    "releases.switch": lambda g, c, ids: g.releases.switch(c, ids["revision"], Command.PUBLISH, expected_version=0),
    "releases.withdraw": lambda g, c, ids: g.releases.withdraw(c, ids["item"], expected_version=0),
    "feedback.report": lambda g, c, ids: g.feedback.report(c, ids["revision"], FeedbackKind.WRONG_ANSWER),
    "feedback.close": lambda g, c, ids: g.feedback.close(c, ids["feedback"], FeedbackStatus.DISMISSED, version=0),
    "tags.rename": lambda g, c, ids: g.tags.rename(c, ids["tag"], "x", version=0),
    "tags.delete": lambda g, c, ids: g.tags.delete(c, ids["tag"], version=0),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_an_id_of_another_organisation_is_not_found(world: World, call: Call) -> None:
    """KX-19, K-062, KQ-23."""
    governance = world.governance
    revision, task = world.started()
    ids = {
        "item": revision.item_id,
        "revision": revision.id,
        "task": task.id,
        "feedback": governance.feedback.report(AUTHOR, revision.id, FeedbackKind.LOW_QUALITY).id,
        "tag": governance.tags.add(AUTHOR, "差旅").id,
    }

    with pytest.raises(NotFoundError) as foreign:
        call(governance, STRANGER, ids)
    with pytest.raises(NotFoundError) as unknown:
        call(governance, STRANGER, {name: row_id + 1 for name, row_id in ids.items()})

    assert (foreign.value.code, foreign.value.remedy) == ("NOT_FOUND", unknown.value.remedy)
    assert world.read(revision) == revision


def test_lists_hold_nothing_of_another_organisation(world: World) -> None:
    """K-062."""
    governance = world.governance
    revision, _task = world.started()
    governance.feedback.report(AUTHOR, revision.id, FeedbackKind.LOW_QUALITY)
    governance.tags.add(AUTHOR, "差旅")

    lists = [
        governance.items.list(STRANGER),
        governance.revisions.list(STRANGER),
        governance.processing.list(STRANGER),
        governance.feedback.list(STRANGER),
        governance.tags.list(STRANGER),
    ]

    assert [page.total for page in lists] == [0, 0, 0, 0, 0]
    assert governance.releases.active_revision_ids(STRANGER.organ_id, [revision.item_id]) == {}


def test_a_tag_or_key_of_one_organisation_is_free_in_another(world: World) -> None:
    """K-063."""
    ours = world.governance.tags.add(AUTHOR, "差旅")

    theirs = world.governance.tags.add(STRANGER, "差旅")

    assert (theirs.name, theirs.organ_id) == ("差旅", 8)
    assert ours.organ_id == 7


TEXT = "# Travel\n\nTravel reports are due within 30 days."
DUE = "When are travel reports due?"
CALLERS = (AUTHOR, STRANGER)


@dataclass(frozen=True)
class Twins:
    """Two organisations, each with an item of the same key, name and tag, and the same file published of it."""

    world: KnowledgeWorld
    published: dict[int, Revision]

    def own(self, context: PrincipalContext) -> Revision:
        return self.published[context.organ_id]

    def other(self, context: PrincipalContext) -> Revision:
        (found,) = (revision for organ_id, revision in self.published.items() if organ_id != context.organ_id)
        return found

    async def found(self, context: PrincipalContext) -> set[str]:
        evidence = (await self.world.retrieve(DUE, context)).evidence
        return {one.revision_id for one in evidence}


@pytest.fixture
async def twins(database: Database, tmp_path: Path) -> AsyncIterator[Twins]:
    world = KnowledgeWorld(database, tmp_path)
    published = {}
    for context in CALLERS:
        revision = await world.ready(world.item("travel", context), TEXT, ["差旅"], context)
        await world.publish(revision, context)
        published[context.organ_id] = world.read(revision, context)
    yield Twins(world, published)
    await world.close()


@pytest.mark.parametrize("mode", ["vector_search", "full_text_search", "hybrid_search"])
async def test_vectors_words_and_tags_find_only_ones_own(twins: Twins, mode: GovernedMode) -> None:
    """K-062, K-063."""
    for context in CALLERS:
        plain = await twins.world.retrieve(DUE, context, mode=mode)
        tagged = await twins.world.retrieve(DUE, context, mode=mode, any_tags=("差旅",), all_tags=("差旅",))

        for found in (plain, tagged):
            (evidence,) = found.evidence
            assert evidence.revision_id == str(twins.own(context).id)
            assert evidence.item_id == str(twins.own(context).item_id)


async def test_a_citation_resolves_for_its_own_organisation_alone(twins: Twins) -> None:
    """K-062."""
    (evidence,) = (await twins.world.retrieve(DUE, AUTHOR)).evidence
    revision_id, chunk_id = int(evidence.revision_id), int(evidence.chunk_id)

    own = twins.world.knowledge.citations.resolve(AUTHOR, revision_id, chunk_id)

    assert own.status == "live"
    with pytest.raises(NotFoundError):
        twins.world.knowledge.citations.resolve(STRANGER, revision_id, chunk_id)
    feedback = twins.world.governance.feedback
    with pytest.raises(InvalidInputError):
        feedback.report(STRANGER, twins.own(STRANGER).id, FeedbackKind.LOW_QUALITY, chunk_id=chunk_id)


async def test_answers_cite_and_replies_are_kept_for_ones_own(twins: Twins) -> None:
    """K-062."""
    world = twins.world
    chat = ScriptedChat(playing([said(("Travel reports are due within 30 days.", [1]))], [judged(True)]))
    world.workspace.open_chat = lambda spec: chat  # type: ignore[method-assign]  # the fake has no endpoints
    with_chat = "{embedding: {provider: local}, chat: {provider: fake, model: scripted}}"
    world.knowledge.bases.recipes.remember(
        parse_recipe(f"name: {BASE}\ngovernance: reviewed\nmodels: {with_chat}\nprocedures: [{{use: hybrid_index}}]\n")
    )

    answers = {context.organ_id: await world.knowledge.asking.ask(context, BASE, DUE) for context in CALLERS}

    for context in CALLERS:
        answered = answers[context.organ_id]
        assert [source.revision_id for source in answered.sources] == [str(twins.own(context).id)]
        assert (answered.usage.calls, answered.usage.cached_calls) == (2, 0)
    assert len({source.snapshot_id for answered in answers.values() for source in answered.sources}) == 2
    kept = [path.relative_to(world.workspace.folder) for path in world.workspace.folder.rglob("calls/*/*/*.json")]
    folders = {path.parts[path.parts.index("calls") + 1] for path in kept}
    assert folders == {"organisation-7", "organisation-8"}


async def test_a_takeover_stands_in_the_queue_of_its_own_organisation(twins: Twins) -> None:
    """K-062, X-05."""
    governance = twins.world.governance
    long = "Travel reports are due within 30 days after the return, with every receipt that there is for them."
    item = governance.items.create(AUTHOR, base_id="long", knowledge_key="long", title="Long")
    await twins.world.publish(await twins.world.ready(item, long))

    blocked = await twins.world.knowledge.asking.ask(AUTHOR, "long", DUE, options=AskOptions(max_answer_chars=50))

    assert blocked.status == "blocked"
    assert (governance.feedback.list(AUTHOR).total, governance.feedback.list(STRANGER).total) == (1, 0)


async def test_lists_tasks_and_history_hold_only_ones_own(twins: Twins) -> None:
    """K-062, K-029."""
    governance = twins.world.governance
    for context in CALLERS:
        own = twins.own(context)

        tasks = governance.processing.list(context)
        history = governance.revisions.history(context, own.item_id, page_size=100)
        items = governance.items.list(context, base_id=BASE)

        assert [task.revision_id for task in tasks.records] == [own.id]
        assert [item.id for item in items.records] == [own.item_id]
        assert {entry.organ_id for entry in history.records} == {context.organ_id}
        assert {entry.revision_id for entry in history.records} == {None, own.id}
        assert governance.revisions.numbers(context, [own.id, twins.other(context).id]) == {own.id: 1}


async def test_the_same_file_is_a_duplicate_in_its_own_organisation_alone(twins: Twins) -> None:
    """K-062."""
    world = twins.world
    new = "Only one organisation has this."
    world.draft(world.item("second"), new)
    ours, theirs = world.item("third"), world.item("third", STRANGER)

    taken = world.governance.uploads.add_file(STRANGER, theirs.id, upload("a.md", new.encode()))

    assert taken.organ_id == STRANGER.organ_id
    with pytest.raises(DuplicateSourceError) as known:
        world.governance.uploads.add_file(AUTHOR, ours.id, upload("a.md", TEXT.encode()))
    assert [match["revision_id"] for match in known.value.facts["matches"]] == [str(twins.own(AUTHOR).id)]
    keys = [twins.own(context).object_key for context in CALLERS]
    assert [key.split("/")[2] for key in keys] == ["7", "8"]


async def test_a_dictionary_of_tags_knows_only_ones_own(database: Database, tmp_path: Path) -> None:
    """K-063."""
    world = KnowledgeWorld(database, tmp_path, only_known_tags=True)
    world.governance.tags.add(AUTHOR, "差旅")
    ours, theirs = world.item("travel"), world.item("travel", STRANGER)

    draft = world.governance.drafts.create(AUTHOR, ours.id, DraftFields(tags=["差旅"]))

    assert draft.tags == ("差旅",)
    with pytest.raises(InvalidInputError):
        world.governance.drafts.create(STRANGER, theirs.id, DraftFields(tags=["差旅"]))
    await world.close()


async def test_offline_and_reclaiming_the_index_leave_the_others_entities(twins: Twins) -> None:
    """K-062, K-077."""
    world, own, other = twins.world, twins.own(AUTHOR), twins.own(STRANGER)
    await world.take_offline(own.item_id)
    asked = world.read(own)
    task = world.governance.processing.delete_index(AUTHOR, own.id, version=asked.version, idempotency_key="free")

    await world.knowledge.worker("worker-1").run_next(task.id)

    assert await world.entities(own) == [0, 0]
    assert await world.entities(other) == [1, 1]
    assert (await twins.found(AUTHOR), await twins.found(STRANGER)) == (set(), {str(other.id)})
    assert world.read(other, STRANGER).index_status is IndexStatus.INDEXED


async def test_reconciling_removes_nothing_that_only_another_organisation_knows(twins: Twins) -> None:
    """K-062."""
    await twins.world.knowledge.reconciling.reconcile_base(AUTHOR, BASE)

    assert await twins.world.entities(twins.own(STRANGER)) == [1, 1]
    assert await twins.found(STRANGER) == {str(twins.own(STRANGER).id)}


async def test_a_build_of_the_same_folder_drafts_for_each_organisation_by_itself(twins: Twins, tmp_path: Path) -> None:
    """K-062, X-09."""
    write_documents(tmp_path, {"new.md": "New."})
    recipe = parse_recipe(
        f"name: {BASE}\ngovernance: reviewed\nsources: [{{folder: documents}}]\n"
        "models: {embedding: {provider: local}}\nprocedures: [{use: hybrid_index}]\n",
        folder=tmp_path,
    )

    reports = [
        await twins.world.knowledge.drafting.draft(context, recipe, twins.world.workspace) for context in CALLERS
    ]

    assert [report.counts for report in reports] == [{"NEW_ITEM": 1}, {"NEW_ITEM": 1}]
    assert [report.missing_item_ids for report in reports] == [(), ()]
    assert reports[0].documents[0].item_id != reports[1].documents[0].item_id
