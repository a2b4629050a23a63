"""The step that cuts parsed documents into chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from lorebase.artifacts.kinds import CHUNKS, PARSED_DOCUMENTS, SOURCE_DOCUMENTS, ArtifactKind
from lorebase.documents.file_names import NameFilter
from lorebase.documents.model import Chunk
from lorebase.documents.splitting import split_document
from lorebase.errors import ConfigurationError
from lorebase.models.token_estimate import estimate_tokens
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class SplitDocuments(Step):
    """Cut each document by structure, then sentence, word and grapheme, losing nothing.

    Tokens are those of the recipe's embedding model; without one they are estimated.
    """

    max_tokens: int = Field(200, ge=16, le=8192, description="Longest chunk, its heading path included.")
    overlap_tokens: int = Field(0, ge=0, description="Tokens shared with the chunk before.")
    exclude: tuple[str, ...] = Field(
        (), description="Patterns of the names of documents that are not cut into chunks, such as faq/*.csv."
    )

    type_name: ClassVar[str] = "split_documents"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (PARSED_DOCUMENTS, SOURCE_DOCUMENTS)
    produces: ClassVar[ArtifactKind[Any]] = CHUNKS
    item_name: ClassVar[str] = "documents"

    @model_validator(mode="after")
    def _overlap_fits(self) -> Self:
        if self.overlap_tokens * 2 > self.max_tokens:
            msg = f"overlap_tokens ({self.overlap_tokens}) may be at most half of max_tokens ({self.max_tokens})"
            raise ValueError(msg)
        return self

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """Whose tokens are counted."""
        profile = context.embedder.profile if context.embedder else None
        return {"tokens": f"{profile.provider}/{profile.model}/{profile.model_version}" if profile else "estimated"}

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[Chunk]]:
        """Split the documents of each partition."""
        if context.embedder is not None and self.max_tokens > context.embedder.profile.max_input_tokens:
            profile = context.embedder.profile
            raise ConfigurationError(
                f"split_documents: max_tokens is {self.max_tokens}, but {profile.model} takes at most "
                f"{profile.max_input_tokens} tokens.",
                remedy=f"Set max_tokens to at most {profile.max_input_tokens}.",
            )
        count_tokens = context.embedder.count_tokens if context.embedder else estimate_tokens
        return [await asyncio.to_thread(self._split_partition, partition, count_tokens) for partition in partitions]

    def _split_partition(self, partition: Partition, count_tokens: Callable[[str], int]) -> PartitionReport[Chunk]:
        parsed = [item for item in partition.rows(PARSED_DOCUMENTS) if not self._leaves_out(item.document.name)]
        sources = {document.document_id: document.source for document in partition.rows(SOURCE_DOCUMENTS)}
        chunks: list[Chunk] = []
        for item in parsed:
            chunks += split_document(
                item.document,
                count_tokens,
                max_tokens=self.max_tokens,
                overlap_tokens=self.overlap_tokens,
                source=sources[item.document.document_id],
            )
        return PartitionReport(rows=chunks, items=len(parsed), computed_items=len(parsed), documents=len(parsed))

    def _leaves_out(self, name: str) -> bool:
        return bool(self.exclude) and NameFilter(self.exclude).accepts(name)
