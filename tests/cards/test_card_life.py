"""The life of cards over builds: proposed, accepted, rejected, stale, gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.cards.deciding import accept_card, reject_card
from lorebase.errors import CardNotConfirmedError, ConflictError, NotFoundError, UnavailableError, UsageError
from lorebase.ids import document_id_of
from lorebase.index.ports import Equals
from lorebase.runs.card_decisions import CardDecisionStore
from lorebase.runs.cleaning import clean_up
from lorebase.runs.forgetting import forget_document
from lorebase.runs.rollback import roll_back
from tests.cards.card_bases import (
    BERTH,
    BY_MODEL,
    HEADINGS,
    NOON,
    PIER,
    TOWER,
    WritingWorkspace,
    accept,
    cards_of,
    live_of,
    standing_of,
)
from tests.fakes.workspace import FakeWorkspace
from tests.runs.snapshot_checks import LAYOUT, build, build_of

TEXTS = {"pier.md": PIER, "berth.md": BERTH, "灯塔.md": TOWER}
MOVED_LAMP = PIER.replace("whale oil", "colza oil")

PATIENT_STEPS = """  - name: cards
    steps:
      - propose_cards: {card_types: [concept], max_failed_share: 0.9}
      - index_cards: {}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> FakeWorkspace:
    return FakeWorkspace(tmp_path / "ws")


async def titles_found(workspace: FakeWorkspace, query: str) -> list[str]:
    base = KnowledgeBase.load("demo", workspace)
    found = await base.query(query, mode="card_search")
    return [result.card.title for result in found.results if result.card]


async def test_cards_enter_as_proposals_that_cite_chunks_and_no_search_shows_them(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    """DQ-14."""
    record = await build_of(tmp_path, workspace, TEXTS, HEADINGS)

    cards = cards_of(workspace)
    assert standing_of(workspace) == [("Berth fee", "proposed"), ("Pier lamp", "proposed"), ("灯塔", "proposed")]
    assert all(sentence.citations for one in cards for section in one.card.sections for sentence in section.sentences)
    assert [one.card.faults for one in cards] == [(), (), ()]
    assert record.issues_by_code["CARDS_AWAIT_REVIEW"] == 1
    assert await titles_found(workspace, "pier lamp") == []


async def test_an_accepted_card_is_found_at_once_with_the_chunks_that_it_cites(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)

    decision = accept(workspace, "灯塔")

    found = await KnowledgeBase.load("demo", workspace).query("灯塔几点亮灯", mode="card_search")
    (result,) = found.results
    assert result.card is not None
    assert (result.card.title, result.card.status, result.card.accepted_by) == ("灯塔", "accepted", "Ada")
    assert result.card.version_id == decision.version_id
    assert result.document.name == "灯塔.md"
    assert result.card.citations[0].chunk_id == result.chunk_id
    assert result.card.citations[0].quotes[0] in TOWER


async def test_a_build_that_finds_the_same_evidence_keeps_decisions_and_writes_nothing_again(tmp_path: Path) -> None:
    workspace = WritingWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, TEXTS, BY_MODEL)
    accept(workspace, "Pier lamp")

    await build_of(tmp_path, workspace, {**TEXTS, "extra.md": "# Extra\n\nA new page is here.\n"}, BY_MODEL)

    assert workspace.subjects == ["Berth fee", "Extra", "Pier lamp", "灯塔"]
    assert ("Pier lamp", "accepted") in standing_of(workspace)


async def test_only_the_proposal_whose_evidence_changed_is_made_again_and_the_accepted_card_stays_as_stale(
    tmp_path: Path,
) -> None:
    workspace = WritingWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, TEXTS, BY_MODEL)
    accept(workspace, "Pier lamp")
    asked = len(workspace.requests)

    record = await build_of(tmp_path, workspace, {**TEXTS, "pier.md": MOVED_LAMP}, BY_MODEL)

    texts = {one.status: one.card.text for one in cards_of(workspace) if one.card.title == "Pier lamp"}
    assert len(workspace.requests) == asked + 1
    assert "whale oil" in texts["stale"]
    assert "colza oil" in texts["proposed"]
    assert record.issues_by_code["CARDS_STALE"] == 1
    (found,) = (await KnowledgeBase.load("demo", workspace).query("oil", mode="card_search")).results
    assert found.card is not None
    assert found.card.status == "stale"
    assert "whale oil" in found.text


