"""Task runs that embed texts side by side."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.ledger import Ledger
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import BudgetExceededError
from lorebase.extraction.name_vectors import ENTITY_NAME_VECTORS, NameVector, name_vector_key
from lorebase.recipes.model import Budget
from lorebase.runs.budget import RunBudget
from lorebase.runs.step import Partition
from lorebase.runs.text_embedding import TextEmbedding, TextItem
from tests.fakes.hash_embedder import HashEmbedder


def ledger_in(folder: Path) -> Ledger[NameVector]:
    return Ledger(LocalObjectStore(folder), BaseLayout("demo"), ENTITY_NAME_VECTORS, "step", segment_items=1)


def run_of(
    ledger: Ledger[NameVector], embedder: HashEmbedder, *names: str, budget: RunBudget | None = None
) -> TextEmbedding[NameVector]:
    return TextEmbedding(
        embedder,
        Partition(0, "embed_names", {}, ledger, ledger.writer("-".join(names))),
        budget or RunBudget(),
        asyncio.Semaphore(4),
        items={name_vector_key(name): TextItem(name_vector_key(name), name, 1) for name in names},
        kind=ENTITY_NAME_VECTORS,
        row_of=lambda key, vector: NameVector(key, "d1", vector),
        batches_of=lambda items: [items[start : start + 2] for start in range(0, len(items), 2)],
    )


async def test_task_runs_side_by_side_embed_a_name_once(tmp_path: Path) -> None:
    ledger, embedder = ledger_in(tmp_path), HashEmbedder(latency_seconds=0.01)
    one, other = (
        run_of(ledger, embedder, *names) for names in (("Berlin", "柏林", "Spree"), ("Spree", "Berlin", "Elbe"))
    )

    await asyncio.gather(one.run(), other.run())

    assert sorted(embedder.texts_seen) == ["Berlin", "Elbe", "Spree", "柏林"]
    assert len(one.vectors) == len(other.vectors) == 3


async def test_what_was_answered_before_the_budget_was_passed_is_not_asked_again(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    names = ("Berlin", "柏林", "Spree", "Elbe")
    poor = run_of(ledger_in(tmp_path), embedder, *names, budget=RunBudget(Budget(max_model_calls=1)))

    with pytest.raises(BudgetExceededError):
        await poor.run()
    await run_of(ledger_in(tmp_path), embedder, *names).run()

    assert sorted(embedder.texts_seen) == ["Berlin", "Elbe", "Spree", "柏林"]


async def test_a_plan_counts_a_text_of_two_task_runs_once(tmp_path: Path) -> None:
    ledger, embedder = ledger_in(tmp_path), HashEmbedder()
    one, other = run_of(ledger, embedder, "Berlin", "Spree"), run_of(ledger, embedder, "Spree", "Elbe")

    await one.pretend()
    await other.pretend()

    assert (one.usage.input_tokens, other.usage.input_tokens) == (2, 1)
    assert other.known == {name_vector_key("Spree")}
    assert embedder.texts_seen == []
