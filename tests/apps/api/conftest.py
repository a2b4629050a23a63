"""A server in the test's process over a workspace in a folder: real services, a built base, and no network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from apps.api.app import create_app
from apps.api.settings import ApiSettings
from lorebase.governed_knowledge import GovernedKnowledge
from lorebase.knowledge_base import KnowledgeBase
from tests.apps.api.callers import SECRET
from tests.fakes.workspace import FakeWorkspace, recipe_in, write_documents

SETTINGS = ApiSettings(secrets=(SecretStr(SECRET),))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> FakeWorkspace:
    """A workspace with the base `demo` of two documents."""
    folder = tmp_path_factory.mktemp("served")
    write_documents(
        folder,
        {
            "travel.md": "# Travel\n\nThe head of department approves travel abroad within three days.",
            "差旅.md": "# 差旅\n\n出国差旅由部门负责人批准，三天之内答复。",
        },
    )
    workspace = FakeWorkspace(folder / "workspace")

    async def build() -> None:
        await KnowledgeBase.create(recipe_in(folder), workspace)

    asyncio.run(build())
    return workspace


def run_tasks(workspace: FakeWorkspace) -> None:
    """Do what waits, as a worker in another process would."""

    async def work() -> None:
        knowledge = await GovernedKnowledge.open(workspace)
        try:
            while await knowledge.worker("worker-1").run_next() is not None:
                pass
        finally:
            await knowledge.bases.close()
            knowledge.governance.close()

    asyncio.run(work())


@pytest.fixture(scope="module")
def client(workspace: FakeWorkspace) -> Iterator[TestClient]:
    """A client of the running interface; callers prove themselves as a gateway does."""
    with TestClient(create_app(workspace, SETTINGS)) as client:
        yield client
