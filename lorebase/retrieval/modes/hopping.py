"""The search from one question to the next: the chat model sees what was found and says what is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from lorebase.extraction.languages import language_of
from lorebase.extraction.prompts.wording import framed
from lorebase.models.chat import ChatModel, ChatRequest
from lorebase.models.structured import ask_structured
from lorebase.retrieval.model import QueryResult, SearchResult
from lorebase.retrieval.modes.prompts import HOP_PROMPT
from lorebase.retrieval.modes.queries import one_line, query_key
from lorebase.retrieval.modes.searched import Searched, joined
from lorebase.retrieval.provenance import HopsEnded

EVIDENCE_EACH = 5
"""The first results of a search, which the model sees and which count as its evidence."""

SHOWN_CHARS = 600
"""What the model sees of each, from its beginning."""

_HEADS = {
    "en": ("Question: ", "Search {number}: ", "Nothing new was found."),
    "zh": ("问题：", "检索 {number}：", "没有找到新内容。"),
}


class _NextHop(BaseModel):
    model_config = ConfigDict(frozen=True)

    enough: bool
    next_question: str = Field("", description="Empty where it is enough.")


@dataclass(frozen=True, slots=True)
class Hops:
    """All searches of a question.

    Attributes:
        searches: That of the question itself, then one for each hop.
        ended: Why there are no more.
    """

    searches: tuple[Searched, ...]
    ended: HopsEnded


async def hops_of(
    chat: ChatModel, question: str, search: Callable[[str], Awaitable[QueryResult]], most: int, *, session_id: str = ""
) -> Hops:
    """Search for the question, then for what the model says is missing, again and again.

    What the found texts say cannot lead to more than `most` hops: the model is asked at most `most` times (an answer
    that breaks the schema is asked for again, see `ask_structured`), and only its next question is taken.

    Args:
        chat: Who decides.
        question: The question of the user.
        search: Base search, whose results the authority has confirmed.
        most: Most hops.
        session_id: As in `ChatRequest`.

    Raises:
        DependencyError: The model gave no usable answer, or the search failed.
    """
    searches = [Searched(question, await search(question))]
    asked = {query_key(question)}
    evidence = set(searches[0].ranking[:EVIDENCE_EACH])
    for hop in range(1, most + 1):
        request = ChatRequest(
            prompt=_seen(question, searches),
            system=HOP_PROMPT.instructions(language_of(question)),
            session_id=session_id,
        )
        answer, _ = await ask_structured(chat, request, _NextHop)
        following = one_line(answer.next_question)
        if answer.enough or not following:
            return Hops(tuple(searches), "enough")
        if query_key(following) in asked:
            return Hops(tuple(searches), "repeated")
        asked.add(query_key(following))
        searches.append(Searched(following, await search(following), hop=hop))
        found = set(searches[-1].ranking[:EVIDENCE_EACH])
        if found <= evidence:
            return Hops(tuple(searches), "nothing_new")
        evidence |= found
    return Hops(tuple(searches), "most_hops")


def over_all_hops(searches: Sequence[Searched]) -> list[tuple[SearchResult, float]]:
    """What all searches found, ordered by the best rank that any of them gave a chunk.

    The first results of every search so come before the second ones of any: each hop asks for another fact, and a chunk
    that many of them rank low answers none. Equal ranks: found by more searches, then by an earlier one, then by id.

    Returns:
        Each chunk with 1 divided by its best rank, best first.
    """
    found = joined(searches)

    def order(result: SearchResult) -> tuple[int, int, int, str]:
        by = result.provenance
        return min(one.rank for one in by), -len(by), min(one.hop or 0 for one in by), result.chunk_id

    return [(result, 1.0 / order(result)[0]) for result in sorted(found.values(), key=order)]


def _seen(question: str, searches: Sequence[Searched]) -> str:
    """The question with the evidence of each search, each passage once, as data."""
    asked, searched, nothing = _HEADS[language_of(question)]
    lines = [f"{asked}{question}"]
    shown: set[str] = set()
    for number, search in enumerate(searches, start=1):
        lines += ["", searched.format(number=number) + search.query]
        new = [result for result in search.found.results[:EVIDENCE_EACH] if result.chunk_id not in shown]
        lines += [f"- [{result.document.name}] {' '.join(result.text[:SHOWN_CHARS].split())}" for result in new]
        shown |= {result.chunk_id for result in new}
        if not new:
            lines.append(f"- {nothing}")
    return framed("\n".join(lines))
