"""Searching from the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lorebase.errors import NotFoundError, UsageError
from lorebase.index.ports import AnyOf, Filter, HasAllTags
from lorebase.knowledge_base import KnowledgeBase
from lorebase.retrieval.modes.settings import ModeSettings
from lorebase.runs.capabilities import MODEL_OF_MODE

if TYPE_CHECKING:
    from lorebase.retrieval.model import QueryResult
    from lorebase.workspace import Workspace


def questions_of(query: str, file: Path | None) -> list[str]:
    """The query, or the questions of a file: a JSON list of texts or of objects with `question`.

    Raises:
        UsageError: Neither or both are given, or the file is of another form.
    """
    if bool(query) == (file is not None):
        raise UsageError("Give either a query or --questions FILE.")
    if file is None:
        return [query]
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {file}.") from error
    except ValueError as error:
        raise UsageError(f"{file} is no JSON: {error}.") from error
    questions = [entry if isinstance(entry, str) else entry.get("question", "") for entry in entries]
    if not questions or not all(questions):
        raise UsageError(f"{file} must be a list of questions, or of objects with `question`.")
    return questions


async def search_base(
    name: str,
    questions: Sequence[str],
    mode: str,
    top_k: int,
    workspace: Workspace,
    *,
    then_rerank: bool = False,
    where: Filter = (),
) -> list[QueryResult]:
    """The results of each question, in order.

    Raises:
        UsageError: `then_rerank` for a mode that has nothing to rerank; `where` names a type that there is not.
    """
    if then_rerank and mode not in MODEL_OF_MODE:
        raise UsageError(f"--rerank goes with rewrite_search and multihop_search, not with {mode}.")
    settings = ModeSettings(then_rerank=then_rerank)
    async with KnowledgeBase.load(name, workspace) as base:
        return [
            await base.query(question, mode=mode, top_k=top_k, where=where, settings=settings) for question in questions
        ]


def document_filter(source_types: Sequence[str], tags: Sequence[str]) -> Filter:
    """Documents of any of these types that have all of these tags; nothing given filters nothing."""
    of_types = (AnyOf("source_type", tuple(source_types)),) if source_types else ()
    return (*of_types, HasAllTags(tuple(tags))) if tags else of_types
