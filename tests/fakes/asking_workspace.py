"""A workspace whose chat model and reranker are scripted, and whose embedder keeps what it was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lorebase.errors import LorebaseError
from lorebase.models.chat import ChatModel
from lorebase.models.ports import EmbeddingBatch
from lorebase.models.rerank import Reranker
from lorebase.models.settings import CHAT_PROVIDER, ChatModelSpec, EmbeddingModelSpec, RerankModelSpec
from tests.fakes.scripted_chat import ScriptedChat
from tests.fakes.scripted_rerank import ScriptedReranker
from tests.fakes.workspace import CountingEmbedder, FakeWorkspace


class _AskedEmbedder(CountingEmbedder):
    def __init__(
        self, seen: Counter[str], failures: list[LorebaseError], asked: list[list[str]], **options: object
    ) -> None:
        super().__init__(seen, failures, **options)
        self._asked = asked

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        self._asked.append(list(texts))
        return await super().embed_queries(texts)


class AskingWorkspace(FakeWorkspace):
    """Workspace in a folder; every base in it asks the same models.

    Attributes:
        chat: The chat model.
        scripted_reranker: The reranker of every provider but the chat model.
        embedded: The questions of each call of the embedder.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.chat = ScriptedChat()
        self.scripted_reranker = ScriptedReranker()
        self.embedded: list[list[str]] = []

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        return self.chat

    def open_reranker(self, spec: RerankModelSpec, chat: ChatModel | None = None) -> Reranker:
        return super().open_reranker(spec, chat) if spec.provider == CHAT_PROVIDER else self.scripted_reranker

    async def open_embedder(self, spec: EmbeddingModelSpec) -> CountingEmbedder:
        return _AskedEmbedder(self.seen, self.failures, self.embedded, **self.embedder_options)
