"""The step that says what every document is: its source type, and what is said about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from lorebase.artifacts.kinds import PARSED_DOCUMENTS, SOURCE_DOCUMENTS, ArtifactKind
from lorebase.errors import ConfigurationError, ConflictError, UnreadableDocumentError
from lorebase.fingerprint import fingerprint
from lorebase.models.chat import CHAT_ROLE
from lorebase.models.ports import ModelUsage
from lorebase.models.seam import session_id_of
from lorebase.registry.classifying import ClassifyingRun, DocumentItem, item_of
from lorebase.registry.document_classes import DOCUMENT_CLASSES, DocumentClass, filter_tags
from lorebase.registry.document_metadata import (
    Description,
    MetadataRule,
    checked_metadata,
    described_by_rules,
    front_matter_of,
    read_description,
)
from lorebase.registry.model_classification import PROMPT_VERSION, ChatClassifier, ExpectingClassifier
from lorebase.registry.recipe_types import REGISTRY, SourceTypesSetting, checked_specs, types_of_specs
from lorebase.registry.source_types import SourceType
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext


class ClassifyDocuments(Step):
    """Give every document its source type, and check what is said about it. Index steps label chunks with both.

    Signals and excludes decide first; where they do not, the recipe's chat model does, if it has one; what is left is a
    `document`. What is said about a document comes from `metadata` rules, the front matter of Markdown, and a file
    `NAME.meta.yaml` beside it; the later has the last word.
    """

    source_types: SourceTypesSetting = Field(
        (),
        description='Source types beside the built-in ones, or what is different of those; "registry" takes the types '
        "that the registry has for the base.",
    )
    mode: Literal["auto", "model", "rules"] = Field(
        "auto",
        description='Who decides what signals do not: the chat model, or nobody. "auto" takes the model where the '
        "recipe has one.",
        json_schema_extra={"affects_result": False},  # what was decided is part of the identity
    )
    metadata: tuple[MetadataRule, ...] = Field((), description="What is said about documents by their names.")

    type_name: ClassVar[str] = "classify_documents"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (PARSED_DOCUMENTS, SOURCE_DOCUMENTS)
    produces: ClassVar[ArtifactKind[Any]] = DOCUMENT_CLASSES
    optional_models: ClassVar[tuple[str, ...]] = (CHAT_ROLE,)
    item_name: ClassVar[str] = "documents"

    @field_validator("source_types")
    @classmethod
    def _distinct(cls, value: SourceTypesSetting) -> SourceTypesSetting:
        return value if value == REGISTRY else checked_specs(value)

    def called_models(self) -> tuple[str, ...]:
        """The chat model, unless rules are to decide."""
        return () if self.mode == "rules" else (CHAT_ROLE,)

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """The types, and the model where one decides.

        Raises:
            ConfigurationError: A model is to decide and the recipe has none, or the types are left to a registry that
                nobody asked.
        """
        types = [known.model_dump(mode="json") for known in self._types(context)]
        said = {"types": fingerprint("source types", types), "classification": "rules"}
        if not self._uses_model(context):
            return said
        profile = context.require_chat(self.type_name).profile
        return said | {
            "classification": "model",
            "model.provider": profile.provider,
            "model.name": profile.model,
            "model.profile": profile.profile_id,
            "prompt": PROMPT_VERSION,
        }

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[DocumentClass]]:
        """Classify the documents of all partitions."""
        classifier = None
        if self._uses_model(context):
            model = context.require_chat(partitions[0].step_name)
            classifier = ChatClassifier(model, session_id=session_id_of(context.base_name))
        return await self._classified(partitions, context, classifier)

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[DocumentClass]]:
        """Count what the model would be asked; no type of its stands in for its answers."""
        classifier = None
        if self._uses_model(context):
            model = context.require_chat(partitions[0].step_name)
            classifier = ExpectingClassifier(model, session_id=session_id_of(context.base_name))
        return await self._classified(partitions, context, classifier)

    def _uses_model(self, context: StepExecutionContext) -> bool:
        return self.mode == "model" or (self.mode == "auto" and context.chat is not None)

    def _types(self, context: StepExecutionContext) -> tuple[SourceType, ...]:
        if self.source_types == REGISTRY:
            raise ConfigurationError(
                f"{self.type_name} takes the source types of {context.base_name!r} from the registry, which has no "
                "such base.",
                remedy=f"Run `lorebase kb create {context.base_name}`, or write the types into the recipe.",
            )
        return types_of_specs(self.source_types)

    async def _classified(
        self, partitions: Sequence[Partition], context: StepExecutionContext, classifier: ChatClassifier | None
    ) -> list[PartitionReport[DocumentClass]]:
        types = self._types(context)
        items = [await asyncio.to_thread(_items_of, partition) for partition in partitions]
        work = ClassifyingRun(types, partitions[0], await asyncio.to_thread(_known, partitions[0], items))
        if classifier is None:
            await asyncio.to_thread(work.by_signs, [item for part in items for item in part])
        else:
            await work.by_model([item for part in items for item in part], classifier, _slots_of(context))
        usage = classifier.usage if classifier else ModelUsage()
        reports = [await asyncio.to_thread(self._report, part, work, context) for part in items]
        cost = context.budget.cost_usd(CHAT_ROLE, usage)
        return [replace(reports[0], usage=usage, usd=cost), *reports[1:]]

    def _report(
        self, items: Sequence[DocumentItem], work: ClassifyingRun, context: StepExecutionContext
    ) -> PartitionReport[DocumentClass]:
        rows: list[DocumentClass] = []
        issues: list[Issue] = []
        for item in items:
            if item.key in work.failures:
                failure = work.failures[item.key]
                message = f"{item.document.name}: {failure}"
                issues.append(
                    self._issue_of(item, f"CLASSIFICATION_{failure.code}", message, "error", reason=failure.message)
                )
                continue
            row, found = self._described(item, work.classes[item.key], work.types, context)
            rows.append(row)
            issues += found
        from_ledger = sum(item.key in work.known for item in items)
        return PartitionReport(
            rows=rows,
            items=len(items),
            computed_items=len(items) - from_ledger,
            ledger_items=from_ledger,
            failed_items=len(items) - len(rows),
            documents=len(items),
            issues=tuple(issues),
        )

    def _described(
        self, item: DocumentItem, known: DocumentClass, types: Sequence[SourceType], context: StepExecutionContext
    ) -> tuple[DocumentClass, list[Issue]]:
        """The row of a document with what is said about it, and what is wrong with that."""
        issues: list[Issue] = []
        said = described_by_rules(self.metadata, item.document.name)
        said = said.and_then(self._front_matter(item, issues)).and_then(self._sidecar(item, context, issues))
        declared = next((one.metadata_fields for one in types if one.id == known.source_type), ())
        checked = checked_metadata(said.values, declared)
        issues += [
            self._issue_of(item, f"METADATA_{one.code}", f"{item.document.name}: {one.message}", one.severity)
            for one in checked.issues
        ]
        row = replace(
            known,
            document_id=item.document.document_id,
            revision_id=item.document.revision_id,
            tags=said.tags,
            metadata=checked.values,
        )
        lost = [tag for tag in filter_tags(row)[1] if tag in row.tags]
        if lost:
            message = (
                f"{item.document.name}: {len(lost)} tags are too long or too many to be searched: {lost[0]!r:.80}."
            )
            issues.append(self._issue_of(item, "TAGS_NOT_SEARCHABLE", message))
        return row, issues

    def _front_matter(self, item: DocumentItem, issues: list[Issue]) -> Description:
        return self._read(item, front_matter_of(item.document), "front matter", issues)

    def _sidecar(self, item: DocumentItem, context: StepExecutionContext, issues: list[Issue]) -> Description:
        if not item.source.sidecar_sha256:
            return Description()
        sidecar = item.source.sidecar
        try:
            text = context.documents.read_document(sidecar).decode("utf-8-sig")
        except (ConflictError, UnreadableDocumentError, UnicodeDecodeError) as error:
            message = f"{sidecar.name} cannot be read: {error}"
            issues.append(self._issue_of(item, "METADATA_UNREADABLE", message))
            return Description()
        return self._read(item, text, sidecar.name, issues)

    def _read(self, item: DocumentItem, text: str, where: str, issues: list[Issue]) -> Description:
        try:
            return read_description(text)
        except ValueError as error:
            message = f"{item.document.name}: the {where} was passed over, because {error}."
            issues.append(self._issue_of(item, "METADATA_UNREADABLE", message))
            return Description()

    def _issue_of(
        self,
        item: DocumentItem,
        code: str,
        message: str,
        severity: Literal["warning", "error"] = "warning",
        **details: str,
    ) -> Issue:
        subject = Subject(kind="document", id=item.document.document_id, name=item.document.name)
        return self.issue(code, message, subject, severity=severity, **details)


def _items_of(partition: Partition) -> list[DocumentItem]:
    sources = {document.document_id: document for document in partition.rows(SOURCE_DOCUMENTS)}
    return [item_of(row.document, sources[row.document.document_id]) for row in partition.rows(PARSED_DOCUMENTS)]


def _known(partition: Partition, items: Sequence[Sequence[DocumentItem]]) -> dict[str, DocumentClass]:
    """Documents of all partitions that are classified already: partitions of a task run share one ledger."""
    return partition.finished(DOCUMENT_CLASSES, [item.key for part in items for item in part])


def _slots_of(context: StepExecutionContext) -> asyncio.Semaphore:
    return asyncio.Semaphore(context.chat.max_concurrency if context.chat else 1)
