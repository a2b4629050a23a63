"""A reader that asks a base again and again, and tells which edition each answer is of."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event

from lorebase import KnowledgeBase, Workspace
from lorebase.errors import UnavailableError
from tests.chaos.corpus import BASE_NAME, QUERIES
from tests.chaos.scene import MODES, Edition


async def edition_shown(workspace: Path, editions: dict[str, Edition]) -> str:
    """Ask every query in every mode; each answer must be of one edition.

    Returns:
        The edition.
    """
    async with KnowledgeBase.load(BASE_NAME, Workspace.load(workspace)) as base:
        answers = [await edition_of_answer(base, query, mode, editions) for mode in MODES for query in QUERIES]
    told = set().union(*answers)
    possible = set.intersection(*answers)
    assert possible, f"one state of the base gave answers of several editions: {told}"
    return min(possible)


async def edition_of_answer(base: KnowledgeBase, query: str, mode: str, editions: dict[str, Edition]) -> set[str]:
    """The editions that hold every chunk of the answer to one query."""
    found = {one.chunk_id for one in (await base.query(query, mode=mode, top_k=20)).results}
    assert found, f"an empty answer to {query!r} in {mode}"
    possible = {name for name, edition in editions.items() if found <= edition.base.chunk_ids}
    assert possible, f"an answer mixes editions: {query!r} in {mode}"
    return possible


async def watch(workspace: Path, editions: dict[str, Edition], stop: Event) -> list[str]:
    """Ask again and again from a process of its own, as `lorebase search` does; the editions seen, in order.

    The embedded index is held by one process at a time: while a build holds it, a question waits, and is refused with
    a message that says so after the wait that the adapter allows. That is no answer and no failure.
    """
    seen: list[str] = []
    while not stop.is_set():
        try:
            seen.append(await edition_shown(workspace, editions))
        except UnavailableError as error:
            if "is held by another process" not in error.message:
                raise
        await asyncio.sleep(0.01)
    return seen
