"""Which query modes a build can serve, as tables over what its steps leave and the models that its recipe names."""

from __future__ import annotations

from collections.abc import Iterable

from lorebase.errors import UnsupportedModeError
from lorebase.runs.records import Capabilities

VECTORS = "vectors"
FULL_TEXT = "full_text"
GRAPH = "graph"
CARDS = "cards"
FAQ = "faq"

ASSETS_OF_MODE: dict[str, frozenset[str]] = {
    "vector_search": frozenset({VECTORS}),
    "full_text_search": frozenset({FULL_TEXT}),
    "hybrid_search": frozenset({VECTORS, FULL_TEXT}),
    "graph_search": frozenset({GRAPH}),
    "card_search": frozenset({CARDS}),
    "faq_search": frozenset({FAQ}),
}
MODEL_OF_MODE: dict[str, str] = {"rerank_search": "rerank", "rewrite_search": "chat", "multihop_search": "chat"}
"""Modes that work over a base mode, with the role of the model that they call."""
BASE_MODES = ("hybrid_search", "vector_search", "full_text_search")
"""What they can work over, best first."""
MODES = (*ASSETS_OF_MODE, *MODEL_OF_MODE)
STEP_OF_ASSET: dict[str, str] = {
    VECTORS: "index_vectors",
    FULL_TEXT: "index_full_text",
    GRAPH: "build_graph",
    CARDS: "index_cards",
    FAQ: "index_faq",
}


def capabilities_of(search_assets: Iterable[str], models: Iterable[str] = ()) -> Capabilities:
    """The query modes that these search assets and models unlock, in the order of the tables.

    Args:
        search_assets: What the steps leave.
        models: Roles that the recipe has a model for.
    """
    assets, roles = frozenset(search_assets), frozenset(models)
    plain = tuple(mode for mode, needed in ASSETS_OF_MODE.items() if needed <= assets)
    by_model = tuple(mode for mode, role in MODEL_OF_MODE.items() if role in roles) if base_mode_of(plain) else ()
    return Capabilities(queries=(*plain, *by_model), search_assets=tuple(sorted(assets)))


def base_mode_of(queries: Iterable[str]) -> str | None:
    """The best of the offered modes that others can work over; None where there is none."""
    offered = frozenset(queries)
    return next((mode for mode in BASE_MODES if mode in offered), None)


def what_unlocks(mode: str, capabilities: Capabilities, models: Iterable[str] = ()) -> str:
    """What a recipe lacks for a mode of `MODES`, such as "the step index_vectors"; empty where it lacks nothing.

    Args:
        mode: A query mode.
        capabilities: What its steps have unlocked.
        models: Roles that it has a model for.
    """
    role = MODEL_OF_MODE.get(mode)
    if role is None:
        missing = sorted(ASSETS_OF_MODE[mode] - set(capabilities.search_assets))
        return f"the step {' and '.join(STEP_OF_ASSET[asset] for asset in missing)}" if missing else ""
    step = f"the step {STEP_OF_ASSET[VECTORS]} or {STEP_OF_ASSET[FULL_TEXT]}"
    lacking = ("" if base_mode_of(capabilities.queries) else step, "" if role in models else f"models.{role}")
    return " and ".join(filter(None, lacking))


def require_mode(capabilities: Capabilities, mode: str, base_name: str, models: Iterable[str] = ()) -> None:
    """Refuse a mode that a snapshot cannot serve, naming those it can and the step or model that would unlock it.

    Raises:
        UnsupportedModeError: The mode is unknown, or the snapshot lacks what it needs.
    """
    if mode in capabilities.queries:
        return
    offered = ", ".join(capabilities.queries) or "none"
    if mode not in MODES:
        known = ", ".join(MODES)
        raise UnsupportedModeError(
            f"There is no query mode {mode!r}; {base_name!r} serves {offered}.", remedy=f"The modes are: {known}."
        )
    lacking = what_unlocks(mode, capabilities, models)
    raise UnsupportedModeError(
        f"{base_name!r} cannot serve {mode}; it serves {offered}.",
        remedy=f"Add {lacking} to its recipe and build again to unlock it." if lacking else "Build it again.",
        mode=mode,
    )
