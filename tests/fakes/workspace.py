"""A workspace for tests: a real local object store, indexes in memory, an embedder that hashes words and counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from random import Random

from lorebase.errors import LorebaseError
from lorebase.models.ports import EmbeddingBatch
from lorebase.models.settings import EmbeddingModelSpec
from lorebase.recipes.loading import parse_recipe
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.workspace import Workspace
from tests.fakes.hash_embedder import HashEmbedder
from tests.fakes.memory_index import MemoryIndexStore


class CountingEmbedder(HashEmbedder):
    """A hash embedder that counts how often each text was sent, and fails when told to."""

    def __init__(self, seen: Counter[str], failures: list[LorebaseError], **options: object) -> None:
        super().__init__(**options)
        self._seen = seen
        self._failures = failures

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        if self._failures:
            raise self._failures.pop(0)
        self._seen.update(texts)
        return await super().embed_passages(texts)


class FakeWorkspace(Workspace):
    """Workspace in a folder without any service.

    Attributes:
        seen: How often each text was embedded as a passage, over all builds.
        failures: Errors that the next calls of the embedder raise.
        embedder_options: Options of the hash embedder, such as `dimensions`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, random=Random(7))
        self.seen: Counter[str] = Counter()
        self.failures: list[LorebaseError] = []
        self.embedder_options: dict[str, object] = {}

    @cached_property
    def index_store(self) -> MemoryIndexStore:
        return MemoryIndexStore()

    async def open_embedder(self, spec: EmbeddingModelSpec) -> CountingEmbedder:
        del spec
        await asyncio.sleep(0)
        return CountingEmbedder(self.seen, self.failures, **self.embedder_options)


RECIPE = """
name: demo
sources: [{folder: documents}]
models: {embedding: {provider: local}}
partitions: 8
procedures:
  - name: index
    steps:
      - parse_documents: {}
      - split_documents: {max_tokens: 40}
      - embed_chunks: {}
      - index_vectors: {}
      - index_full_text: {}
"""


def recipe_in(folder: Path, text: str = RECIPE) -> KnowledgeRecipe:
    """A recipe whose documents lie in `folder / "documents"`."""
    (folder / "documents").mkdir(parents=True, exist_ok=True)
    return parse_recipe(text, folder=folder)


def write_documents(folder: Path, texts: dict[str, str]) -> None:
    """Write documents of the recipe."""
    for name, text in texts.items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
