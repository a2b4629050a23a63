"""What a step is, what it is given, and what it gives back."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.errors import ConfigurationError, MissingArtifactError
from lorebase.models.call_ledger import CallLedger, LedgeredChat
from lorebase.models.chat import CHAT_ROLE, ChatModel, expected_usage
from lorebase.models.ports import Embedder, ModelUsage
from lorebase.runs.budget import RunBudget
from lorebase.runs.records import Issue, Severity, Subject

if TYPE_CHECKING:
    import logging

    from lorebase.artifacts.ledger import Ledger, LedgerWriter
    from lorebase.documents.model import SourceDocument
    from lorebase.documents.parsing import ParserRegistry
    from lorebase.index.ports import EntityIndex, IndexStore
    from lorebase.runs.card_decisions import CardDecision

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
        relabels: Whether index steps bring type and tags of entities in line that searches return; only at the switch.
        embedder: The recipe's embedding model, None where it names none.
        budget: What the run may spend; a step reserves from it before each call to a model.
        chat: The recipe's chat model, None where it names none. Steps call what `require_chat` gives them instead.
        chat_calls: Replies of the chat model that are paid for.
        kept_apart: Pairs of names, by key, that somebody has said are not the same entity.
        card_decisions: What people have decided about wiki cards.
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
    relabels: bool = False
    budget: RunBudget = field(default_factory=RunBudget)
    chat: ChatModel | None = None
    chat_calls: CallLedger = field(default_factory=CallLedger)
    kept_apart: tuple[tuple[str, str], ...] = ()
    card_decisions: tuple[CardDecision, ...] = ()

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

    def require_chat(self, step_name: str) -> LedgeredChat:
        """The chat model for a step: equal requests are paid for once, and what is paid for the budget allows.

        Args:
            step_name: Who pays; `Partition.step_name`.

        Raises:
            ConfigurationError: The recipe has none.
        """
        model = self.chat
        if model is None:
            raise ConfigurationError(
                f"{step_name} needs a chat model.", remedy="Add `models: {chat: {provider: ..., model: ...}}`."
            )
        return LedgeredChat(
            model,
            self.chat_calls,
            lambda request: self.budget.reserve(step_name, CHAT_ROLE, expected_usage(model.profile, request)),
        )


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
        """Rows of an artifact that the step reads, in their order; none where no step makes what it reads if present.

        Raises:
            MissingArtifactError: The step has not declared it.
        """
        if kind.name not in self._rows:
            raise MissingArtifactError(f"{self.step_name} reads {kind.name} but does not declare it.")
        return list(self._rows[kind.name])

    def finished(self, kind: ArtifactKind[RowT], keys: Iterable[str]) -> dict[str, RowT]:
        """Results of items that are paid for already, by item key. Blocking."""
        if self._ledger is None:
            return {}
        self._require(kind)
        found: dict[str, RowT] = self._ledger.lookup(keys)
        return found

    def claim(self, keys: Iterable[str]) -> tuple[set[str], dict[str, Future[None]]]:
        """Claim items that no other task run works on, as `Claims.take`; ask what is `finished` after it."""
        if self._ledger is None:
            return set(keys), {}
        return self._ledger.claims.take(keys)

    def release(self, keys: Iterable[str]) -> None:
        """Let go of claimed items."""
        if self._ledger is not None:
            self._ledger.claims.release(keys)

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
        reads_if_present: Artifacts it reads as well where a step before it in the recipe makes them.
        produces: The artifact it leaves.
        search_asset: What a search can use once it has run; empty for most steps.
        models: Roles of the models it needs, such as "embedding".
        optional_models: Roles of models that it calls where the recipe has them.
        item_name: What its items are called in reports.
        spans_partitions: Whether its work cannot be divided: it then gets a single partition with the rows of every
            partition of what it requires, and does that again when any of them has changed. Its rows must fit memory.
        segment_items: Finished items after which an unfinished task run writes them down.
        segment_seconds: Seconds after which it does although there are fewer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type_name: ClassVar[str]
    code_version: ClassVar[int] = 1
    requires: ClassVar[tuple[ArtifactKind[Any], ...]]
    reads_if_present: ClassVar[tuple[ArtifactKind[Any], ...]] = ()
    produces: ClassVar[ArtifactKind[Any]]
    search_asset: ClassVar[str] = ""
    models: ClassVar[tuple[str, ...]] = ()
    optional_models: ClassVar[tuple[str, ...]] = ()
    item_name: ClassVar[str] = "chunks"
    spans_partitions: ClassVar[bool] = False
    segment_items: ClassVar[int] = 256
    segment_seconds: ClassVar[float] = 5.0

    @classmethod
    def reads(cls) -> tuple[ArtifactKind[Any], ...]:
        """Everything it may read, what it requires first."""
        return (*cls.requires, *cls.reads_if_present)

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """What beside type, code version and settings decides its result, by name: model profile, parser versions."""
        del context
        return {}

    def called_models(self) -> tuple[str, ...]:
        """Roles of the models that it calls with its settings, where the recipe has them; not those it only knows."""
        return (*self.models, *self.optional_models)

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

    def notices(self, context: StepExecutionContext) -> tuple[Issue, ...]:
        """What a report must say about the step as a whole, once a run, whatever its partitions report."""
        del context
        return ()

    def index_of(self, context: StepExecutionContext) -> EntityIndex | None:
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
