"""Answers from governed knowledge: their sources, their honesty, and who takes over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lorebase.answering.over_retrieval import AnsweredQuestion, AskOptions
from lorebase.database import Database
from lorebase.errors import ForbiddenError, UnavailableError, UnsupportedModeError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.kinds import FeedbackKind
from lorebase.models.chat import ChatRequest
from lorebase.recipes.loading import parse_recipe
from tests.answering.over_retrieval.ask_scene import judged, playing, said
from tests.fakes.scripted_chat import Answer, ScriptedChat
from tests.governance.knowledge_world import BASE, KnowledgeWorld
from tests.governance.sqlite_world import database, world
from tests.governance.world import AUTHOR, STRANGER, caller

__all__ = ["database", "world"]  # fixtures, imported

WITH_CHAT = """
name: handbook
governance: reviewed
models: {embedding: {provider: local}, chat: {provider: fake, model: scripted}}
procedures: [{use: hybrid_index}]
"""
DUE = "When are travel reports due?"
DUE_ZH = "差旅费几天之内报销？"
ENGLISH = "# Expenses\n\nTravel reports are due within 30 days."
CHINESE = "# 报销\n\n差旅费须在三十天之内报销。"
SHORTEST = AskOptions(generator="extractive", max_answer_chars=50)
LONG = "Travel reports are due within 30 days after the return, together with every receipt that there is."


async def live(world: KnowledgeWorld, key: str, text: str, context: PrincipalContext = AUTHOR) -> int:
    """A published revision of a new item; its id."""
    revision = await world.ready(world.item(key, context), text, context=context)
    await world.publish(revision, context)
    return revision.id


async def ask(
    world: KnowledgeWorld, question: str, context: PrincipalContext = AUTHOR, options: AskOptions | None = None
) -> AnsweredQuestion:
    return await world.knowledge.asking.ask(context, BASE, question, options=options)


def with_chat(world: KnowledgeWorld, answer: Callable[[ChatRequest], Answer]) -> ScriptedChat:
    """A chat model for the base's recipe."""
    chat = ScriptedChat(answer)
    world.workspace.open_chat = lambda spec: chat  # type: ignore[method-assign]  # the fake has no endpoints
    world.knowledge.bases.recipes.remember(parse_recipe(WITH_CHAT))
    return chat


async def test_sources_are_pinned_to_the_governed_revision(world: KnowledgeWorld) -> None:
    """X-01, X-04."""
    revision_id = await live(world, "travel", ENGLISH)

    first = await ask(world, DUE)
    second = await ask(world, DUE)

    (source,) = first.sources
    assert (first.status, first.kind, first.source_status) == ("accepted", "quoted", "ready")
    assert first.text == "Travel reports are due within 30 days. [1]"
    assert (source.revision_id, source.document.revision_number) == (str(revision_id), 1)
    assert source.document.pin == f"{revision_id}/1"
    assert second.sources[0].snapshot_id == source.snapshot_id
    assert first.takeover is None


async def test_the_same_text_in_a_new_revision_is_another_reading(world: KnowledgeWorld) -> None:
    """X-01."""
    item = world.item()
    before = await world.ready(item, ENGLISH)
    await world.publish(before)
    (first,) = (await ask(world, DUE)).sources
    copy = world.governance.drafts.copy(AUTHOR, before.id)
    task = world.started(copy)
    await world.knowledge.worker("worker-1").run_next(task.id)
    await world.publish(world.read(copy))

    (second,) = (await ask(world, DUE)).sources

    assert (first.document.revision_number, second.document.revision_number) == (1, 2)
    assert first.text == second.text
    assert first.snapshot_id != second.snapshot_id


async def test_a_chinese_question_is_answered_in_chinese(world: KnowledgeWorld) -> None:
    await live(world, "travel", CHINESE)

    answered = await ask(world, DUE_ZH)

    assert (answered.status, answered.text) == ("accepted", "差旅费须在三十天之内报销。[1]")


