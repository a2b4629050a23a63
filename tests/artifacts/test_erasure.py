"""Objects without the rows of one document."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.artifacts.erasure import find_holdings, rewrite_manifests, write_replacements
from lorebase.artifacts.kinds import FULL_TEXT_INDEX, IndexedChunk
from lorebase.artifacts.manifest import Manifest, read_manifest, read_partition, write_manifest, write_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import ConfigurationError

LAYOUT = BaseLayout("demo")
KEPT = IndexedChunk("chk-1", "doc-kept", "r")
GONE = IndexedChunk("chk-2", "doc-gone", "r")


def test_what_stays_of_an_object_has_the_bytes_that_a_build_without_the_document_writes(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    mixed = write_partition(store, LAYOUT, FULL_TEXT_INDEX, 3, [KEPT, GONE])
    alone = write_partition(store, LAYOUT, FULL_TEXT_INDEX, 4, [GONE])
    manifest = Manifest(
        artifact=FULL_TEXT_INDEX.name, step_fingerprint="s", partition_count=8, partitions=(mixed, alone)
    )
    reference = write_manifest(store, LAYOUT, manifest)

    holdings = find_holdings(store, store.list(LAYOUT.objects), [FULL_TEXT_INDEX], "doc-gone")
    replaced = write_replacements(store, LAYOUT, holdings)
    new = rewrite_manifests(store, LAYOUT, replaced)[reference.manifest_key]

    rewritten = read_manifest(store, new)
    assert [(entry.index, entry.rows) for entry in rewritten.partitions] == [(3, 1)]
    assert read_partition(store, LAYOUT, FULL_TEXT_INDEX, rewritten.partitions[0]) == [KEPT]
    assert rewritten.partitions[0].sha256 == write_partition(store, LAYOUT, FULL_TEXT_INDEX, 3, [KEPT]).sha256


def test_rows_of_the_document_that_no_installed_step_reads_stop_it_before_anything_changes(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    pq.write_table(pa.table({"document_id": ["doc-gone"], "colour": ["red"]}), tmp_path / "strange.parquet")

    with pytest.raises(ConfigurationError, match="no installed step says how they are read"):
        find_holdings(store, ["strange.parquet"], [FULL_TEXT_INDEX], "doc-gone")
