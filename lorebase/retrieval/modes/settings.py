"""How far the query modes that ask a model may go."""

from __future__ import annotations

from dataclasses import dataclass

from lorebase.errors import UsageError

MAX_CANDIDATES = 50
MAX_VARIANTS = 8
MAX_HOPS = 5


@dataclass(frozen=True, slots=True)
class ModeSettings:
    """Bounds of one query.

    Attributes:
        candidates: Most chunks that a reranker sees, 1 to 50.
        variants: Most rewritings of the question beside itself, 1 to 8.
        hops: Most further questions of a multi-hop search, 1 to 5; the model is asked as often.
        then_rerank: Whether the reranker orders what rewritten or multi-hop searches found, once for the whole query.

    Raises:
        UsageError: A number out of its range.
    """

    candidates: int = MAX_CANDIDATES
    variants: int = 4
    hops: int = 3
    then_rerank: bool = False

    def __post_init__(self) -> None:
        for name, most in (("candidates", MAX_CANDIDATES), ("variants", MAX_VARIANTS), ("hops", MAX_HOPS)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise UsageError(f"{name} is {value}; it must be from 1 to {most}.", allowed=most)
