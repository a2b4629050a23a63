"""Which checks a workspace and a recipe need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lorebase.diagnosis.model import Diagnosis, Finding
from lorebase.diagnosis.models import check_chat, check_embedder, check_reranker
from lorebase.diagnosis.ports import Check, DiagnosedWorkspace, Places, PrefectAddress, ServiceProbe
from lorebase.diagnosis.running import DEADLINE_SECONDS, diagnose
from lorebase.diagnosis.services import check_docling, check_endpoint, check_prefect, check_store_clock
from lorebase.diagnosis.stores import (
    check_database,
    check_folder,
    check_governance,
    check_index,
    check_object_store,
    check_registry,
)
from lorebase.models.settings import CHAT_PROVIDER

if TYPE_CHECKING:
    from lorebase.recipes.model import KnowledgeRecipe


async def examine(
    workspace: DiagnosedWorkspace,
    places: Places,
    *,
    probe_id: str,
    recipe: KnowledgeRecipe | None = None,
    prefect: PrefectAddress | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Diagnosis:
    """Look at everything that a workspace, a recipe's models and Prefect's API need.

    Probe objects, tables and collections carry `probe_id` and are removed again. Nothing else is written.

    Args:
        workspace: The workspace.
        places: Where its parts are.
        probe_id: Letters and digits that no other diagnosis uses at the same time.
        recipe: Whose models are asked one question each; None asks none.
        prefect: Prefect's API; None where builds start their own server.
        deadline_seconds: Longest time of one check.
    """
    probe = workspace.service_probe()
    checks = [
        *_store_checks(workspace, places, probe, probe_id),
        *_service_checks(workspace, places, probe, prefect),
        *(_model_checks(workspace, recipe) if recipe is not None else ()),
    ]
    secrets = (*places.secrets, *(prefect.secrets if prefect else ()))
    return await diagnose(checks, secrets=secrets, deadline_seconds=deadline_seconds)


def _store_checks(workspace: DiagnosedWorkspace, places: Places, probe: ServiceProbe, probe_id: str) -> Iterator[Check]:
    for name, folder in places.local_folders.items():
        yield Check(f"folder: {name}", lambda name=name, folder=folder: check_folder(name, folder))  # type: ignore[misc]  # the defaults bind the loop's values
    if places.object_store_url:
        yield Check(
            "object store: reachable", lambda: check_store_clock(probe, places.object_store_url, workspace.clock)
        )

    async def look_at_objects() -> Sequence[Finding]:
        return await check_object_store(workspace.object_store, probe_id, places.object_folder)

    async def look_at_indexes() -> Sequence[Finding]:
        return await check_index(workspace.probe_index_store(), probe, places, f"lorebase-doctor-{probe_id}")

    yield Check("object store", look_at_objects)
    yield Check("index store", look_at_indexes)
    yield Check("database", lambda: check_database(probe, places, probe_id))
    if workspace.former_registry is not None:
        yield Check("registry", lambda: check_registry(workspace))
    if places.database_url:
        yield Check("governed knowledge", lambda: check_governance(workspace))


def _service_checks(
    workspace: DiagnosedWorkspace, places: Places, probe: ServiceProbe, prefect: PrefectAddress | None
) -> Iterator[Check]:
    for name, config in places.endpoints.items():
        yield Check(f"endpoint {name}", lambda name=name, config=config: check_endpoint(probe, name, config))  # type: ignore[misc]  # as above
    if places.docling_url:
        yield Check("docling", lambda: check_docling(probe, places.docling_url))
    yield Check("Prefect API", lambda: check_prefect(probe, prefect, workspace.clock))


def _model_checks(workspace: DiagnosedWorkspace, recipe: KnowledgeRecipe) -> Iterator[Check]:
    specs = recipe.models

    async def look_at_embedding() -> Sequence[Finding]:
        assert specs.embedding is not None  # noqa: S101 (looked at only where there is one)
        return await check_embedder(await workspace.open_embedder(specs.embedding), workspace.object_store, recipe.name)

    async def look_at_chat() -> Sequence[Finding]:
        assert specs.chat is not None  # noqa: S101 (as above)
        return await check_chat(workspace.open_chat(specs.chat))

    async def look_at_rerank() -> Sequence[Finding]:
        assert specs.rerank is not None  # noqa: S101 (as above)
        return await check_reranker(workspace.open_reranker(specs.rerank))

    if specs.embedding is not None:
        yield Check("model: embedding", look_at_embedding)
    if specs.chat is not None:
        yield Check("model: chat", look_at_chat)
    if specs.rerank is not None and specs.rerank.provider != CHAT_PROVIDER:
        yield Check("model: rerank", look_at_rerank)
