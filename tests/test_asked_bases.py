"""Answers from a base by its name: governed knowledge first, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorebase.answering.over_retrieval import AskOptions
from lorebase.asked_bases import answers_from
from lorebase.errors import NotFoundError
from lorebase.governed_knowledge import GovernedKnowledge
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import DATABASE_FILE
from tests.fakes.workspace import FakeWorkspace, recipe_in, write_documents
from tests.governance.world import AUTHOR, REVIEWER, STRANGER, upload

DUE = "When are travel reports due?"
GOVERNED = "name: demo\ngovernance: reviewed\nprocedures: [{use: full_text_index}]\n"
BUILT = "name: demo\nsources: [{folder: documents}]\npartitions: 4\nprocedures: [{use: full_text_index}]\n"


@pytest.fixture
async def workspace(tmp_path: Path) -> FakeWorkspace:
    """A workspace in which `demo` was built without governance."""
    write_documents(tmp_path, {"travel.md": "Travel reports are due within 77 days."})
    workspace = FakeWorkspace(tmp_path / "workspace")
    await (await KnowledgeBase.create(recipe_in(tmp_path, BUILT), workspace)).close()
    return workspace


async def publish(workspace: FakeWorkspace, text: str) -> None:
    async with await GovernedKnowledge.open(workspace) as knowledge:
        governance = knowledge.governance
        knowledge.bases.recipes.remember(parse_recipe(GOVERNED))
        item = governance.items.create(AUTHOR, base_id="demo", knowledge_key="travel", title="Travel")
        draft = governance.uploads.add_file(AUTHOR, item.id, upload("travel.md", text.encode()))
        asked = governance.review.submit(AUTHOR, draft.id, version=draft.version)
        governance.review.approve(REVIEWER, asked.id, version=asked.version)
        task = governance.processing.ensure(AUTHOR, draft.id)
        await knowledge.worker("worker-1").run_next(task.id)
        await knowledge.publishing.publish(AUTHOR, draft.id, expected_version=0)


async def test_without_governance_the_snapshot_answers_and_no_table_is_made(workspace: FakeWorkspace) -> None:
    before = (workspace.folder / DATABASE_FILE).exists()

    (answered,) = await answers_from(workspace, AUTHOR, "demo", [DUE])

    assert answered.text == "Travel reports are due within 77 days. [1]"
    assert answered.sources[0].document.revision_number is None
    assert (workspace.folder / DATABASE_FILE).exists() == before
    assert not workspace.has_governance()


async def test_governed_items_answer_their_organisation_and_the_snapshot_everybody_else(
    workspace: FakeWorkspace,
) -> None:
    """X-09, K-062."""
    await publish(workspace, "Travel reports are due within 30 days.")

    (own,) = await answers_from(workspace, AUTHOR, "demo", [DUE])
    (foreign,) = await answers_from(workspace, STRANGER, "demo", [DUE])

    assert (own.text, own.sources[0].document.revision_number) == ("Travel reports are due within 30 days. [1]", 1)
    assert foreign.text == "Travel reports are due within 77 days. [1]"


async def test_a_blocked_answer_of_a_base_without_governance_says_that_nobody_was_told(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    """X-05."""
    long = "Travel reports are due within 77 days after the return, together with every receipt that there is."
    write_documents(tmp_path, {"travel.md": long})
    await (await KnowledgeBase.create(recipe_in(tmp_path, BUILT), workspace)).close()

    (answered,) = await answers_from(workspace, AUTHOR, "demo", [DUE], AskOptions(max_answer_chars=50))

    assert (answered.status, answered.text) == ("blocked", "")
    assert answered.takeover is not None
    assert (answered.takeover.recorded, answered.takeover.reason) == (False, "UNGOVERNED_BASE")


async def test_a_base_that_only_other_organisations_govern_is_not_found_with_a_hint(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "workspace")
    await publish(workspace, "Travel reports are due within 30 days.")

    with pytest.raises(NotFoundError, match="is governed") as found:
        await answers_from(workspace, STRANGER, "demo", [DUE])

    assert "lorebase retrieve" in found.value.remedy
