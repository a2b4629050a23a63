"""A process that operations are forked off, and killed in; a base whose builds are planned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.dying_operation import DyingOperations
from tests.runs.plan_bench import Bench


@pytest.fixture(scope="session")
def dying() -> Iterator[DyingOperations]:
    with DyingOperations() as operations:
        yield operations


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
