"""The face of governed knowledge for library users, the command line, flows and the HTTP API."""

from __future__ import annotations

import asyncio
from typing import Self

from lorebase.answering.governed.asking import GovernedAsking
from lorebase.answering.governed.takeovers import Takeovers
from lorebase.governance.base_recipes import BaseRecipes
from lorebase.governance.bases import GovernedBases
from lorebase.governance.drafting_sources import SourceDrafts
from lorebase.governance.publishing import Publishing
from lorebase.governance.reconciling import Reconciling
from lorebase.governance.revision_chunks import RevisionChunker
from lorebase.governance.revision_index import StoredRevisionIndex
from lorebase.governance.service import Governance
from lorebase.governance.visibility import Visibility
from lorebase.governance.working import TaskWorker
from lorebase.retrieval.governed.citations import Citations
from lorebase.retrieval.governed.retrieving import GovernedRetrieval
from lorebase.workspace import Workspace


class GovernedKnowledge:
    """Governed knowledge of a workspace. Use it as an asynchronous context, in one event loop, or close it.

    Attributes:
        workspace: Where everything is.
        governance: Items, revisions, review, tasks, feedback: they block, call them in threads.
        bases: The bases with their models.
        index: The search index of revisions.
        publishing: Publish, rollback, offline.
        reconciling: Repairs the index.
        drafting: Makes drafts of the documents of a recipe's sources.
        retrieval: Finds evidence.
        citations: Resolves citations; blocks.
        asking: Answers questions.
    """

    def __init__(self, workspace: Workspace, governance: Governance) -> None:
        store = governance.store
        self.workspace = workspace
        self.governance = governance
        recipes = BaseRecipes(workspace.object_store, workspace.registry_store, workspace.clock)
        self.bases = GovernedBases(workspace, recipes)
        chunker = RevisionChunker(governance.originals, workspace.object_store)
        self.index = StoredRevisionIndex(store, self.bases, chunker)
        self.publishing = Publishing(store, governance.releases, self.index)
        self.reconciling = Reconciling(store, governance.releases, self.bases, self.index, governance.processing)
        self.drafting = SourceDrafts(store, recipes, governance.items, governance.drafts, governance.uploads)
        self.retrieval = GovernedRetrieval(store, self.bases, workspace.config.retrieval)
        self.citations = Citations(store)
        self.asking = GovernedAsking(
            self.bases, self.retrieval, governance.revisions, Takeovers(governance.feedback), workspace.object_store
        )

    @classmethod
    async def open(cls, workspace: Workspace) -> Self:
        """Governed knowledge over a workspace; brings its tables up to date first.

        Raises:
            ConfigurationError: As `Workspace.open_governance`.
            UnavailableError: The database does not answer.
        """
        return cls(workspace, await asyncio.to_thread(workspace.open_governance))

    def worker(self, name: str) -> TaskWorker:
        """A worker of tasks.

        Args:
            name: 1 to 128 characters, unique among the workers that run.
        """
        governance = self.governance
        visibility = Visibility(governance.releases, self.index)
        return TaskWorker(governance.store, governance.tasks, self.index, visibility, name)

    async def close(self) -> None:
        """Give models and connections back."""
        await self.bases.close()
        await self.workspace.close()
        await asyncio.to_thread(self.governance.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
