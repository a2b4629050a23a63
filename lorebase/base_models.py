"""The models that queries of one base call: opened when first needed, as a snapshot's recipe names them."""

from __future__ import annotations

from typing import Any

from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import UnsupportedModeError
from lorebase.models.call_ledger import CallLedger, LedgeredChat
from lorebase.models.ports import Embedder
from lorebase.models.rerank import RERANK_ROLE, Reranker
from lorebase.models.rerank_ledger import LedgeredReranker
from lorebase.models.settings import CHAT_PROVIDER
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.retrieval.modes.metering import MeteredChat, QueryEmbeddings, QueryMeter
from lorebase.retrieval.modes.searching import ModelPorts
from lorebase.workspace import Workspace


class BaseModels:
    """Opens models once, shares them between queries, and closes them together.

    Args:
        name: Name of the base.
        workspace: Where endpoints and kept replies are.
    """

    def __init__(self, name: str, workspace: Workspace) -> None:
        self._name = name
        self._workspace = workspace
        self._embedders: dict[str, Embedder] = {}
        self._chats: dict[str, LedgeredChat] = {}
        self._rerankers: dict[str, Reranker] = {}
        self._calls = CallLedger(workspace.object_store, BaseLayout(name).calls)

    async def embedder(self, snapshot: Snapshot) -> Embedder:
        """The model that the snapshot was embedded with.

        Raises:
            UnsupportedModeError: The snapshot names none, or this installation offers another one.
        """
        if snapshot.embedding_profile_id not in self._embedders:
            spec = _recipe_of(snapshot).models.embedding
            if spec is None:
                raise UnsupportedModeError(f"The snapshot of {self._name!r} names no embedding model.")
            embedder = await self._workspace.open_embedder(spec)
            if embedder.profile.profile_id != snapshot.embedding_profile_id:
                found = f"{embedder.profile.model} {embedder.profile.model_version}".strip()
                await embedder.close()
                raise UnsupportedModeError(
                    f"{self._name!r} was embedded with another model than {found}, which this installation offers.",
                    remedy="Build it again, or install the version it was built with.",
                )
            self._embedders[snapshot.embedding_profile_id] = embedder
        return self._embedders[snapshot.embedding_profile_id]

    def chat(self, snapshot: Snapshot) -> LedgeredChat | None:
        """The chat model of the snapshot's recipe; None where it names none.

        Raises:
            ConfigurationError: The workspace lacks its endpoint.
        """
        spec = _recipe_of(snapshot).models.chat
        if spec is None:
            return None
        key = spec.model_dump_json()
        if key not in self._chats:
            self._chats[key] = LedgeredChat(self._workspace.open_chat(spec), self._calls)
        return self._chats[key]

    def reranker(self, snapshot: Snapshot) -> Reranker | None:
        """The reranker of the snapshot's recipe; as `chat`."""
        spec = _recipe_of(snapshot).models.rerank
        if spec is None:
            return None
        chat = self.chat(snapshot)
        key = f"{spec.model_dump_json()} {chat.profile.profile_id if chat else ''}"
        if key not in self._rerankers:
            self._rerankers[key] = self._workspace.open_reranker(spec, chat)
        return self._rerankers[key]

    async def ports(self, snapshot: Snapshot, *, embeds: bool) -> ModelPorts:
        """The models for one query, with a meter of its own.

        Args:
            snapshot: What is searched.
            embeds: Whether the query needs the embedder.
        """
        meter = QueryMeter()
        chat = self.chat(snapshot)
        metered = MeteredChat(chat, meter) if chat else None
        return ModelPorts(
            meter,
            chat=metered,
            reranker=self._metered_reranker(snapshot, metered, meter),
            embeddings=QueryEmbeddings(await self.embedder(snapshot), meter) if embeds else None,
            session_id=f"knowledge:{self._name}",
        )

    async def close(self) -> None:
        """Give connections and models back."""
        rerankers, self._rerankers = self._rerankers, {}
        for reranker in rerankers.values():
            await reranker.close()
        chats, self._chats = self._chats, {}
        for chat in chats.values():
            await chat.close()
        embedders, self._embedders = self._embedders, {}
        for embedder in embedders.values():
            await embedder.close()

    def _metered_reranker(self, snapshot: Snapshot, chat: MeteredChat | None, meter: QueryMeter) -> Reranker | None:
        spec = _recipe_of(snapshot).models.rerank
        if spec is not None and spec.provider == CHAT_PROVIDER:
            return self._workspace.open_reranker(spec, chat)  # holds nothing of its own, and its chat model counts
        reranker = self.reranker(snapshot)
        if spec is None or reranker is None:
            return None
        return LedgeredReranker(reranker, spec, self._calls, lambda usage: meter.add(RERANK_ROLE, usage))


def _recipe_of(snapshot: Snapshot) -> KnowledgeRecipe:
    recipe: KnowledgeRecipe = KnowledgeRecipe.model_validate(_as_recipe(snapshot.recipe))
    return recipe


def _as_recipe(data: dict[str, Any]) -> dict[str, Any]:
    """The recipe of a snapshot; keys that a newer program wrote are left out, as queries do not need them."""
    return {key: value for key, value in data.items() if key in KnowledgeRecipe.model_fields}
