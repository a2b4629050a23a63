"""What every embedder checks of a text before a model sees it, in the same words."""

from __future__ import annotations

from lorebase.models.ports import EmbeddingFailure


def encodable(text: str) -> str:
    """The text with a question mark for every half surrogate pair, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def empty_input(index: int) -> EmbeddingFailure:
    """The failure of a text without anything to read in it."""
    return EmbeddingFailure(index, "EMPTY_INPUT", "The text is blank.")


def too_long(index: int, tokens: int, limit: int) -> EmbeddingFailure:
    """The failure of a text over the model's limit."""
    return EmbeddingFailure(
        index, "INPUT_TOO_LONG", f"The text has {tokens} tokens and the model takes {limit}. Split it smaller."
    )
