"""The step that reads questions and answers out of tables, records and Markdown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from pydantic import Field, field_validator

from lorebase.artifacts.kinds import PARSED_DOCUMENTS, SOURCE_DOCUMENTS, ArtifactKind
from lorebase.documents.file_names import NameFilter
from lorebase.documents.model import ParsedDocument, SourceDocument
from lorebase.errors import ConflictError
from lorebase.faq.collecting import TABLE_TYPES, CollectedFaq, collect_entries
from lorebase.faq.columns import ROLES
from lorebase.faq.model import FAQ_ENTRIES, FaqEntry
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class CollectFaq(Step):
    """Read the entries of every FAQ among the documents. Unlocks nothing by itself; `index_faq` needs it.

    A FAQ is a CSV file, JSON lines, a workbook or a Markdown table with a column of questions and one of answers, or
    Markdown with headings that ask or paragraphs that begin with Q and A. Other documents are passed over.
    """

    files: tuple[str, ...] = Field(
        (),
        description="Patterns of the names of FAQ documents, such as **/*.faq.csv; none looks at every document.",
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="Names of columns that are called otherwise than usual, by role: question, answer, variants, "
        "enabled, disabled, status.",
    )

    type_name: ClassVar[str] = "collect_faq"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (SOURCE_DOCUMENTS, PARSED_DOCUMENTS)
    produces: ClassVar[ArtifactKind[Any]] = FAQ_ENTRIES
    item_name: ClassVar[str] = "documents"

    @field_validator("columns")
    @classmethod
    def _known_roles(cls, value: dict[str, str]) -> dict[str, str]:
        unknown = sorted(set(value) - set(ROLES))
        if unknown:
            raise ValueError(f"there is no role {', '.join(unknown)}; the roles are {', '.join(ROLES)}")
        return value

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[FaqEntry]]:
        """Read the FAQs of each partition."""
        return [await asyncio.to_thread(self._collected, partition, context) for partition in partitions]

    def _collected(self, partition: Partition, context: StepExecutionContext) -> PartitionReport[FaqEntry]:
        parsed = {item.document.document_id: item.document for item in partition.rows(PARSED_DOCUMENTS)}
        sources = [one for one in partition.rows(SOURCE_DOCUMENTS) if one.document_id in parsed and self._wants(one)]
        rows: list[FaqEntry] = []
        issues: list[Issue] = []
        failed = 0
        for source in sources:
            document = parsed[source.document_id]
            try:
                read = partial(context.documents.read_document, source)
                found = collect_entries(source, document, read, self.columns)
            except ConflictError as error:
                failed += 1
                issues.append(self._issue("DOCUMENT_CHANGED", str(error), source))
                continue
            rows += found.entries
            issues += self._issues(found, source, document)
        return PartitionReport(
            rows=rows,
            items=len(sources),
            computed_items=len(sources),
            failed_items=failed,
            documents=len({row.document_id for row in rows}),
            issues=tuple(issues),
        )

    def _wants(self, source: SourceDocument) -> bool:
        return not self.files or NameFilter(self.files).accepts(source.name)

    def _issues(self, found: CollectedFaq, source: SourceDocument, document: ParsedDocument) -> list[Issue]:
        issues = [self._issue(fault.code, fault.message, source, place=fault.place) for fault in found.faults]
        if not found.is_faq and (self.files or document.media_type in TABLE_TYPES):
            message = (
                f"{source.name} is no FAQ: it has no column or field of questions and one of answers. "
                "Name them with `columns`, or leave the file out with `files`."
            )
            issues.append(self._issue("FAQ_NOT_RECOGNISED", message, source, is_error=bool(self.files)))
        if disabled := sum(not entry.enabled for entry in found.entries):
            message = (
                f"{source.name} has {disabled} disabled entries: no FAQ search gives them. Where the recipe cuts "
                "documents into chunks as well, leave it out there: `split_documents: {exclude: [...]}`."
            )
            issues.append(self._issue("FAQ_ENTRIES_DISABLED", message, source, is_error=False))
        return issues

    def _issue(
        self, code: str, message: str, source: SourceDocument, *, is_error: bool = True, **details: str
    ) -> Issue:
        subject = Subject(kind="document", id=source.document_id, name=source.name)
        return self.issue(code, message, subject, severity="warning" if is_error else "info", **details)
