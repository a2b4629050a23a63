"""One task run of classification: which documents are classified already, and which signs and models tell apart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from lorebase.documents.model import ParsedDocument, SourceDocument
from lorebase.errors import DependencyError, LorebaseError
from lorebase.fingerprint import fingerprint
from lorebase.models.chat import concerns_one_request
from lorebase.registry.classification import (
    TEXT_CHARS,
    Classification,
    DocumentGlimpse,
    SourceTypeClassifier,
    classify_by_signs,
    classify_document,
)
from lorebase.registry.document_classes import DOCUMENT_CLASSES, DocumentClass, Method
from lorebase.registry.document_metadata import front_matter_of
from lorebase.registry.source_types import SourceType
from lorebase.runs.executor import first_failure
from lorebase.runs.step import Partition

_METHODS: dict[str, Method] = {"signals": "rules", "model": "model", "fallback": "fallback"}


@dataclass(frozen=True, slots=True)
class DocumentItem:
    """A document to classify.

    Attributes:
        key: Of the work: name, headings and the beginning of the text decide it.
        document: As it was parsed.
        source: As it was scanned.
        glimpse: What of it is looked at.
    """

    key: str
    document: ParsedDocument
    source: SourceDocument
    glimpse: DocumentGlimpse


class ClassifyingRun:
    """What comes together while the documents of a task run are classified.

    Args:
        types: Source types to choose from.
        partition: Any of the run's partitions: they share one ledger.
        known: Classes that are paid for already, by key.

    Attributes:
        types: As given.
        known: Keys of what was classified before.
        classes: Classes by key; of the document that was classified first.
        failures: Why documents have none, by key.
    """

    def __init__(self, types: Sequence[SourceType], partition: Partition, known: dict[str, DocumentClass]) -> None:
        self.types = types
        self.known = frozenset(known)
        self.classes = dict(known)
        self.failures: dict[str, DependencyError] = {}
        self._partition = partition
        self._errors: list[LorebaseError] = []

    def by_signs(self, items: Sequence[DocumentItem]) -> None:
        """Classify by signals and excludes. Blocking."""
        for item in items:
            if item.key not in self.classes:
                self.classes[item.key] = _row_of(item, classify_by_signs(item.glimpse, self.types))

    async def by_model(
        self, items: Sequence[DocumentItem], classifier: SourceTypeClassifier, slots: asyncio.Semaphore
    ) -> None:
        """Classify by signals, and ask about what they leave open, a few at once.

        When the model answers nobody, questions under way are waited for: what is paid for is kept.

        Raises:
            DependencyError: The model answers nobody; what concerns one document only is among `failures`.
            BudgetExceededError: The next question would pass the budget.
        """

        async def one(item: DocumentItem) -> None:
            async with slots:
                if self._errors:
                    return
                try:
                    found = await classify_document(item.glimpse, self.types, classifier)
                except LorebaseError as error:
                    if isinstance(error, DependencyError) and concerns_one_request(error):
                        self.failures[item.key] = error
                    else:
                        self._errors.append(error)
                    return
                row = self.classes[item.key] = _row_of(item, found)
                await asyncio.to_thread(self._partition.record, DOCUMENT_CLASSES, [row])

        todo = {item.key: item for item in items if item.key not in self.classes}
        try:
            async with asyncio.TaskGroup() as tasks:
                for item in todo.values():
                    tasks.create_task(one(item))
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None  # retries look at its class
        if self._errors:
            raise self._errors[0]


def item_of(document: ParsedDocument, source: SourceDocument) -> DocumentItem:
    """The item of a document; its front matter is no part of what is looked at."""
    matter = front_matter_of(document)
    text = document.text[document.blocks[0].end :] if matter else document.text
    headings = tuple(
        block.heading_path[-1] for block in document.blocks if block.kind == "heading" and block.heading_path
    )
    glimpse = DocumentGlimpse(document.name, headings, text[:TEXT_CHARS])
    key = fingerprint("classify", glimpse.name, glimpse.headings, glimpse.text)
    return DocumentItem(key, document, source, glimpse)


def _row_of(item: DocumentItem, found: Classification) -> DocumentClass:
    return DocumentClass(
        key=item.key,
        document_id=item.document.document_id,
        revision_id=item.document.revision_id,
        source_type=found.source_type_id,
        method=_METHODS[found.way],
        reason=found.reason,
        score=found.score,
    )
