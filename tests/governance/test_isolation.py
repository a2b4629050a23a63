"""Organisations do not see each other: what belongs to another one does not exist."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lorebase.errors import NotFoundError
from lorebase.governance.context import PrincipalContext
from lorebase.governance.drafts import DraftFields
from lorebase.governance.kinds import FeedbackKind, FeedbackStatus
from lorebase.governance.model import FaqEntry
from lorebase.governance.service import Governance
from lorebase.governance.states import Command
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
