"""What the routes stand on: services opened when the server starts and closed when it stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import anyio.to_thread
from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from apps.api.idle_indexes import IdleIndexes
from apps.api.served_bases import ServedBases
from apps.api.settings import ApiSettings
from lorebase.errors import NotFoundError
from lorebase.governance.context import PrincipalContext
from lorebase.governance.service import Governance
from lorebase.governed_knowledge import GovernedKnowledge
from lorebase.registered_bases import RegisteredBases, open_bases
from lorebase.registry.keeping import not_found_message
from lorebase.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that routes call. Services of governed knowledge and the registry block: their routes run in threads.

    Attributes:
        workspace: Where things are.
        settings: Rules of the HTTP interface.
        knowledge: Governed knowledge with its index: publishing, retrieval.
        registry: The registry of knowledge bases.
        bases: Bases without governance that are searched.
        indexes: Held while somebody searches.
        turns: As many as there may be searches at once.
    """

    workspace: Workspace
    settings: ApiSettings
    knowledge: GovernedKnowledge
    registry: RegisteredBases
    bases: ServedBases
    indexes: IdleIndexes
    turns: asyncio.Semaphore

    @property
    def governance(self) -> Governance:
        """Items, revisions, review, tasks, feedback."""
        return self.knowledge.governance

    @asynccontextmanager
    async def searching(self) -> AsyncIterator[None]:
        """Around one search: it waits for its turn.

        More searches at once than the machine can do would all pass their time budget, and none would have an answer.
        """
        async with self.turns, self.indexes.used():
            yield

    async def require_items_in(self, caller: PrincipalContext, base_id: str) -> None:
        """Go on only where the organisation has something in a base: the models of others are not opened.

        Raises:
            ForbiddenError: The caller may not read.
            NotFoundError: It has nothing there.
        """
        items = self.governance.items
        found = await run_in_threadpool(items.list, caller, base_id=base_id, page_number=1, page_size=1)
        if not found.total:
            raise NotFoundError(not_found_message(base_id))


@asynccontextmanager
async def opened_services(workspace: Workspace, settings: ApiSettings) -> AsyncIterator[Services]:
    """The services of a workspace, for as long as the server runs.

    Raises:
        ConfigurationError: The database's address cannot be opened, or a newer version made its tables.
        UnavailableError: The database does not answer.
    """
    anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(settings.threads))
    knowledge = await GovernedKnowledge.open(workspace)
    registry = await asyncio.to_thread(open_bases, workspace)
    bases = ServedBases(workspace, settings.base_organ_ids)
    indexes = IdleIndexes(workspace.index_store, workspace.clock)
    turns = asyncio.Semaphore(settings.searches_at_once)
    try:
        async with nullcontext() if workspace.has_index_server else indexes.watched():
            yield Services(workspace, settings, knowledge, registry, bases, indexes, turns)
    finally:
        await bases.close()
        await knowledge.close()
        await workspace.close()


def _services_of(request: Request) -> Services:
    services: Services = request.state.services
    return services


def _caller_of(request: Request) -> PrincipalContext:
    """The caller, whom `admission` has let through."""
    principal: PrincipalContext = request.state.principal
    return principal


ServicesOf: TypeAlias = Annotated[Services, Depends(_services_of)]
Caller: TypeAlias = Annotated[PrincipalContext, Depends(_caller_of)]
