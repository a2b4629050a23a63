"""Searching from the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lorebase.errors import NotFoundError, UsageError
from lorebase.knowledge_base import KnowledgeBase

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
    name: str, questions: Sequence[str], mode: str, top_k: int, workspace: Workspace
) -> list[QueryResult]:
    """The results of each question, in order."""
    async with KnowledgeBase.load(name, workspace) as base:
        return [await base.query(question, mode=mode, top_k=top_k) for question in questions]
