"""The retention flow, and the events that automations wait for, in a real server."""

from __future__ import annotations

import time
from typing import Any

from lorebase.evaluation.gates import GateCheck
from tests.flows.conftest import FULL_TEXT, PrefectServer, Project


async def _build(prefect: PrefectServer, project: Project, name: str, **options: Any) -> Any:
    from flows.build import BuildOptions, build_knowledge_base

    recipe = project.recipe(FULL_TEXT.format(name=name))
    chosen = BuildOptions(recipe=recipe, workspace=str(project.workspace), **options)
    return await prefect.run(lambda: build_knowledge_base(chosen, return_state=True))


async def _clean(prefect: PrefectServer, project: Project, name: str, **options: Any) -> Any:
    from flows.retention import RetentionOptions, clean_knowledge_base

    chosen = RetentionOptions(base=name, workspace=str(project.workspace), **options)
    return await prefect.run(lambda: clean_knowledge_base(chosen, return_state=True))


def _events(prefect: PrefectServer, base_name: str, count: int) -> dict[str, dict[str, Any]]:
    """Payloads of the events about a base by name, once the server has written down `count` of them."""
    selected = {"filter": {"resource": {"id": [f"lorebase.knowledge-base.{base_name}"]}}}
    deadline = time.monotonic() + 30
    while True:
        found = prefect.post("/events/filter", selected)["events"]
        if len(found) >= count or time.monotonic() > deadline:
            return {event["event"]: event for event in found}
        time.sleep(0.2)


async def test_a_dry_run_removes_nothing_and_the_real_one_what_it_said(
    prefect: PrefectServer, project: Project
) -> None:
    for text in ("one", "two", "three"):
        project.write(heron=f"The heron has {text}.")
        await _build(prefect, project, "kept")

    dry = await _clean(prefect, project, "kept", keep=0)
    applied = await _clean(prefect, project, "kept", keep=0, dry_run=False)
    again = await _clean(prefect, project, "kept", keep=0, dry_run=False)

    said, done, rest = await dry.result(), await applied.result(), await again.result()
    assert (said["applied"], done["applied"]) == (False, True)
    assert len(said["removed_snapshots"]) == 2
    assert done["removed_snapshots"] == said["removed_snapshots"]
    assert (done["freed_count"], rest["freed_count"]) == (said["freed_count"], 0)
    assert "Would free (dry run)" in prefect.artifacts(dry)["kept-retention"]["data"]
    assert "lorebase.retention.cleaned" in _events(prefect, "kept", 5)


async def test_a_base_that_nobody_knows_fails_the_run(prefect: PrefectServer, project: Project) -> None:
    state = await _clean(prefect, project, "nowhere")

    assert state.is_failed()
    assert "nowhere" in state.message


async def test_a_build_says_how_it_ended_and_that_it_has_too_many_issues(
    prefect: PrefectServer, project: Project
) -> None:
    (project.folder / "documents" / "空.md").write_text("")

    state = await _build(prefect, project, "noisy", issue_limit=0)

    events = _events(prefect, "noisy", 2)
    assert set(events) == {"lorebase.build.succeeded", "lorebase.build.issues-above-limit"}
    assert events["lorebase.build.issues-above-limit"]["payload"]["issues_by_code"] == {"DOCUMENT_EMPTY": 1}
    related = {found["prefect.resource.id"] for found in events["lorebase.build.succeeded"]["related"]}
    assert f"prefect.flow-run.{state.state_details.flow_run_id}" in related


async def test_a_build_that_fails_names_its_step_and_error(prefect: PrefectServer, project: Project) -> None:
    for name in ("heron", "kestrel"):
        (project.folder / "documents" / f"{name}.md").write_text("")

    state = await _build(prefect, project, "broken")

    payload = _events(prefect, "broken", 1)["lorebase.build.failed"]["payload"]
    assert state.is_failed()
    assert (payload["failed_steps"], payload["error_code"]) == (["parse_documents"], "BUILD_FAILED")


async def test_only_a_gate_that_is_not_met_is_an_event(prefect: PrefectServer) -> None:
    from flows.events import emit_failed_gate

    async def act() -> None:
        emit_failed_gate("good", "questions", [GateCheck(metric="recall@5", value=1.0, floor=0.9)])
        emit_failed_gate("poor", "问题", [GateCheck(metric="recall@5", value=0.5, floor=0.9)])

    await prefect.run(act)

    payload = _events(prefect, "poor", 1)["lorebase.gate.failed"]["payload"]
    assert payload == {"data_set": "问题", "missed": {"recall@5": {"value": 0.5, "floor": 0.9}}}
    assert _events(prefect, "good", 0) == {}
