"""Other wordings of a question, written by the chat model in one request."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from lorebase.extraction.languages import Language, language_of
from lorebase.extraction.prompts.wording import framed
from lorebase.models.chat import ChatModel, ChatRequest
from lorebase.models.structured import ask_structured
from lorebase.retrieval.modes.prompts import LANGUAGE_NAMES, REWRITE_PROMPT
from lorebase.retrieval.modes.queries import new_queries


class _Rewritten(BaseModel):
    model_config = ConfigDict(frozen=True)

    queries: list[str]


async def rewritten(
    chat: ChatModel, question: str, languages: Iterable[Language], most: int, *, session_id: str = ""
) -> list[str]:
    """Other wordings of the question, without itself and without repetitions.

    Args:
        chat: Who writes; asked once, and again only for an answer that breaks the schema.
        question: The question of the user.
        languages: Those of the base; the wordings are in the question's language and these.
        most: Most wordings.
        session_id: As in `ChatRequest`.

    Returns:
        None to `most` wordings, in the model's order. No wording is a good answer: the question itself stays.

    Raises:
        DependencyError: The model gave no usable answer.
    """
    own = language_of(question)
    wanted = [own, *(language for language in sorted(set(languages)) if language != own)]
    names = LANGUAGE_NAMES[own]
    system = REWRITE_PROMPT.instructions(own, most=most, languages=", ".join(names[language] for language in wanted))
    request = ChatRequest(prompt=framed(question), system=system, session_id=session_id)
    answer, _ = await ask_structured(chat, request, _Rewritten)
    return new_queries(question, answer.queries, most)
