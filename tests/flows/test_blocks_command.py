"""`lorebase blocks register`, as somebody who sets up a server runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.flows.conftest import PrefectServer, Project

SECRET = "never-to-be-seen"


def register(*arguments: str, project: Project, url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "apps.cli.main", "blocks", "register", "-w", str(project.workspace), *arguments],
        env={**os.environ, "PREFECT_API_URL": url, "PREFECT_HOME": str(project.folder / "client"), "DO_NOT_TRACK": "1"},
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_the_command_registers_everything_and_hides_every_secret(prefect: PrefectServer, project: Project) -> None:
    project.workspace.mkdir()
    (project.workspace / "lorebase.yaml").write_text(
        f"endpoints: {{gpt: {{base_url: 'http://127.0.0.1:9/v1', api_key: {SECRET}}}}}\n"
        f"docling: {{base_url: 'http://127.0.0.1:9', api_key: {SECRET}}}\n"
        f"database: {{url: 'postgresql+psycopg://user:{SECRET}@127.0.0.1/name'}}\n"
    )

    done = register("--save-as", "production", "--json", project=project, url=prefect.url)

    made = json.loads(done.stdout)
    saved: list[dict[str, Any]] = prefect.post("/block_documents/filter", {})
    types = {found["slug"]: found for found in prefect.post("/block_types/filter", {})}
    (block,) = [found for found in saved if found["name"] == "production"]
    assert (made["workspace"], made["work_pool"]) == ("block:production", "lorebase")
    assert block["data"]["folder"] == str(project.workspace)
    assert SECRET not in json.dumps(saved) + done.stdout + done.stderr
    assert types["lorebase-workspace"]["description"]
    assert _opened(prefect, "block:production") == (SECRET, SECRET)


def test_a_server_that_does_not_answer_exits_with_4(project: Project) -> None:
    done = register(project=project, url="http://127.0.0.1:9/api")

    assert done.returncode == 4
    assert "PREFECT_API_URL" in done.stderr


def _opened(prefect: PrefectServer, where: str) -> tuple[str, str]:
    """The keys of the endpoint and of the conversion service in a workspace that flows open by its block."""
    import asyncio

    from flows.workspaces import open_workspace

    config = asyncio.run(prefect.run(lambda: open_workspace(where))).config
    endpoint, docling = config.endpoints["gpt"].api_key, config.docling.api_key if config.docling else None
    assert endpoint is not None
    assert docling is not None
    return endpoint.get_secret_value(), docling.get_secret_value()
