"""How what was retrieved becomes the source status of an item."""

from __future__ import annotations

from lorebase.answering.flow_model import SourceStatus


def source_status_of(*, answerable: bool, conflicting: bool = False) -> SourceStatus:
    """The status of an item whose evidence was retrieved.

    A dependency that did not answer is no status: its error has to be raised, or an outage would look like a question
    without an answer.

    Args:
        answerable: Whether retrieval found enough evidence.
        conflicting: Whether the application found that what is live contradicts itself.
    """
    if not answerable:
        return "unavailable"
    return "conflict" if conflicting else "ready"
