"""One task run of proposing cards: which are known, which are written now, and which could not be written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lorebase.cards.items import CardItem
from lorebase.cards.kinds import WIKI_CARDS, ProposedCard
from lorebase.cards.model import Card
from lorebase.cards.model_writer import CardModelWriter
from lorebase.cards.rules import write_by_rules
from lorebase.errors import DependencyError, LorebaseError
from lorebase.fingerprint import fingerprint
from lorebase.models.chat import concerns_one_request
from lorebase.models.ports import ModelUsage
from lorebase.runs.executor import first_failure
from lorebase.runs.step import Partition


@dataclass
class ProposalRun:
    """What comes together while cards are proposed.

    Attributes:
        partition: The input, with the step's ledger.
        items: The cards, in order.
        todo: Those that the ledger does not hold.
        cards: Cards by key of their item.
        failures: Why items have no card, by key.
        usage: What the model took.
        from_ledger: Cards that were proposed before.
        stopped_by: Why nothing more is asked.
    """

    partition: Partition
    items: Sequence[CardItem]
    todo: Sequence[CardItem] = ()
    cards: dict[str, Card] = field(default_factory=dict)
    failures: dict[str, DependencyError] = field(default_factory=dict)
    usage: ModelUsage = field(default_factory=ModelUsage)
    from_ledger: int = 0
    stopped_by: LorebaseError | None = None

    @classmethod
    async def begin(cls, partition: Partition, items: Sequence[CardItem]) -> ProposalRun:
        """Look up which proposals rest on the same evidence as before."""
        found = await asyncio.to_thread(partition.finished, WIKI_CARDS, [item.key for item in items])
        run = cls(partition, items, [item for item in items if item.key not in found])
        run.cards = {item.key: item.adopted(found[item.key].card) for item in items if item.key in found}
        run.from_ledger = len(run.cards)
        return run

    async def write_by_rules(self) -> None:
        """Write every card that is new from sentences of its evidence."""
        await asyncio.to_thread(self._write_all)
        rows = [ProposedCard(item.key, self.cards[item.key]) for item in self.todo]
        await asyncio.to_thread(self.partition.record, WIKI_CARDS, rows)

    def _write_all(self) -> None:
        for item in self.todo:
            sections, fields = write_by_rules(item.subject.names, item.card_type, item.chunks)
            self.cards[item.key] = item.card("rules", sections, fields)

    async def write_by_model(self, writer: CardModelWriter) -> None:
        """Ask the model for every card that is new, a few at once; each answer is written down at once.

        Raises:
            DependencyError: The model answers nobody; what concerns one card only is among `failures`.
            BudgetExceededError: The next question would pass the budget.
        """
        waiting = iter(self.todo)
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(writer.concurrency + 1, len(self.todo))):
                    workers.create_task(self._work(waiting, writer))
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from None  # retries look at its class
        if self.stopped_by is not None:
            raise self.stopped_by

    async def _work(self, waiting: Iterator[CardItem], writer: CardModelWriter) -> None:
        for item in waiting:
            if self.stopped_by is not None:
                return
            try:
                card, usage = await writer.write(item)
            except LorebaseError as error:
                if not (isinstance(error, DependencyError) and concerns_one_request(error)):
                    self._stop(error)
                    return
                self.failures[item.key] = error
                self.usage += _usage_told(error)
                continue
            self.cards[item.key] = card
            self.usage += usage
            await asyncio.to_thread(self.partition.record, WIKI_CARDS, [ProposedCard(item.key, card)])

    def _stop(self, error: LorebaseError) -> None:
        self.stopped_by = self.stopped_by or error

    def pretend(self, writer: CardModelWriter | None) -> None:
        """Count what the model would be asked, and let empty cards stand for its answers."""
        for item in self.todo:
            self.cards[item.key] = item.card("none")
            if writer is not None:
                self.usage += writer.expected(item)

    def rows(self) -> list[ProposedCard]:
        """A row for every card, by card; one that could not be written says that there is evidence for it."""
        rows = [
            ProposedCard(item.key, self.cards[item.key])
            if item.key in self.cards
            else ProposedCard(_key_of_unwritten(item), item.card("none"))
            for item in self.items
        ]
        return sorted(rows, key=lambda row: row.card.card_id)


def _key_of_unwritten(item: CardItem) -> str:
    """Another key than the item's, so that no ledger takes a row without a card for a finished one."""
    return fingerprint("card-not-written", item.key)


def _usage_told(error: DependencyError) -> ModelUsage:
    told = (error.facts.get(name, 0) for name in ("calls", "input_tokens", "output_tokens"))
    return ModelUsage(*(amount if isinstance(amount, int) else 0 for amount in told))
