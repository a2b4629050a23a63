"""One task run that embeds names: which are known, which other task runs embed, and which are sent now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lorebase.extraction.name_vectors import ENTITY_NAME_VECTORS, NameVector
from lorebase.models.ports import Embedder, EmbeddingBatch, EmbeddingFailure, ModelUsage
from lorebase.models.token_estimate import estimate_tokens
from lorebase.runs.budget import RunBudget
from lorebase.runs.executor import first_failure
from lorebase.runs.step import Partition

EMBEDDING = "embedding"


@dataclass(frozen=True, slots=True)
class EntityName:
    """A name with the key of its vector, and a document that has it."""

    key: str
    name: str
    document_id: str


@dataclass
class NameEmbedding:
    """What has come together while the names of a task run are embedded.

    Attributes:
        embedder: The model.
        partition: Any of the run's partitions: they share one ledger.
        budget: What the run may spend.
        slots: Held from the sending of a batch until its vectors are written down.
        names: The distinct names by key.
        batch_names: Most names in one request.
        known: Keys of the names that cost nothing here.
        vectors: Vectors by key.
        failures: Why names have none, by key.
        usage: What the model took.
    """

    embedder: Embedder
    partition: Partition
    budget: RunBudget
    slots: asyncio.Semaphore
    names: dict[str, EntityName]
    batch_names: int
    known: set[str] = field(default_factory=set)
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    failures: dict[str, EmbeddingFailure] = field(default_factory=dict)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def run(self) -> None:
        """Embed every name that nobody has embedded.

        Raises:
            DependencyError: The model answers nobody.
            BudgetExceededError: The next request would pass the budget.
        """
        claimed: set[str] = set()
        waiting = list(self.names)
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
        todo = await self._unknown(self.names)
        for batch in self._batches(todo):
            self.usage += _expected(batch)
        self.vectors.update((name.key, zeros) for name in todo)

    async def _unknown(self, keys: Iterable[str]) -> list[EntityName]:
        """The names that the ledger does not hold, in their order; those that it does are taken from it."""
        wanted = set(keys)
        found = await asyncio.to_thread(self.partition.finished, ENTITY_NAME_VECTORS, wanted)
        self.known |= found.keys()
        self.vectors.update((key, row.vector) for key, row in found.items())
        self.partition.release(found)
        return [name for key, name in self.names.items() if key in wanted and key not in found]

    async def _embed_all(self, names: Sequence[EntityName]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for batch in self._batches(names):
                tasks.create_task(self._embed(batch))

    def _batches(self, names: Sequence[EntityName]) -> list[Sequence[EntityName]]:
        return [names[start : start + self.batch_names] for start in range(0, len(names), self.batch_names)]

    async def _embed(self, names: Sequence[EntityName]) -> None:
        """Embed one batch, if the budget allows, and write its vectors down before the budget may stop the build."""
        async with (
            self.slots,
            self.budget.reserve(self.partition.step_name, EMBEDDING, _expected(names)) as reservation,
        ):
            batch = await self.embedder.embed_passages([name.name for name in names])
            reservation.settle(batch.usage)
            await self._keep(names, batch)

    async def _keep(self, names: Sequence[EntityName], batch: EmbeddingBatch) -> None:
        failed = {failure.index: failure for failure in batch.failures}
        rows = []
        for place, name in enumerate(names):
            if place in failed:
                self.failures[name.key] = failed[place]
            else:
                self.vectors[name.key] = batch.vectors[place]
                rows.append(NameVector(name.key, name.document_id, batch.vectors[place]))
        self.usage += batch.usage
        await asyncio.to_thread(self.partition.record, ENTITY_NAME_VECTORS, rows)
        self.partition.release(name.key for name in names)


def _expected(names: Sequence[EntityName]) -> ModelUsage:
    return ModelUsage(1, sum(estimate_tokens(name.name) for name in names))
