"""Governed knowledge with everything: rows in a database, an index, an embedder that hashes words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lorebase.database import Database
from lorebase.governance.context import PrincipalContext
from lorebase.governance.drafts import DraftFields
from lorebase.governance.model import FaqEntry, Item, Release, Revision, Task
from lorebase.governance.publishing import Publication
from lorebase.governance.settings import GovernanceSettings
from lorebase.governance.uploads import OnDuplicate
from lorebase.governed_knowledge import GovernedKnowledge
from lorebase.index.ports import Equals
from lorebase.models.rerank import Reranker
from lorebase.models.settings import EmbeddingModelSpec, RerankModelSpec
from lorebase.retrieval.governed.evidence import RetrievalResult
from lorebase.retrieval.governed.request import RetrievalRequest
from lorebase.retrieval.governed.settings import RetrievalSettings
from tests.fakes.workspace import CountingEmbedder, FakeWorkspace
from tests.governance.world import AUTHOR, REVIEWER, HandClock, services, upload

BASE = "handbook"
QUESTION = "when are travel reports due"


class KnowledgeWorkspace(FakeWorkspace):
    """A workspace whose index store and reranker a test can choose."""

    def __init__(self, folder: Path, index_store: Any = None, settings: RetrievalSettings | None = None) -> None:
        super().__init__(folder)
        self.embedder_options = {"dimensions": 64}
        self.reranker: Reranker | None = None
        self.opened_embedders = 0
        if index_store is not None:
            self.__dict__["index_store"] = index_store
        if settings is not None:
            self.config = self.config.model_copy(update={"retrieval": settings})

    async def open_embedder(self, spec: EmbeddingModelSpec) -> CountingEmbedder:
        self.opened_embedders += 1
        return await super().open_embedder(spec)

    def open_reranker(self, spec: RerankModelSpec, chat: Any = None) -> Reranker:
        del spec, chat
        assert self.reranker is not None
        return self.reranker


class KnowledgeWorld:
    """Shortcuts to the states that tests begin in. `context` is an author who may do everything."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        index_store: Any = None,
        worker: int = 0,
        settings: RetrievalSettings | None = None,
        clock: HandClock | None = None,
        **rules: Any,
    ) -> None:
        self.database = database
        self.clock = clock or HandClock()
        self.workspace = KnowledgeWorkspace(folder, index_store, settings)
        governance = services(
            database, folder / "objects", self.clock, GovernanceSettings.model_validate(rules), worker=worker
        )
        self.governance = governance
        self.knowledge = GovernedKnowledge(self.workspace, governance)

    async def close(self) -> None:
        await self.knowledge.bases.close()

    def item(self, key: str = "travel", context: PrincipalContext = AUTHOR, base: str = BASE) -> Item:
        return self.governance.items.create(context, base_id=base, knowledge_key=key, title=f"差旅费 {key}")

    def draft(self, item: Item, text: str, tags: Sequence[str] = (), context: PrincipalContext = AUTHOR) -> Revision:
        draft = self.governance.drafts.create(context, item.id, DraftFields(tags=list(tags)))
        return self.governance.uploads.add_file(
            context, item.id, upload("travel.md", text.encode()), draft_version=draft.version,
            on_duplicate=OnDuplicate.REUSE_DRAFT,
        )  # fmt: skip

    def approved(self, draft: Revision, context: PrincipalContext = AUTHOR) -> Revision:
        reviewer = REVIEWER.model_copy(update={"organ_id": context.organ_id})
        asked = self.governance.review.submit(context, draft.id, version=draft.version)
        return self.governance.review.approve(reviewer, asked.id, version=asked.version)

    def started(self, draft: Revision, context: PrincipalContext = AUTHOR) -> Task:
        approved = self.approved(draft, context)
        return self.governance.processing.ensure(context, approved.id)

    async def ready(
        self, item: Item, text: str, tags: Sequence[str] = (), context: PrincipalContext = AUTHOR
    ) -> Revision:
        task = self.started(self.draft(item, text, tags, context), context)
        ended = await self.knowledge.worker("worker-1").run_next(task.id)
        assert ended is not None
        assert ended.error_code == ""
        return self.governance.revisions.get(context, task.revision_id)

    async def faq(self, item: Item, *entries: FaqEntry) -> Revision:
        draft = self.governance.drafts.create(AUTHOR, item.id)
        filled = self.governance.drafts.set_faq(AUTHOR, draft.id, entries, version=draft.version)
        task = self.started(filled)
        ended = await self.knowledge.worker("worker-1").run_next(task.id)
        assert ended is not None
        return self.governance.revisions.get(AUTHOR, task.revision_id)

    async def publish(self, revision: Revision, context: PrincipalContext = AUTHOR) -> Publication:
        version = self.release(revision.item_id, context).version
        return await self.knowledge.publishing.publish(context, revision.id, expected_version=version)

    async def roll_back(self, revision: Revision) -> Publication:
        version = self.release(revision.item_id).version
        return await self.knowledge.publishing.roll_back(AUTHOR, revision.id, expected_version=version)

    async def take_offline(self, item_id: int) -> Publication:
        version = self.release(item_id).version
        return await self.knowledge.publishing.take_offline(AUTHOR, item_id, expected_version=version)

    def release(self, item_id: int, context: PrincipalContext = AUTHOR) -> Release:
        return self.governance.releases.get(context, item_id)

    def read(self, revision: Revision, context: PrincipalContext = AUTHOR) -> Revision:
        return self.governance.revisions.get(context, revision.id)

    async def retrieve(
        self, query: str = QUESTION, context: PrincipalContext = AUTHOR, **given: Any
    ) -> RetrievalResult:
        request = RetrievalRequest(**{"base_id": BASE, "query": query, **given})
        return await self.knowledge.retrieval.retrieve(context, request)

    async def texts(self, query: str = QUESTION, context: PrincipalContext = AUTHOR, **given: Any) -> list[str]:
        return [evidence.text for evidence in (await self.retrieve(query, context, **given)).evidence]

    async def shown(self, base: str = BASE) -> list[set[str]]:
        """The revisions of which each index returns something."""
        opened = await self.knowledge.bases.open(base)
        return [
            {fields.revision_id for fields in await index.fields((Equals("searchable", value=True),))}
            for index in (opened.vectors(), opened.lexical())
            if index is not None
        ]

    async def entities(self, revision: Revision, base: str = BASE) -> list[int]:
        """How many entities each index holds of a revision."""
        opened = await self.knowledge.bases.open(base)
        await asyncio.sleep(0)
        return [
            await index.count((Equals("revision_id", str(revision.id)),))
            for index in (opened.vectors(), opened.lexical())
            if index is not None
        ]


def handbook(number: int, sections: int = 3) -> str:
    """A document whose every section says which version it is."""
    return "\n\n".join(
        f"# Chapter {section}\n\nTravel reports are due within {number} days, rule {section}."
        for section in range(sections)
    )
