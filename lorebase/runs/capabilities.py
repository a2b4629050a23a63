"""Which query modes a build can serve, as a table over the search assets that its steps leave."""

from __future__ import annotations

from collections.abc import Iterable

from lorebase.errors import UnsupportedModeError
from lorebase.runs.records import Capabilities

VECTORS = "vectors"
FULL_TEXT = "full_text"

ASSETS_OF_MODE: dict[str, frozenset[str]] = {
    "vector_search": frozenset({VECTORS}),
    "full_text_search": frozenset({FULL_TEXT}),
    "hybrid_search": frozenset({VECTORS, FULL_TEXT}),
}
STEP_OF_ASSET: dict[str, str] = {VECTORS: "index_vectors", FULL_TEXT: "index_full_text"}


def capabilities_of(search_assets: Iterable[str]) -> Capabilities:
    """The query modes that these search assets unlock, both in the order of the tables."""
    assets = frozenset(search_assets)
    return Capabilities(
        queries=tuple(mode for mode, needed in ASSETS_OF_MODE.items() if needed <= assets),
        search_assets=tuple(sorted(assets)),
    )


def require_mode(capabilities: Capabilities, mode: str, base_name: str) -> None:
    """Refuse a mode that a snapshot cannot serve, naming those it can and the step that would unlock it.

    Raises:
        UnsupportedModeError: The mode is unknown, or the snapshot lacks what it needs.
    """
    if mode in capabilities.queries:
        return
    offered = ", ".join(capabilities.queries) or "none"
    if mode not in ASSETS_OF_MODE:
        known = ", ".join(ASSETS_OF_MODE)
        raise UnsupportedModeError(
            f"There is no query mode {mode!r}; {base_name!r} serves {offered}.", remedy=f"The modes are: {known}."
        )
    missing = sorted(ASSETS_OF_MODE[mode] - set(capabilities.search_assets))
    steps = " and ".join(STEP_OF_ASSET[asset] for asset in missing)
    raise UnsupportedModeError(
        f"{base_name!r} cannot serve {mode}; it serves {offered}.",
        remedy=f"Add the step {steps} to its recipe and build again to unlock it.",
        mode=mode,
    )
