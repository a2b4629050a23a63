"""From the original of a revision to its chunks and vectors: the steps of the base's recipe over one document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, PARSED_DOCUMENTS, SOURCE_DOCUMENTS, ParsedItem
from lorebase.artifacts.ledger import Ledger
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.documents.building import DocumentBuilder
from lorebase.documents.model import Chunk, ParsedDocument, SourceDocument
from lorebase.errors import MalformedAnswerError, RefusedError, UnreadableDocumentError
from lorebase.fingerprint import fingerprint
from lorebase.governance.bases import GovernedBase
from lorebase.governance.model import FaqEntry, Item, Revision
from lorebase.governance.originals import Originals
from lorebase.governance.task_failures import Stage
from lorebase.runs.budget import RunBudget
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext

OnStage = Callable[[Stage], None]
"""Told where the work is, before it gets there."""


@dataclass(frozen=True, slots=True)
class RevisionChunks:
    """What became of an original.

    Attributes:
        chunks: In reading order.
        vectors: By chunk id; empty where the base has no vectors.
    """

    chunks: Sequence[Chunk]
    vectors: Mapping[str, NDArray[np.float32]]


class RevisionChunker:
    """Parses, cuts and embeds revisions. What was embedded is kept by item, so that no text of it is paid for again.

    Neither by a run after a killed one, nor by the next revision, nor where an index was lost.
    """

    def __init__(self, originals: Originals, objects: ObjectStore) -> None:
        self._originals = originals
        self._objects = objects

    async def run(self, base: GovernedBase, item: Item, revision: Revision, on_stage: OnStage) -> RevisionChunks:
        """The chunks of a revision, with a vector for each where the base has vectors.

        Raises:
            UnreadableDocumentError: The original yields no text.
            NotFoundError: The original is gone.
            CorruptObjectError: It is not what was reviewed.
            DependencyError: A parser or a model did not do it, or refused a chunk.
        """
        on_stage(Stage.PARSE)
        content = await asyncio.to_thread(self._originals.read, revision)
        source = _source_of(item, revision)
        context = replace(_paying(base), documents=_Original(content))
        parsed = await _parsed(base, revision, source, context)
        on_stage(Stage.CHUNK)
        inputs: dict[str, Sequence[Any]] = {PARSED_DOCUMENTS.name: [parsed], SOURCE_DOCUMENTS.name: [source]}
        chunks: Sequence[Chunk] = (await run_step(base.split, inputs, context)).rows
        if not chunks:
            raise UnreadableDocumentError(f"Revision {revision.id} yields no text.", reason="NO_TEXT")
        on_stage(Stage.EMBED)
        return RevisionChunks(chunks, await self.vectors(base, revision, chunks))

    async def vectors(
        self, base: GovernedBase, revision: Revision, chunks: Sequence[Chunk]
    ) -> dict[str, NDArray[np.float32]]:
        """A vector for each chunk, by its id; empty where the base has none. What was embedded before calls no model.

        Raises:
            DependencyError: The model did not do it, or refused a chunk.
        """
        step = base.embed
        if step is None:
            return {}
        ledger = self._ledger(base, revision)
        writer = ledger.writer(f"revision-{revision.id}")
        partition = Partition(0, step.type_name, {CHUNKS.name: chunks}, ledger, writer)
        try:
            (report,) = await step.run_partitions([partition], _paying(base))
        finally:
            writer.flush()  # in this thread: a cancelled task cannot wait, and what is paid for must reach the store
        if report.failed_items:
            raise RefusedError(
                f"{report.failed_items} of {report.items} chunks of revision {revision.id} got no vector.",
                remedy="Shorten the chunks of the recipe, or use a model that takes them.",
                dependency="embedder",
            )
        return {row.chunk_id: row.vector for row in report.rows}

    def _ledger(self, base: GovernedBase, revision: Revision) -> Ledger[Any]:
        layout = BaseLayout(base.index_name)
        return Ledger(self._objects, layout, EMBEDDINGS, fingerprint("item", revision.item_id, base.profile_id))


@dataclass(frozen=True, slots=True)
class _Original:
    """Reads the one document that there is."""

    content: bytes

    def read_document(self, document: SourceDocument) -> bytes:
        """Its bytes."""
        del document
        return self.content


def _paying(base: GovernedBase) -> StepExecutionContext:
    """What the steps of a base run with, its budget begun anew."""
    return replace(base.context, budget=RunBudget(base.recipe.budget, base.recipe.prices))


def _source_of(item: Item, revision: Revision) -> SourceDocument:
    """The original as the steps know documents: the item is the document, so that its revisions share an id."""
    return SourceDocument(
        document_id=str(item.id),
        name=revision.file_name or item.title,
        source=item.base_id,
        url="",
        sha256=revision.sha256,
        size_bytes=revision.size_bytes,
    )


async def _parsed(
    base: GovernedBase, revision: Revision, source: SourceDocument, context: StepExecutionContext
) -> ParsedItem:
    if revision.source_kind == "faq":
        return ParsedItem(fingerprint("faq", revision.sha256), faq_document(source, revision.faq))
    report = await run_step(base.parse, {SOURCE_DOCUMENTS.name: [source]}, context)
    if report.rows:
        found: ParsedItem = report.rows[0]
        return found
    code = report.issues[0].code if report.issues else "NO_TEXT"
    if report.unreadable_items:
        raise UnreadableDocumentError(f"The original of revision {revision.id} yields no text ({code}).", reason=code)
    raise MalformedAnswerError(f"The parser did not read revision {revision.id} ({code}).", dependency="parser")


async def run_step(
    step: Step, rows: Mapping[str, Sequence[Any]], context: StepExecutionContext
) -> PartitionReport[Any]:
    """What a step makes of these rows, by artifact; nothing is kept.

    Raises:
        LorebaseError: The step's.
    """
    optional: dict[str, Sequence[Any]] = {kind.name: () for kind in step.reads_if_present}
    (report,) = await step.run_partitions([Partition(0, step.type_name, {**optional, **rows})], context)
    return report


def faq_document(source: SourceDocument, entries: Sequence[FaqEntry]) -> ParsedDocument:
    """FAQ entries as a document: a section an entry, its question above its other wordings and its answer.

    Entries that are disabled are not in it.
    """
    builder = DocumentBuilder()
    for entry in entries:
        if entry.enabled:
            builder.add_heading(entry.question, 1)
            builder.add_list([(0, "-", question) for question in entry.similar_questions])
            builder.add_paragraph(entry.answer)
    return ParsedDocument(
        document_id=source.document_id,
        revision_id=source.sha256,
        name=source.name,
        text=builder.text,
        blocks=builder.blocks,
        media_type="application/json",
        parser="faq/1",
    )
