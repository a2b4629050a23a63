"""Row ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.errors import ConfigurationError
from lorebase.governance.row_ids import SnowflakeIds
from tests.governance.world import HandClock


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=200))
def test_ids_of_a_generator_rise_whatever_the_clock_does(turns: list[int]) -> None:
    """K-032."""
    clock = HandClock()
    ids = SnowflakeIds(clock, 3)

    made = []
    for seconds in turns:
        clock.turn(seconds)
        made.append(ids.next_id())

    assert made == sorted(set(made))
    assert all(0 < row_id < 1 << 63 for row_id in made)


def test_ids_rise_past_the_number_that_fits_a_millisecond() -> None:
    ids = SnowflakeIds(HandClock(), 1)

    made = [ids.next_id() for _ in range(10_000)]

    assert made == sorted(set(made))


def test_two_workers_never_make_the_same_id() -> None:
    clock = HandClock()
    first, second = SnowflakeIds(clock, 0), SnowflakeIds(clock, 1)

    made = [ids.next_id() for _ in range(5000) for ids in (first, second)]

    assert len(set(made)) == 10_000


def test_a_worker_number_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="0 to 1023"):
        SnowflakeIds(HandClock(), 1024)
