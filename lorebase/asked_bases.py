"""Answers from a base by its name: governed knowledge where the organisation has any there, else the live snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lorebase.answering.over_retrieval import AnsweredQuestion, AskOptions
from lorebase.governance.context import PrincipalContext
from lorebase.governed_knowledge import GovernedKnowledge
from lorebase.knowledge_base import KnowledgeBase
from lorebase.workspace import Workspace


async def answers_from(
    workspace: Workspace,
    caller: PrincipalContext,
    name: str,
    questions: Sequence[str],
    options: AskOptions | None = None,
) -> tuple[AnsweredQuestion, ...]:
    """Answer questions from a base; whatever was built beside governed knowledge stays out of it.

    Args:
        workspace: Where the base is.
        caller: Who asks; a base without governance does not look at it.
        name: The base.
        questions: 1 to 1,000 texts of 1 to 2,000 characters.
        options: How they are answered.

    Returns:
        One answer a question, in the order of the questions.

    Raises:
        NotFoundError: The organisation has nothing there, and nothing was built either.
        LorebaseError: As `GovernedAsking.answer` and `KnowledgeBase.answer`.
    """
    if await asyncio.to_thread(workspace.has_governance):
        async with await GovernedKnowledge.open(workspace) as knowledge:
            if await asyncio.to_thread(knowledge.governance.items.has_any, caller, name):
                await knowledge.retrieval.warm_up(name)
                return await knowledge.asking.answer(caller, name, questions, options=options)
    async with KnowledgeBase.load(name, workspace) as base:
        return await base.answer(questions, options=options)
