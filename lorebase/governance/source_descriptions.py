"""What a recipe says of a document before anybody has reviewed it: source type, tags and fields, for the reviewers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from logging import getLogger
from typing import Protocol

from lorebase.artifacts.kinds import PARSED_DOCUMENTS, SOURCE_DOCUMENTS
from lorebase.documents.model import SourceDocument
from lorebase.documents.parsing import ParserRegistry
from lorebase.governance.drafts import DraftFields
from lorebase.governance.model import Revision
from lorebase.governance.revision_chunks import run_step
from lorebase.index.ports import IndexStore
from lorebase.recipes.expansion import expand
from lorebase.recipes.model import KnowledgeRecipe, ParserRuleSpec
from lorebase.registry.base_recipe import HasRegistry, with_registered_types
from lorebase.registry.document_classes import DOCUMENT_CLASSES, DocumentClass
from lorebase.runs.records import Issue
from lorebase.runs.scanning import SourceReader
from lorebase.runs.step import Step, StepExecutionContext

_LOGGER = getLogger("lorebase.governance")


class DescribingWorkspace(HasRegistry, Protocol):
    """What descriptions ask of the place that they are made in."""

    @property
    def index_store(self) -> IndexStore:
        """Indexes; steps are given them, these ask nothing of them."""
        ...

    def open_parsers(self, rules: Sequence[ParserRuleSpec]) -> ParserRegistry:
        """The parsers by the rules of a recipe."""
        ...


@dataclass(frozen=True, slots=True)
class Described:
    """What is said about a document.

    Attributes:
        row: Its type, tags and fields; None where it could not be read.
        issues: What of it could not be used.
    """

    row: DocumentClass | None = None
    issues: tuple[Issue, ...] = ()

    def fields_over(self, draft: Revision | None) -> DraftFields | None:
        """The fields of a draft: what people gave it stays, what its source says is laid over it.

        Tags add up. A document of which no sign tells the type keeps the one that it was given.

        Args:
            draft: The draft as it is; None for a new one.
        """
        row = self.row
        if row is None:
            return None
        if draft is None:
            return DraftFields(tags=row.tags, source_type=row.source_type, metadata=row.metadata)
        keeps_type = row.method == "fallback" and draft.source_type
        return DraftFields(
            tags=tuple(dict.fromkeys((*draft.tags, *row.tags))),
            source_type=draft.source_type if keeps_type else row.source_type,
            metadata={**draft.metadata, **row.metadata},
        )


class SourceDescriptions:
    """Describes documents by the recipe's own `classify_documents`, by its signs alone: no model is asked.

    Nothing that was parsed for it is kept: reviewers judge the original, and it is parsed again once it is approved.
    """

    def __init__(self, parse: Step, classify: Step, context: StepExecutionContext) -> None:
        self._parse = parse
        self._classify = classify.model_copy(update={"mode": "rules"})
        self._context = context

    async def of(self, document: SourceDocument) -> Described:
        """What the recipe, the document itself and the file beside it say.

        Raises:
            DependencyError: A parsing service did not answer.
            ConfigurationError: The recipe leaves its types to a registry that does not know the base.
        """
        sources = {SOURCE_DOCUMENTS.name: [document]}
        parsed = await run_step(self._parse, sources, self._context)
        if not parsed.rows:
            return Described(issues=parsed.issues)
        found = await run_step(self._classify, {**sources, PARSED_DOCUMENTS.name: parsed.rows}, self._context)
        return Described(found.rows[0] if found.rows else None, (*parsed.issues, *found.issues))


@contextmanager
def opened_descriptions(
    recipe: KnowledgeRecipe, workspace: DescribingWorkspace, reader: SourceReader
) -> Iterator[SourceDescriptions | None]:
    """The descriptions by a recipe; None where it classifies nothing. Blocking.

    Args:
        recipe: A recipe without faults.
        workspace: Where parsers and the registry's source types are.
        reader: Reads its documents.

    Raises:
        ConfigurationError: A parser cannot be opened.
        UnavailableError: The registry's database does not answer.
    """
    steps = [planned.step for planned in expand(with_registered_types(recipe, workspace))[0]]
    parse = next((step for step in steps if step.produces is PARSED_DOCUMENTS), None)
    classify = next((step for step in steps if step.produces is DOCUMENT_CLASSES), None)
    if parse is None or classify is None:
        yield None
        return
    parsers = workspace.open_parsers(recipe.parsers)
    try:
        context = StepExecutionContext(
            base_name=recipe.name,
            run_id="drafting",
            documents=reader,
            max_document_bytes=recipe.max_document_bytes,
            parsers=parsers,
            index_store=workspace.index_store,
            logger=_LOGGER,
        )
        yield SourceDescriptions(parse, classify, context)
    finally:
        parsers.close()
