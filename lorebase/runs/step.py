"""What a step is, what it is given, and what it gives back."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.errors import ConfigurationError, MissingArtifactError
from lorebase.models.ports import Embedder, ModelUsage
from lorebase.runs.budget import RunBudget
from lorebase.runs.records import Issue, Severity, Subject

if TYPE_CHECKING:
    import logging

    from lorebase.artifacts.ledger import Ledger, LedgerWriter
    from lorebase.documents.model import SourceDocument
    from lorebase.documents.parsing import ParserRegistry
    from lorebase.index.ports import IndexStore, LexicalIndex, VectorIndex

RowT = TypeVar("RowT")


class DocumentReader(Protocol):
    """Reads the bytes of scanned documents."""

    def read_document(self, document: SourceDocument) -> bytes:
        """The document's bytes now; blocking.

        Raises:
            NotFoundError: It is gone.
            UnavailableError: Its source does not answer.
        """
        ...


@dataclass(frozen=True)
class StepExecutionContext:
    """What every step gets. One for a build in one process.

    Attributes:
        base_name: The knowledge base.
        run_id: The run.
        documents: Reads source documents.
        max_document_bytes: Longest document that is parsed.
        parsers: Parsers by file type.
        index_store: Indexes of the workspace.
        logger: For lines that belong to the run.
        embedding_slots: Held from the sending of a batch until its vectors are written down; one more than the model
            takes on at once, so that a killed process loses at most what was under way and one batch that was answered.
        stages_searchable: Whether index steps write entities that searches return at once; only where nothing is live.
        embedder: The recipe's embedding model, None where it names none.
        budget: What the run may spend; a step reserves from it before each call to a model.
    """

    base_name: str
    run_id: str
    documents: DocumentReader
    max_document_bytes: int
    parsers: ParserRegistry
    index_store: IndexStore
    logger: logging.Logger
    embedder: Embedder | None = None
    embedding_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    stages_searchable: bool = False
    budget: RunBudget = field(default_factory=RunBudget)

    def require_embedder(self, step_name: str) -> Embedder:
        """The embedding model.

        Raises:
            ConfigurationError: The recipe has none.
        """
        if self.embedder is None:
            raise ConfigurationError(
                f"{step_name} needs an embedding model.", remedy="Add `models: {embedding: {provider: local}}`."
            )
        return self.embedder


class Partition:
    """The input of one partition: rows of each required artifact, and the ledger of the step."""

    def __init__(
        self,
        index: int,
        step_name: str,
        rows: Mapping[str, Sequence[Any]],
        ledger: Ledger[Any] | None = None,
        writer: LedgerWriter[Any] | None = None,
    ) -> None:
        self.index = index
        self.step_name = step_name
        self._rows = rows
        self._ledger = ledger
        self._writer = writer

    def rows(self, kind: ArtifactKind[RowT]) -> list[RowT]:
        """Rows of an artifact that the step requires, in their order.

        Raises:
            MissingArtifactError: The step has not declared it.
        """
        if kind.name not in self._rows:
            raise MissingArtifactError(f"{self.step_name} reads {kind.name} but does not require it.")
        return list(self._rows[kind.name])

    def finished(self, kind: ArtifactKind[RowT], keys: Iterable[str]) -> dict[str, RowT]:
        """Results of items that are paid for already, by item key. Blocking."""
        if self._ledger is None:
            return {}
        self._require(kind)
        found: dict[str, RowT] = self._ledger.lookup(keys)
        return found

    def record(self, kind: ArtifactKind[RowT], rows: Sequence[RowT]) -> None:
        """Keep results safe before the partition is finished. Blocking."""
        if self._writer is not None:
            self._require(kind)
            self._writer.record(rows)

    def _require(self, kind: ArtifactKind[Any]) -> None:
        if self._ledger is not None and self._ledger.kind is not kind:
            raise MissingArtifactError(f"The ledger of {self.step_name} does not keep {kind.name}.")


@dataclass(frozen=True, slots=True)
class PartitionReport(Generic[RowT]):
    """What a step made of one partition.

    Attributes:
        rows: Rows of the artifact that the step produces, in a deterministic order.
        items: Items the step had to answer for.
        computed_items: Those it worked on.
        ledger_items: Those it took from the ledger.
        failed_items: Those that failed in a way that another try may mend.
        unreadable_items: Those that cannot succeed until their source changes.
        documents: Documents touched.
        usage: What models took.
        usd: What that cost (`context.budget.cost_usd`).
        issues: Problems that did not stop it.
    """

    rows: Sequence[RowT]
    items: int
    computed_items: int
    ledger_items: int = 0
    failed_items: int = 0
    unreadable_items: int = 0
    documents: int = 0
    usage: ModelUsage = field(default=ModelUsage())
    usd: float = 0.0
    issues: tuple[Issue, ...] = ()


class Step(BaseModel, ABC):
    """One action of a recipe. Its fields are its settings.

    Class attributes:
        type_name: Its name in recipes.
        code_version: Raised whenever the same input and settings would give another result than before.
        requires: Artifacts it reads.
        produces: The artifact it leaves.
        search_asset: What a search can use once it has run; empty for most steps.
        models: Roles of the models it calls, such as "embedding".
        item_name: What its items are called in reports.
        segment_items: Finished items after which an unfinished task run writes them down.
        segment_seconds: Seconds after which it does although there are fewer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type_name: ClassVar[str]
    code_version: ClassVar[int] = 1
    requires: ClassVar[tuple[ArtifactKind[Any], ...]]
    produces: ClassVar[ArtifactKind[Any]]
    search_asset: ClassVar[str] = ""
    models: ClassVar[tuple[str, ...]] = ()
    item_name: ClassVar[str] = "chunks"
    segment_items: ClassVar[int] = 256
    segment_seconds: ClassVar[float] = 5.0

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """What beside type, code version and settings decides its result, by name: model profile, parser versions."""
        del context
        return {}

    @abstractmethod
    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[Any]]:
        """Do the work for the partitions of one task run.

        Args:
            partitions: At least one; together about a thousand chunks, so that requests can be filled across them.
            context: Models, stores and parsers.

        Returns:
            One report a partition, in their order.

        Raises:
            LorebaseError: The work cannot be done; nothing is sealed, what was recorded stays paid for.
        """

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[Any]]:
        """Say what `run_partitions` would do, without calling a model; nothing that is recorded is kept.

        By default it is run: for steps that call no model that is cheap, and exact. A step that calls one overrides
        this: items, what the ledger holds of them, and the expected `usage` and `usd` as the run would report them,
        and for what a model would make rows that stand in for it, so that the steps after it can be planned too.

        Args:
            partitions: As for `run_partitions`, with the same ledger.
            context: Models that only count tokens, indexes that answer and let writes fall.

        Returns:
            One report a partition, in their order.
        """
        return await self.run_partitions(partitions, context)

    def index_of(self, context: StepExecutionContext) -> VectorIndex | LexicalIndex | None:
        """The index that the step writes, for those that write one: activation switches its entities."""
        del context
        return None

    def collection_of(self, context: StepExecutionContext) -> str:
        """Which collection that index fills; another collection shares nothing with it."""
        del context
        return ""

    def issue(
        self,
        code: str,
        message: str,
        subject: Subject,
        *,
        severity: Severity = "warning",
        **details: str | float | None,
    ) -> Issue:
        """An issue of this step."""
        return Issue(
            code=code, severity=severity, subject=subject, message=message, step=self.type_name, details=details
        )
