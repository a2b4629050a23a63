"""A build of a recipe with `governance: reviewed`: documents become drafts, and people do the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lorebase.database import Database
from lorebase.errors import ConfigurationError
from lorebase.governance.drafting_report import DraftingReport
from lorebase.governance.drafts import DraftFields
from lorebase.governance.states import RevisionState
from lorebase.recipes.loading import parse_recipe
from lorebase.runs.builder import RecipeBuilder
from tests.fakes.workspace import write_documents
from tests.governance.knowledge_world import KnowledgeWorld
from tests.governance.world import AUTHOR

RECIPE = """
name: handbook
governance: reviewed
sources: [{folder: documents}]
models: {embedding: {provider: local}}
procedures: [{use: hybrid_index}]
"""

CLASSIFYING = """
name: handbook
governance: reviewed
sources: [{folder: documents}]
models: {embedding: {provider: local}}
procedures:
  - name: classification
    steps:
      - parse_documents
      - classify_documents:
          source_types:
            - {id: contract, signals: [合同, contract], metadata_fields: [{key: amount, label: 金额, type: number}]}
          metadata: [{files: ["差旅/**"], tags: [差旅]}]
  - use: hybrid_index
"""


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[KnowledgeWorld]:
    made = KnowledgeWorld(database, tmp_path)
    write_documents(tmp_path, {"travel.md": "Travel reports are due within 30 days.", "差旅/报销.md": "三十天内报销。"})
    yield made
    await made.close()


async def build(world: KnowledgeWorld, text: str = RECIPE) -> DraftingReport:
    recipe = parse_recipe(text, folder=world.workspace.folder)
    return await world.knowledge.drafting.draft(AUTHOR, recipe, world.workspace)


def actions(report: DraftingReport) -> dict[str, str]:
    return {document.name: str(document.action) for document in report.documents}


async def test_every_document_becomes_an_item_with_a_draft_and_nothing_is_visible(world: KnowledgeWorld) -> None:
    """X-09, K-034."""
    first, second = await build(world), await build(world)

    assert actions(first) == {"travel.md": "NEW_ITEM", "差旅/报销.md": "NEW_ITEM"}
    assert actions(second) == {"travel.md": "UNCHANGED", "差旅/报销.md": "UNCHANGED"}
    assert world.governance.revisions.list(AUTHOR, status=RevisionState.DRAFT).total == 2
    assert (await world.retrieve()).evidence == ()


async def test_new_content_is_a_new_draft_with_the_reviewed_tags_while_the_old_stays_live(
    world: KnowledgeWorld, tmp_path: Path
) -> None:
    """K-016, K-034, C147."""
    report = await build(world)
    draft = world.governance.revisions.get(AUTHOR, report.documents[0].revision_id or 0)
    draft = world.governance.drafts.edit(AUTHOR, draft.id, DraftFields(tags=["差旅"]), version=draft.version)
    task = world.started(draft)
    await world.knowledge.worker("worker-1").run_next(task.id)
    await world.publish(world.read(draft))

    write_documents(tmp_path, {"travel.md": "Travel reports are due within 10 days."})
    changed = await build(world)
    write_documents(tmp_path, {"travel.md": "Travel reports are due within 5 days."})
    again = await build(world)

    (drafted,) = world.governance.revisions.list(AUTHOR, item_id=draft.item_id, status=RevisionState.DRAFT).records
    assert actions(changed)["travel.md"] == "NEW_DRAFT"
    assert actions(again)["travel.md"] == "UPDATED_DRAFT"
    assert drafted.tags == ("差旅",)
    assert world.governance.revisions.original(AUTHOR, drafted.id) == b"Travel reports are due within 5 days."
    assert await world.texts() == ["Travel reports are due within 30 days."]


async def test_what_is_under_review_or_refused_is_said_and_the_others_go_on(
    world: KnowledgeWorld, tmp_path: Path
) -> None:
    report = await build(world)
    draft = world.governance.revisions.get(AUTHOR, report.documents[0].revision_id or 0)
    world.governance.review.submit(AUTHOR, draft.id, version=draft.version)
    write_documents(tmp_path, {"travel.md": "Changed.", "program.exe": "MZ", "new.md": "New."})

    found = await build(world)

    assert actions(found) == {
        "new.md": "NEW_ITEM",
        "program.exe": "REJECTED",
        "travel.md": "UNDER_REVIEW",
        "差旅/报销.md": "UNCHANGED",
    }
    assert found.documents[1].error_code == "UNSUPPORTED_TYPE"


async def test_a_document_that_is_gone_is_said_and_what_is_live_of_it_stays(
    world: KnowledgeWorld, tmp_path: Path
) -> None:
    """K-048."""
    report = await build(world)
    (tmp_path / "documents" / "travel.md").unlink()

    found = await build(world)

    assert found.missing_item_ids == (report.documents[0].item_id,)


async def test_a_governed_recipe_is_never_built_into_a_snapshot(world: KnowledgeWorld) -> None:
    """X-08, X-09."""
    recipe = parse_recipe(RECIPE, folder=world.workspace.folder)

    with pytest.raises(ConfigurationError, match="become drafts"):
        await RecipeBuilder(world.workspace).build(recipe)


async def test_reviewers_see_the_type_and_the_fields_that_the_source_states(
    world: KnowledgeWorld, tmp_path: Path
) -> None:
    """X-03."""
    contract = "---\namount: 300\nparty: Harbour\n---\n\n# Contract\n\nThe berth is rented."
    write_documents(tmp_path, {"contract.md": contract, "contract.md.meta.yaml": "tags: [signed]\namount: 400\n"})

    report = await build(world, CLASSIFYING)
    again = await build(world, CLASSIFYING)

    drafts = {
        document.name: world.governance.revisions.get(AUTHOR, document.revision_id or 0)
        for document in report.documents
    }
    told, by_rule = drafts["contract.md"], drafts["差旅/报销.md"]
    assert (told.source_type, told.tags, told.metadata["amount"]) == ("contract", ("signed",), 400)
    assert (by_rule.source_type, by_rule.tags) == ("document", ("差旅",))
    assert set(actions(again).values()) == {"UNCHANGED"}
    assert world.workspace.opened_embedders == 0


async def test_what_people_gave_a_revision_stays_under_what_its_changed_source_states(
    world: KnowledgeWorld, tmp_path: Path
) -> None:
    """X-03, K-034."""
    report = await build(world)
    draft = world.governance.revisions.get(AUTHOR, report.documents[0].revision_id or 0)
    given = DraftFields(tags=["fees"], source_type="policy", metadata={"owner": "Finance", "year": 2024})
    draft = world.governance.drafts.edit(AUTHOR, draft.id, given, version=draft.version)
    await world.knowledge.worker("worker-1").run_next(world.started(draft).id)
    write_documents(
        tmp_path, {"travel.md": "---\nyear: 2026\n---\n\nWithin 10 days.", "travel.md.meta.yaml": "tags: new"}
    )

    changed = await build(world, CLASSIFYING)

    (drafted,) = world.governance.revisions.list(AUTHOR, item_id=draft.item_id, status=RevisionState.DRAFT).records
    assert actions(changed)["travel.md"] == "NEW_DRAFT"
    assert (drafted.tags, drafted.source_type) == (("fees", "new"), "policy")
    assert drafted.metadata == {"owner": "Finance", "year": 2026}


async def test_a_description_that_is_refused_is_said_and_the_document_goes_without(
    world: KnowledgeWorld, tmp_path: Path
) -> None:
    """X-03."""
    write_documents(tmp_path, {"travel.md.meta.yaml": "owner: [a", "差旅/报销.md.meta.yaml": f"tags: [{'长' * 65}]"})

    report = await build(world, CLASSIFYING)

    travel, long = report.documents
    assert ("METADATA_UNREADABLE", "travel.md") in {(issue.code, issue.subject.name) for issue in report.issues}
    assert (travel.message, str(long.action)) == ("", "NEW_ITEM")
    assert "64" in long.message
    assert world.governance.revisions.get(AUTHOR, long.revision_id or 0).tags == ()
