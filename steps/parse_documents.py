"""The step that turns source documents into text with structure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, ClassVar

from lorebase.artifacts.kinds import PARSED_DOCUMENTS, SOURCE_DOCUMENTS, ArtifactKind, ParsedItem
from lorebase.documents.model import SourceDocument
from lorebase.errors import ConflictError, MalformedAnswerError, RefusedError, UnreadableDocumentError
from lorebase.fingerprint import fingerprint
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class ParseDocuments(Step):
    """Read every document once. What cannot be read becomes an issue, and the build goes on."""

    type_name: ClassVar[str] = "parse_documents"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (SOURCE_DOCUMENTS,)
    produces: ClassVar[ArtifactKind[Any]] = PARSED_DOCUMENTS
    item_name: ClassVar[str] = "documents"
    segment_items: ClassVar[int] = 10_000  # parsed text is large and cheap: only slow parsing is worth writing twice

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The engines that read documents."""
        return {f"parser.{name}": version for name, version in context.parsers.versions.items()}

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[ParsedItem]]:
        """Parse the documents of each partition."""
        return [await asyncio.to_thread(self._parse_partition, partition, context) for partition in partitions]

    def _parse_partition(self, partition: Partition, context: StepExecutionContext) -> PartitionReport[ParsedItem]:
        documents = partition.rows(SOURCE_DOCUMENTS)
        known = partition.finished(PARSED_DOCUMENTS, [_item_key(document) for document in documents])
        tally = _Tally()
        for document in documents:
            key = _item_key(document)
            if key in known:
                tally.rows.append(_adopted(known[key], document))
            else:
                self._parse(document, key, partition, context, tally)
        return PartitionReport(
            rows=tally.rows,
            items=len(documents),
            computed_items=len(documents) - len(known),
            ledger_items=len(known),
            failed_items=tally.failed,
            unreadable_items=tally.unreadable,
            documents=len(documents),
            issues=(*tally.issues, *self._warnings(tally.rows)),
        )

    def _parse(
        self, document: SourceDocument, key: str, partition: Partition, context: StepExecutionContext, tally: _Tally
    ) -> None:
        try:
            content = context.documents.read_document(document)
            parsed = context.parsers.parse_document(document, content, max_bytes=context.max_document_bytes)
        except UnreadableDocumentError as error:
            tally.unreadable += 1
            reason = str(error.facts.get("reason", "UNREADABLE"))
            tally.issues.append(self._issue_of(document, f"DOCUMENT_{reason}", str(error)))
        except ConflictError as error:
            tally.failed += 1
            tally.issues.append(self._issue_of(document, "DOCUMENT_CHANGED", str(error)))
        except (RefusedError, MalformedAnswerError) as error:
            tally.failed += 1
            tally.issues.append(self._issue_of(document, "PARSER_FAILED", str(error)))
        else:
            item = ParsedItem(key, parsed)
            partition.record(PARSED_DOCUMENTS, [item])
            tally.rows.append(item)

    def _issue_of(self, document: SourceDocument, code: str, message: str) -> Issue:
        subject = Subject(kind="document", id=document.document_id, name=document.name)
        return self.issue(code, message, subject, source=document.source)

    def _warnings(self, rows: Sequence[ParsedItem]) -> list[Issue]:
        return [
            self.issue(code, message, Subject(kind="document", id=item.document.document_id, name=item.document.name))
            for item in rows
            for code, message in item.document.warnings
        ]


@dataclass
class _Tally:
    """What has come together while a partition is parsed."""

    rows: list[ParsedItem] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    unreadable: int = 0
    failed: int = 0


def _item_key(document: SourceDocument) -> str:
    """What decides the text of a document: its bytes and the ending of its name, which helps to decide its type."""
    return fingerprint("parse", document.sha256, PurePosixPath(document.name).suffix.lower())


def _adopted(item: ParsedItem, document: SourceDocument) -> ParsedItem:
    """The finished text of the same bytes under another name."""
    parsed = replace(item.document, document_id=document.document_id, revision_id=document.sha256, name=document.name)
    return replace(item, document=parsed)
