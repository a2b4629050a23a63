"""The set-up flow."""

from __future__ import annotations

from typing import Any

from tests.flows.conftest import PrefectServer, Project


async def test_setting_up_twice_changes_nothing(prefect: PrefectServer, project: Project) -> None:
    from flows.setup import set_up_lorebase

    first = await prefect.run(lambda: set_up_lorebase(str(project.workspace)))
    before = _what_is_there(prefect)

    second = await prefect.run(lambda: set_up_lorebase(str(project.workspace)))

    assert second == first
    assert _what_is_there(prefect) == before
    assert {"lorebase-object-store", "lorebase-workspace"} <= set(before["block_types"])
    assert before["work_pools"].count("lorebase") == 1
    assert sum(name.startswith("lorebase:") for name, _, _ in before["automations"]) == 1


async def test_the_automation_crashes_runs_that_are_silent_for_three_heartbeats(
    prefect: PrefectServer, project: Project
) -> None:
    from flows.setup import set_up_lorebase

    await prefect.run(lambda: set_up_lorebase(str(project.workspace)))

    (automation,) = [
        found for found in prefect.post("/automations/filter", {}) if found["name"].startswith("lorebase:")
    ]
    assert automation["enabled"] is True
    assert automation["trigger"]["posture"] == "Proactive"
    assert automation["trigger"]["within"] == 90
    assert automation["actions"][0]["state"] == "CRASHED"


def _what_is_there(prefect: PrefectServer) -> dict[str, Any]:
    return {
        "block_types": sorted(found["slug"] for found in prefect.post("/block_types/filter", {})),
        "blocks": sorted(
            (found["id"], found["name"], str(found["data"]))
            for found in prefect.post("/block_documents/filter", {"include_secrets": True})
        ),
        "work_pools": [found["name"] for found in prefect.post("/work_pools/filter", {})],
        "automations": [
            (found["name"], found["id"], found["updated"]) for found in prefect.post("/automations/filter", {})
        ],
    }
