"""The flows of governed knowledge in a real server: ids go in, ids and codes come out, and no word of a document."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lorebase.artifacts.store import ObjectStore
from lorebase.errors import UnavailableError
from lorebase.governance.context import ALL_CAPABILITIES, PrincipalContext
from lorebase.governance.file_checks import Upload
from lorebase.governance.model import Revision
from lorebase.governance.service import Governance
from lorebase.governance.settings import GovernanceSettings
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace
from lorebase.workspace_config import WorkspaceConfig
from tests.flows.conftest import PrefectServer

ANN = PrincipalContext(organ_id=1, user_id="ann", capabilities=ALL_CAPABILITIES)
SECRET = "heronpassword"
RECIPE = "name: birds\ngovernance: reviewed\nsources: [{folder: documents}]\nprocedures: [{use: full_text_index}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lorebase.yaml").write_text("governance: {forbid_self_review: false}\n")
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "heron.md").write_text(f"The heron keeps its {SECRET}.\n")
    return tmp_path


@pytest.fixture
def governance(folder: Path) -> Iterator[Governance]:
    opened = Workspace(
        folder, WorkspaceConfig(governance=GovernanceSettings(forbid_self_review=False))
    ).open_governance()
    yield opened
    opened.close()


def approve(governance: Governance, revision_id: int) -> Revision:
    draft = governance.revisions.get(ANN, revision_id)
    asked = governance.review.submit(ANN, draft.id, version=draft.version)
    return governance.review.approve(ANN, asked.id, version=asked.version)


def approved_file(governance: Governance, key: str) -> Revision:
    item = governance.items.create(ANN, base_id="birds", knowledge_key=key, title="Herons")
    upload = Upload(f"{key}.md", io.BytesIO(f"The {key} keeps its {SECRET}.".encode()), "")
    return approve(governance, governance.uploads.add_file(ANN, item.id, upload).id)


def said(prefect: PrefectServer, state: Any) -> str:
    """Everything that Prefect keeps of a flow run."""
    run_id = str(state.state_details.flow_run_id)
    logs = prefect.post("/logs/filter", {"logs": {"flow_run_id": {"any_": [run_id]}}})
    return json.dumps([prefect.flow_run(state), logs, prefect.artifacts(state), str(state.data)])


async def test_from_a_build_to_a_processed_revision_and_back(
    prefect: PrefectServer, folder: Path, governance: Governance
) -> None:
    """K-035, K-039, K-077, X-09."""
    from flows.compile import BuildSettings, compile_recipe
    from flows.delete_index import delete_index
    from flows.dispatch_tasks import DispatchOptions, dispatch_tasks
    from flows.governed import RevisionOptions
    from flows.process_revision import process_revision
    from flows.reconcile_index import ReconcileOptions, reconcile_index

    where = {"workspace": str(folder)}
    flow = compile_recipe(parse_recipe(RECIPE, folder=folder))
    built = await prefect.run(lambda: flow(BuildSettings(**where), return_state=True))
    (draft,) = governance.revisions.list(ANN).records
    revision = approve(governance, draft.id)
    options = RevisionOptions(revision_id=revision.id, **where)
    processed = await prefect.run(lambda: process_revision(options, return_state=True))
    second = approved_file(governance, "kestrel")
    governance.processing.ensure(ANN, second.id)
    dispatched = await prefect.run(lambda: dispatch_tasks(DispatchOptions(**where), return_state=True))
    freed = await prefect.run(lambda: delete_index(options, return_state=True))
    reconciled = await prefect.run(lambda: reconcile_index(ReconcileOptions(base="birds", **where), return_state=True))

    assert (await built.result())["documents"] == {"NEW_ITEM": 1}
    assert (await processed.result())["status"] == "SUCCEEDED"
    assert await dispatched.result() == {"tasks": 1, "failed": 0}
    assert (await freed.result())["status"] == "SUCCEEDED"
    assert (await reconciled.result())["repairs"] == []
    assert governance.revisions.get(ANN, revision.id).index_status == "INDEX_DELETED"
    assert governance.revisions.get(ANN, second.id).status == "READY_TO_PUBLISH"
    assert all(SECRET not in said(prefect, state) for state in (built, processed, dispatched, freed, reconciled))


async def test_what_fails_says_a_code_and_not_a_word(
    prefect: PrefectServer, folder: Path, governance: Governance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K-038, K-039: what an exception quotes stays out of Prefect."""
    from flows.governed import RevisionOptions
    from flows.process_revision import process_revision

    revision = approved_file(governance, "heron")

    def broken(store: ObjectStore, key: str) -> bytes:
        del store, key
        raise UnavailableError(f"The store refused 'The heron keeps its {SECRET}'.")

    monkeypatch.setattr("lorebase.adapters.object_stores.LocalObjectStore.get", broken)
    options = RevisionOptions(revision_id=revision.id, workspace=str(folder))
    failed = await prefect.run(lambda: process_revision(options, return_state=True))
    unknown = options.model_copy(update={"revision_id": 4})
    refused = await prefect.run(lambda: process_revision(unknown, return_state=True))

    task = governance.processing.list(ANN).records[0]
    assert refused.is_failed()
    assert "GovernedWorkError: The work on governed knowledge failed: NOT_FOUND." in refused.message
    assert task.error_code in {"UNKNOWN", "PARSE_FAILED"}
    assert SECRET not in said(prefect, failed) + said(prefect, refused) + task.error_message