async def test_accepting_the_new_proposal_takes_the_place_of_the_stale_card(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    accept(workspace, "Pier lamp")
    await build_of(tmp_path, workspace, {**TEXTS, "pier.md": MOVED_LAMP}, HEADINGS)

    accept(workspace, "Pier lamp")

    (found,) = (await KnowledgeBase.load("demo", workspace).query("oil", mode="card_search")).results
    assert "colza oil" in found.text
    assert [status for title, status in standing_of(workspace) if title == "Pier lamp"] == ["accepted"]


async def test_a_rejected_version_does_not_come_back_until_its_evidence_changes(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    wanted = next(one.card.version_id for one in cards_of(workspace) if one.card.title == "Pier lamp")
    reject_card(workspace.object_store, live_of(workspace), wanted, decided_by="Ada", now=NOON, reason="too thin")

    await build_of(tmp_path, workspace, {**TEXTS, "extra.md": "# Extra\n\nA new page is here.\n"}, HEADINGS)
    before = dict(standing_of(workspace))
    await build_of(tmp_path, workspace, {**TEXTS, "pier.md": MOVED_LAMP}, HEADINGS)

    assert before["Pier lamp"] == "rejected"
    assert dict(standing_of(workspace))["Pier lamp"] == "proposed"


async def test_a_rejected_card_that_was_accepted_is_no_longer_found(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    decision = accept(workspace, "Pier lamp")

    reject_card(
        workspace.object_store, live_of(workspace), decision.card_id, decided_by="Ben", now=NOON, reason="outdated"
    )

    decisions = CardDecisionStore(workspace.object_store, LAYOUT).all()
    assert await titles_found(workspace, "pier lamp") == []
    assert [(one.sequence, one.verdict, one.decided_by, one.reason) for one in decisions] == [
        (1, "accepted", "Ada", ""),
        (2, "rejected", "Ben", "outdated"),
    ]
    assert [one.decided_at for one in decisions] == [NOON, NOON]


async def test_cards_of_vanished_evidence_leave_in_that_build_accepted_or_not(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    """BQ-09."""
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    accept(workspace, "Pier lamp")

    await build_of(tmp_path, workspace, {"berth.md": BERTH}, HEADINGS)

    assert standing_of(workspace) == [("Berth fee", "proposed")]
    assert await titles_found(workspace, "pier lamp whale oil") == []
    index = workspace.index_store.lexical("demo", kind="cards")
    assert await index.count((Equals("searchable", value=True),)) == 1


async def test_a_sentence_of_an_accepted_card_leaves_with_the_only_document_that_it_cites(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    other = "# Pier lamp\n\nThe pier lamp is polished by Oda every Friday.\n"
    await build_of(tmp_path, workspace, {"pier.md": PIER, "polish.md": other}, HEADINGS)
    accept(workspace, "Pier lamp")

    await build_of(tmp_path, workspace, {"pier.md": PIER}, HEADINGS)

    (found,) = (await KnowledgeBase.load("demo", workspace).query("pier lamp", mode="card_search")).results
    assert "whale oil" in found.text
    assert "Oda" not in found.text


async def test_a_card_with_faults_is_accepted_only_when_somebody_confirms_it(tmp_path: Path) -> None:
    """DQ-14."""
    bad = '{"sections": [{"title": "Scope", "sentences": [{"text": "It sings.", "citations": []}]}]}'
    workspace = WritingWorkspace(tmp_path / "ws", lambda request: bad)
    record = await build_of(tmp_path, workspace, {"pier.md": PIER}, BY_MODEL)
    snapshot, (one,) = live_of(workspace), cards_of(workspace)

    with pytest.raises(CardNotConfirmedError, match="--confirm"):
        accept_card(workspace.object_store, snapshot, one.card.version_id, decided_by="Ada", now=NOON)
    accept_card(workspace.object_store, snapshot, one.card.version_id, decided_by="Ada", now=NOON, confirmed=True)

    assert {fault.code for fault in one.card.faults} == {"REQUIRED_SECTION_EMPTY", "CITATION_MISSING"}
    assert record.issues_by_code["CARD_HAS_FAULTS"] == 1
    assert standing_of(workspace) == [("Pier lamp", "accepted")]
    assert CardDecisionStore(workspace.object_store, LAYOUT).all()[0].confirmed


async def test_a_rejection_without_a_reason_and_a_card_that_there_is_not_are_refused(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, {"pier.md": PIER}, HEADINGS)
    store, snapshot = workspace.object_store, live_of(workspace)

    with pytest.raises(UsageError, match="reason"):
        reject_card(store, snapshot, cards_of(workspace)[0].card.card_id, decided_by="Ada", now=NOON, reason=" ")
    with pytest.raises(NotFoundError, match="crd-none"):
        accept_card(store, snapshot, "crd-none", decided_by="Ada", now=NOON)
    assert CardDecisionStore(store, LAYOUT).all() == []


async def test_of_two_people_who_decide_at_the_same_time_one_is_told(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await build_of(tmp_path, workspace, {"pier.md": PIER}, HEADINGS)
    decision = accept(workspace, "Pier lamp")

    with pytest.raises(ConflictError, match="meanwhile"):
        CardDecisionStore(workspace.object_store, LAYOUT).add(decision)


async def test_an_accepted_card_stays_found_when_the_model_cannot_write_its_new_proposal(tmp_path: Path) -> None:
    workspace = WritingWorkspace(tmp_path / "ws")
    await build_of(tmp_path, workspace, TEXTS, BY_MODEL)
    accept(workspace, "Pier lamp")
    workspace.answer = lambda request: "no JSON at all"

    patient = BY_MODEL.replace("  - use: wiki_cards\n    with: {card_types: [concept]}\n", PATIENT_STEPS)
    record = await build_of(tmp_path, workspace, {**TEXTS, "pier.md": MOVED_LAMP}, patient)

    assert record.issues_by_code["CARD_MALFORMED_ANSWER"] == 1
    assert standing_of(workspace).count(("Pier lamp", "stale")) == 1
    assert await titles_found(workspace, "whale oil") == ["Pier lamp"]


async def test_a_model_that_refuses_every_call_never_gives_an_empty_success(tmp_path: Path) -> None:
    """BQ-10."""
    workspace = WritingWorkspace(tmp_path / "ws", lambda request: UnavailableError("away", dependency="fake"))

    record = await build_of(tmp_path, workspace, TEXTS, BY_MODEL)

    assert record.status == "failed"


async def test_a_forgotten_document_leaves_no_card_and_no_decision(tmp_path: Path, workspace: FakeWorkspace) -> None:
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    accept(workspace, "Pier lamp")
    accept(workspace, "Berth fee")

    result = await forget_document(workspace, LAYOUT, "pier.md")

    assert result.is_clean, result.traces
    assert result.entities_removed["card_decisions"] == 1
    assert result.rows_removed["wiki_cards"] == 1
    assert await titles_found(workspace, "lamp") == ["Berth fee"]


async def test_a_card_made_of_several_documents_goes_with_the_first_that_is_forgotten_and_is_made_again(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    other = "# Pier lamp\n\nThe pier lamp is polished by Oda every Friday.\n"
    await build_of(tmp_path, workspace, {"pier.md": PIER, "polish.md": other}, HEADINGS)

    result = await forget_document(workspace, LAYOUT, "polish.md")
    (tmp_path / "documents" / "polish.md").unlink()
    after = standing_of(workspace)
    await build(tmp_path, workspace, HEADINGS)

    index = workspace.index_store.lexical("demo", kind="cards")
    assert result.is_clean, result.traces
    assert after == []
    assert await index.count((Equals("document_id", document_id_of("documents", "polish.md")),)) == 0
    assert [(one.card.title, "Oda" in one.card.text) for one in cards_of(workspace)] == [("Pier lamp", False)]


async def test_a_rollback_finds_the_cards_of_then_with_the_decisions_of_now(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    first = await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    accept(workspace, "Pier lamp")
    await build_of(tmp_path, workspace, {"berth.md": BERTH}, HEADINGS)
    await workspace.index_store.lexical("demo", kind="cards").drop()

    await roll_back(workspace, LAYOUT, first.run_id)

    assert await titles_found(workspace, "lamp") == ["Pier lamp"]


async def test_cleaning_up_keeps_the_cards_of_kept_snapshots_and_every_decision(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    await build_of(tmp_path, workspace, {"berth.md": BERTH, "pier.md": PIER}, HEADINGS)
    accept(workspace, "Pier lamp")

    freed = await clean_up(workspace, LAYOUT, keep=0, apply=True)

    index = workspace.index_store.lexical("demo", kind="cards")
    assert [one.entities for one in freed.index if one.collection.startswith("cards/")] == [1]
    assert await index.count(()) == 2
    assert await titles_found(workspace, "lamp") == ["Pier lamp"]


async def test_a_search_beside_a_decision_sees_the_card_before_or_after(
    tmp_path: Path, workspace: FakeWorkspace
) -> None:
    await build_of(tmp_path, workspace, TEXTS, HEADINGS)
    base = KnowledgeBase.load("demo", workspace)
    before = await base.query("lamp", mode="card_search")

    await asyncio.to_thread(accept, workspace, "Pier lamp")
    after = await base.query("lamp", mode="card_search")

    assert (len(before.results), len(after.results)) == (0, 1)
