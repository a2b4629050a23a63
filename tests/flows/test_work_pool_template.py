"""The template of the process work pool is what Prefect's own worker reads."""

from __future__ import annotations

import json
from pathlib import Path

from tests.flows.conftest import PrefectServer

TEMPLATE = Path(__file__).parents[2] / "infra" / "work-pools" / "process.json"


async def test_prefects_process_worker_reads_the_template(prefect: PrefectServer) -> None:
    from prefect.workers.process import ProcessJobConfiguration

    template = json.loads(TEMPLATE.read_text(encoding="utf-8"))

    read = await prefect.run(lambda: ProcessJobConfiguration.from_template_and_values(template, {}))

    assert str(read.working_dir) == "/srv/lorebase"
    assert read.env["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
