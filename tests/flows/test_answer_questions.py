"""The flow that answers questions, in a real server."""

from __future__ import annotations

from pathlib import Path

from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace
from tests.flows.conftest import FULL_TEXT, PrefectServer

MARKED = "The heron <script>alert(1)</script> stands in the marsh.\n"


async def test_answers_are_shown_escaped_and_returned_in_the_order_asked(
    prefect: PrefectServer, tmp_path: Path
) -> None:
    """C157."""
    from flows.answer_questions import AnswerOptions, answer_questions

    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "heron.md").write_text(MARKED)
    recipe = parse_recipe(FULL_TEXT.format(name="waders"), folder=tmp_path)
    base = await KnowledgeBase.create(recipe, Workspace(tmp_path / "workspace"))
    await base.close()
    options = AnswerOptions(
        base="waders",
        workspace=str(tmp_path / "workspace"),
        questions=["Who conducts the orchestra of the opera?", "Where does the heron stand?"],
        max_calls=0,
    )

    state = await prefect.run(lambda: answer_questions(options, return_state=True))

    summary = await state.result()
    shown = prefect.artifacts(state)["waders-answers"]["data"]
    assert state.is_completed()
    assert (summary["statuses"], summary["model_calls"]) == ({"fallback": 1, "accepted": 1}, 0)
    assert [answer["kind"] for answer in summary["answers"]] == ["no_evidence", "quoted"]
    assert "# waders: 1 fallback, 1 accepted" in shown
    assert "1. heron.md" in shown
    assert "<script>" not in shown.replace("\\<script\\>", "")
