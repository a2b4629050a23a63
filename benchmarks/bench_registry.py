"""What a registry of many knowledge bases costs: listing, showing, one update.

    python -m benchmarks.bench_registry [--bases 5000] [--rounds 7]

Writes a registry file, half of its bases with a custom source type, and prints medians in milliseconds. The claim:
listing 5,000 bases takes less than 500 ms and reads the file once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lorebase.clock import SystemClock
from lorebase.registry.base_changes import BaseChange
from lorebase.registry.file_store import REGISTRY_FILE, FileRegistryStore
from lorebase.registry.service import KnowledgeBases

CONTRACT = {
    "id": "contract",
    "label": "合同",
    "description": "双方签署的合同、协议和补充条款。",
    "signals": ["合同", "协议"],
    "excludes": ["发票"],
}


def write_registry(path: Path, bases: int) -> None:
    """A registry of many bases."""
    entries = [
        {
            "id": f"base-{number:05}",
            "name": f"知识库 {number}",
            "description": "A knowledge base.",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            **({"source_types": [CONTRACT]} if number % 2 else {}),
        }
        for number in range(bases)
    ]
    path.write_text(json.dumps({"format": 1, "bases": entries}, ensure_ascii=False), encoding="utf-8")


def median_ms(act: Callable[[], object], rounds: int) -> float:
    """Median time of a call."""
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        act()
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bases", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / REGISTRY_FILE
        write_registry(path, options.bases)
        bases: KnowledgeBases[None, None] = KnowledgeBases(FileRegistryStore(path), clock=SystemClock())
        assert len(bases.list().data) == options.bases
        print(f"{options.bases} bases, {path.stat().st_size / 1e6:.1f} MB; medians of {options.rounds} rounds")
        print(f"list    {median_ms(bases.list, options.rounds):8.1f} ms")
        print(f"show    {median_ms(lambda: bases.show('base-00001'), options.rounds):8.1f} ms")
        change = BaseChange(description="changed")
        print(f"update  {median_ms(lambda: bases.update('base-00001', change), options.rounds):8.1f} ms")


if __name__ == "__main__":
    main()