async def test_nothing_live_is_no_evidence_and_no_takeover(world: KnowledgeWorld) -> None:
    """K-068, X-04."""
    await world.ready(world.item(), ENGLISH)

    answered = await ask(world, DUE)

    assert (answered.kind, answered.source_status, answered.takeover) == ("no_evidence", "unavailable", None)


async def test_a_dependency_that_fails_is_an_error_and_no_answer(world: KnowledgeWorld, database: Database) -> None:
    """K-069, K-070, X-04."""
    await live(world, "travel", ENGLISH)
    with database.transaction() as connection:
        connection.exec_driver_sql("DROP TABLE knowledge_release")

    with pytest.raises(UnavailableError):
        await ask(world, DUE)


async def test_live_revisions_that_contradict_each_other_are_a_conflict(world: KnowledgeWorld) -> None:
    """X-04."""
    await live(world, "old", "Travel reports are due within 30 days.")
    await live(world, "new", "Travel reports are due within 10 days.")

    answered = await ask(world, DUE)

    assert (answered.source_status, answered.kind, len(answered.sources)) == ("conflict", "contradiction", 2)


async def test_a_blocked_answer_is_a_takeover_on_what_it_would_have_cited_and_one_only(world: KnowledgeWorld) -> None:
    """X-05, K-071, K-072."""
    revision_id = await live(world, "travel", LONG)

    blocked = await ask(world, DUE, options=SHORTEST)
    again = await ask(world, DUE, options=SHORTEST)

    (remark,) = world.governance.feedback.list(AUTHOR).records
    assert (blocked.status, blocked.takeover) == ("blocked", again.takeover)
    assert blocked.takeover is not None
    assert (blocked.takeover.recorded, blocked.takeover.feedback_ids) == (True, (str(remark.id),))
    assert (remark.kind, remark.revision_id) == (FeedbackKind.HUMAN_TAKEOVER, revision_id)
    assert world.knowledge.citations.resolve(AUTHOR, revision_id, remark.chunk_id or 0).text == LONG
    assert "travel" not in remark.note.casefold()


async def test_a_caller_who_may_give_no_feedback_is_told_that_none_was_recorded(world: KnowledgeWorld) -> None:
    """X-05."""
    await live(world, "travel", LONG)
    reader = caller("reader", 7, Capability.READ)

    blocked = await ask(world, DUE, reader, SHORTEST)

    assert blocked.takeover is not None
    assert (blocked.takeover.recorded, blocked.takeover.reason) == (False, "FORBIDDEN")
    assert world.governance.feedback.list(AUTHOR).total == 0


async def test_replies_of_the_model_are_kept_for_each_organisation_apart(world: KnowledgeWorld) -> None:
    """K-062."""
    chat = with_chat(world, playing([said(("Travel reports are due within 30 days.", [1]))], [judged(True)]))
    await live(world, "travel", ENGLISH)
    await live(world, "travel", ENGLISH, STRANGER)

    first = await ask(world, DUE)
    repeated = await ask(world, DUE)
    foreign = await ask(world, DUE, STRANGER)

    assert [one.kind for one in (first, repeated, foreign)] == ["written"] * 3
    assert (first.usage.cached_calls, repeated.usage.calls, foreign.usage.cached_calls) == (0, 0, 0)
    assert len(chat.requests) == 4
    assert {request.session_id for request in chat.requests} == {"knowledge:7/handbook", "knowledge:8/handbook"}


async def test_modes_are_those_of_governed_retrieval(world: KnowledgeWorld) -> None:
    await live(world, "travel", ENGLISH)

    by_words = await ask(world, DUE, options=AskOptions(mode="full_text_search"))

    assert by_words.mode == "full_text_search"
    with pytest.raises(UnsupportedModeError, match="graph_search"):
        await ask(world, DUE, options=AskOptions(mode="graph_search"))


async def test_only_who_may_read_may_ask(world: KnowledgeWorld) -> None:
    with pytest.raises(ForbiddenError):
        await ask(world, DUE, caller("publisher", 7, Capability.PUBLISH))
