"""Which modes assets and models unlock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest

from lorebase.errors import UnsupportedModeError
from lorebase.recipes.loading import parse_recipe
from lorebase.recipes.validation import check
from lorebase.runs.capabilities import (
    ASSETS_OF_MODE,
    FULL_TEXT,
    GRAPH,
    MODEL_OF_MODE,
    MODES,
    VECTORS,
    capabilities_of,
    require_mode,
    what_unlocks,
)


@pytest.mark.parametrize(
    ("assets", "models", "queries"),
    [
        ([VECTORS], ["embedding"], ("vector_search",)),
        ([VECTORS], ["rerank"], ("vector_search", "rerank_search")),
        ([FULL_TEXT], ["chat"], ("full_text_search", "rewrite_search", "multihop_search")),
        ([GRAPH], ["chat", "rerank"], ("graph_search",)),
        ([], ["chat", "rerank"], ()),
    ],
)
def test_modes_over_others_need_a_base_mode_and_their_model(
    assets: Sequence[str], models: Sequence[str], queries: tuple[str, ...]
) -> None:
    assert capabilities_of(assets, models).queries == queries


def test_for_every_mode_what_is_offered_lacks_nothing_and_what_is_not_names_what_it_lacks() -> None:
    every_assets = [set(some) for size in range(4) for some in combinations((VECTORS, FULL_TEXT, GRAPH), size)]
    every_models = [set(some) for size in range(3) for some in combinations(("chat", "rerank"), size)]

    for assets in every_assets:
        for models in every_models:
            offered = capabilities_of(assets, models)
            for mode in MODES:
                assert (mode in offered.queries) == (what_unlocks(mode, offered, models) == "")


@pytest.mark.parametrize(
    ("assets", "models", "mode", "remedy"),
    [
        ([VECTORS], [], "rerank_search", r"Add models\.rerank to its recipe"),
        ([], ["rerank"], "rerank_search", "Add the step index_vectors or index_full_text to its recipe"),
        ([], [], "multihop_search", r"Add the step index_vectors or index_full_text and models\.chat to its recipe"),
        ([VECTORS], [], "hybrid_search", "Add the step index_full_text to its recipe"),
    ],
)
def test_a_mode_that_is_refused_is_told_with_what_would_unlock_it(
    assets: Sequence[str], models: Sequence[str], mode: str, remedy: str
) -> None:
    with pytest.raises(UnsupportedModeError, match=remedy):
        require_mode(capabilities_of(assets, models), mode, "demo", models)


def test_a_recipe_that_demands_a_mode_has_to_name_its_model() -> None:
    text = (
        "name: demo\nsources: [{folder: docs}]\nprocedures: [{use: full_text_index}]\ncapabilities: [rerank_search]\n"
    )

    _, faults = check(parse_recipe(text))

    assert [fault.message for fault in faults] == ["No step unlocks 'rerank_search'. Add models.rerank."]


def test_no_mode_is_in_both_tables() -> None:
    assert not set(ASSETS_OF_MODE) & set(MODEL_OF_MODE)
