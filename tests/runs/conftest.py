"""A process that operations are forked off, and killed in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.dying_operation import DyingOperations


@pytest.fixture(scope="session")
def dying() -> Iterator[DyingOperations]:
    with DyingOperations() as operations:
        yield operations
