"""How messages name what is known and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for a likely typing error, otherwise nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names for a message, or `none`."""
    return ", ".join(names) or "none"
