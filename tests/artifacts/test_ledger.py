"""The ledger keeps what is paid for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.kinds import CHUNKS, EMBEDDINGS, EmbeddedChunk
from lorebase.artifacts.ledger import Ledger
from lorebase.artifacts.manifest import write_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import UsageError
from lorebase.fingerprint import fingerprint

LAYOUT = BaseLayout("demo")


def row(text: str) -> EmbeddedChunk:
    return EmbeddedChunk(fingerprint(text), f"chk-{text}", "doc-1", np.array([len(text), 1.0], dtype=np.float32))


def ledger_on(store: LocalObjectStore, **options: float) -> Ledger[EmbeddedChunk]:
    return Ledger(store, LAYOUT, EMBEDDINGS, "step", **options)


def test_results_of_a_killed_process_are_found_by_the_next(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    ledger_on(store, segment_items=2).writer("group").record([row("a"), row("b")])

    found = ledger_on(store).lookup([fingerprint("a"), fingerprint("b"), fingerprint("c")])

    assert {key: one.chunk_id for key, one in found.items()} == {
        fingerprint("a"): "chk-a",
        fingerprint("b"): "chk-b",
    }


def test_a_segment_is_written_by_count_or_by_time(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    now = [0.0]
    writer = ledger_on(store, segment_items=10, segment_seconds=5.0, monotonic=lambda: now[0]).writer("group")

    writer.record([row("a")])
    written_at_once = store.list("knowledge_bases")
    now[0] = 6.0
    writer.record([row("b")])

    assert written_at_once == []
    assert len(store.list("knowledge_bases")) == 1


def test_a_sealed_partition_answers_in_the_place_of_its_segments(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    ledger = ledger_on(store, segment_items=1)
    rows = [row("a"), row("b")]
    ledger.writer("group").record(rows)

    entry = write_partition(store, LAYOUT, EMBEDDINGS, 3, rows)
    ledger.seal(entry, rows)
    ledger.drop_segments("group")
    found = ledger_on(store).lookup([fingerprint("b")])

    assert found[fingerprint("b")].vector.tolist() == [1.0, 1.0]
    assert store.list(f"{LAYOUT.ledger('step')}/open") == []


def test_a_result_whose_object_is_gone_counts_as_unpaid(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    ledger = ledger_on(store)
    entry = write_partition(store, LAYOUT, EMBEDDINGS, 0, [row("a")])
    ledger.seal(entry, [row("a")])
    store.delete([LAYOUT.object(entry.sha256)])

    assert ledger_on(store).lookup([fingerprint("a")]) == {}


def test_another_step_shares_nothing(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    ledger_on(store, segment_items=1).writer("group").record([row("a")])

    other = Ledger(store, LAYOUT, EMBEDDINGS, "another step")

    assert other.lookup([fingerprint("a")]) == {}


def test_an_artifact_whose_rows_have_no_item_key_cannot_have_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="chunks have no item key"):
        Ledger(LocalObjectStore(tmp_path), LAYOUT, CHUNKS, "step")


def test_a_segment_that_a_loss_of_power_has_damaged_counts_as_unpaid(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    ledger = ledger_on(store, segment_items=1)
    ledger.writer("group").record([row("a")])
    ledger.writer("group").record([row("b")])
    damaged, _ = store.list(f"{LAYOUT.ledger('step')}/open")
    store.put(damaged, b"")
    entry = write_partition(store, LAYOUT, EMBEDDINGS, 0, [row("c")])
    store.put(f"{LAYOUT.ledger('step')}/keys/{entry.sha256}", b"\0" * 7)

    found = ledger_on(store).lookup([fingerprint("a"), fingerprint("b"), fingerprint("c")])

    assert len(found) == 1
