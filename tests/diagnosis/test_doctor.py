"""The whole diagnosis, as the command runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import inspect

from lorebase.diagnosis.model import Diagnosis
from lorebase.doctor import diagnose_workspace, secrets_of
from lorebase.recipes.loading import parse_recipe
from lorebase.registry.file_store import FileRegistryStore
from lorebase.workspace import Workspace
from lorebase.workspace_config import DatabaseConfig, WorkspaceConfig
from tests.fakes.openai_server import OpenAIServer

RECIPE = """
name: demo
sources: [{folder: documents}]
models: {embedding: {provider: fake, model: hashes, dimensions: 384}}
procedures: [{use: full_text_index}]
"""


def doctor(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-m", "apps.cli.main", "doctor", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def configured(folder: Path, base_url: str, dimensions: int = 384) -> Workspace:
    endpoints = {"fake": {"base_url": base_url, "api_key": "never-shown", "max_attempts": 1, "timeout_seconds": 5}}
    return Workspace(folder, WorkspaceConfig.model_validate({"endpoints": endpoints}))


def statuses(found: Diagnosis) -> dict[str, str]:
    return {finding.check: finding.status for finding in found.findings}


def test_an_embedded_workspace_is_well_and_nothing_is_made_for_it(tmp_path: Path) -> None:
    done = doctor("--workspace", "知识库", "--json", folder=tmp_path)

    found = Diagnosis.model_validate_json(done.stdout)
    assert (done.returncode, found.cause) == (0, ""), done.stdout + done.stderr
    assert {"object store", "index store", "database", "Prefect API"} <= set(statuses(found))
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_gone_exits_with_4_and_a_secret_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "lorebase.yaml").write_text(
        "database: {url: 'postgresql+psycopg://user:never-shown@127.0.0.1:9/名'}\n"
        "endpoints: {gone: {base_url: 'http://127.0.0.1:9/v1', api_key: never-shown-either}}\n",
        encoding="utf-8",
    )

    done = doctor("--workspace", "kb", folder=tmp_path)

    assert done.returncode == 4, done.stdout + done.stderr
    assert "failed   database: The database does not answer" in done.stdout
    assert "failed   endpoint gone:" in done.stdout
    assert "never-shown" not in done.stdout + done.stderr


def test_an_invalid_workspace_file_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "lorebase.yaml").write_text("databse: {}\n")

    done = doctor("--workspace", ".", "--json", folder=tmp_path)

    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "CONFIGURATION_ERROR"


async def test_the_models_of_a_recipe_are_asked(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        found = await diagnose_workspace(configured(tmp_path / "kb", server.base_url), recipe=parse_recipe(RECIPE))

        assert statuses(found)["model: embedding"] == "ok"
        assert statuses(found)["endpoint fake"] == "ok"
        assert server.stats.inputs == 1


async def test_a_model_of_another_width_is_named(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        server.script("wrong_width", times=None, width=100)

        found = await diagnose_workspace(configured(tmp_path / "kb", server.base_url), recipe=parse_recipe(RECIPE))

    (finding,) = [finding for finding in found.findings if finding.check == "model: embedding"]
    assert finding.status == "failed"
    assert "100" in finding.message


def test_every_secret_of_a_configuration_is_known() -> None:
    config = WorkspaceConfig.model_validate(
        {
            "object_store": {"url": "s3://b/p", "key": "key-1", "secret": "secret-1"},
            "vector_store": {"uri": "http://127.0.0.1:1", "token": "user:password-1"},
            "database": {"url": "postgresql://user:p%40ss@host/name"},
            "endpoints": {"e": {"base_url": "http://127.0.0.1:1", "api_key": "api-1"}},
            "docling": {"base_url": "http://127.0.0.1:1", "api_key": "docling-1"},
        }
    )

    found = set(secrets_of(config))

    assert {"key-1", "secret-1", "password-1", "p%40ss", "p@ss", "api-1", "docling-1"} <= found


async def test_bases_left_in_a_former_registry_file_are_told_and_nothing_is_made_for_it(tmp_path: Path) -> None:
    FileRegistryStore(tmp_path / "knowledge-bases.json").insert("handbook", {"id": "handbook"})
    database = DatabaseConfig(url=SecretStr(f"sqlite:///{tmp_path / 'new.db'}"))
    workspace = Workspace(tmp_path, WorkspaceConfig(database=database))

    found = await diagnose_workspace(workspace)

    (finding,) = [finding for finding in found.findings if finding.check == "registry"]
    assert (finding.status, finding.facts) == ("warning", {"left_behind": 1})
    assert "(handbook)" in finding.message
    assert "`lorebase kb import`" in finding.remedy
    assert inspect(workspace.database.engine).get_table_names() == []
    workspace.database.close()
