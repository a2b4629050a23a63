"""One task run that embeds texts: which are paid for, which other task runs embed, and which are sent now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.models.ports import Embedder, EmbeddingBatch, EmbeddingFailure, ModelUsage
from lorebase.runs.budget import RunBudget
from lorebase.runs.executor import first_failure
from lorebase.runs.step import Partition

EMBEDDING = "embedding"


class EmbeddedRow(Protocol):
    """A row of an artifact that holds a vector."""

    @property
    def vector(self) -> NDArray[np.float32]:
        """Unit length."""
        ...


RowT = TypeVar("RowT", bound=EmbeddedRow)


@dataclass(frozen=True, slots=True)
class TextItem:
    """A text to embed, with the key of its vector and about how many tokens it has."""

    key: str
    text: str
    tokens: int


@dataclass
class TextEmbedding(Generic[RowT]):
    """What has come together while the texts of a task run are embedded.

    Attributes:
        embedder: The model.
        partition: Any of the run's partitions: they share one ledger.
        budget: What the run may spend.
        slots: Held from the sending of a batch until its vectors are written down.
        items: The distinct texts by key.
        kind: Kind of the rows that the ledger keeps.
        row_of: The row for a key and its vector.
        batches_of: Divides texts into requests.
        known: Keys of the texts that cost nothing here.
        vectors: Vectors by key.
        failures: Why texts have none, by key.
        usage: What the model took.
    """

    embedder: Embedder
    partition: Partition
    budget: RunBudget
    slots: asyncio.Semaphore
    items: dict[str, TextItem]
    kind: ArtifactKind[RowT]
    row_of: Callable[[str, NDArray[np.float32]], RowT]
    batches_of: Callable[[Sequence[TextItem]], Iterable[Sequence[TextItem]]]
    known: set[str] = field(default_factory=set)
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    failures: dict[str, EmbeddingFailure] = field(default_factory=dict)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def run(self) -> None:
        """Embed every text that nobody has embedded.

        Raises:
            DependencyError: The model answers nobody.
            BudgetExceededError: The next request would pass the budget.
        """
        claimed: set[str] = set()
        waiting = list(self.items)
        try:
            while waiting:
                mine, awaited = self.partition.claim(waiting)
                claimed |= mine
                await self._embed_all(await self._unknown(mine))
                await asyncio.gather(*(asyncio.wrap_future(ended) for ended in awaited.values()))
                waiting = list(awaited)  # they are known now, unless who embedded them gave up
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None  # retries look at its class
        finally:
            self.partition.release(claimed)

    async def pretend(self) -> None:
        """Count what would be sent; vectors of zeros stand in for the answers."""
        zeros = np.zeros(self.embedder.profile.dimensions, dtype=np.float32)
        mine, awaited = self.partition.claim(self.items)
        todo = await self._unknown(mine)
        self.usage += sum((_expected(batch) for batch in self.batches_of(todo)), ModelUsage())
        self.known.update(awaited)  # another task run would embed them
        self.vectors.update(dict.fromkeys([*awaited, *(item.key for item in todo)], zeros))

    async def _unknown(self, keys: set[str]) -> list[TextItem]:
        """The texts that the ledger does not hold, in their order; those that it does are taken from it."""
        found = await asyncio.to_thread(self.partition.finished, self.kind, keys)
        self.known |= found.keys()
        self.vectors.update((key, row.vector) for key, row in found.items())
        self.partition.release(found)
        return [item for key, item in self.items.items() if key in keys and key not in found]

    async def _embed_all(self, items: Sequence[TextItem]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for batch in self.batches_of(items):
                tasks.create_task(self._embed(batch))

    async def _embed(self, items: Sequence[TextItem]) -> None:
        """Embed one batch, if the budget allows, and write its vectors down before the budget may stop the build."""
        async with (
            self.slots,
            self.budget.reserve(self.partition.step_name, EMBEDDING, _expected(items)) as reservation,
        ):
            batch = await self.embedder.embed_passages([item.text for item in items])
            reservation.settle(batch.usage)
            await self._keep(items, batch)

    async def _keep(self, items: Sequence[TextItem], batch: EmbeddingBatch) -> None:
        failed = {failure.index: failure for failure in batch.failures}
        rows = []
        for place, item in enumerate(items):
            if place in failed:
                self.failures[item.key] = failed[place]
            else:
                self.vectors[item.key] = batch.vectors[place]
                rows.append(self.row_of(item.key, batch.vectors[place]))
        self.usage += batch.usage
        await asyncio.to_thread(self.partition.record, self.kind, rows)
        self.partition.release(item.key for item in items)


def _expected(items: Sequence[TextItem]) -> ModelUsage:
    """What one batch takes, by the tokens of its texts."""
    return ModelUsage(1, sum(item.tokens for item in items))
