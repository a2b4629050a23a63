"""Questions to governed knowledge: governed retrieval finds the evidence that answers over retrieval are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, get_args

from lorebase.answering.governed.takeovers import Takeovers
from lorebase.answering.over_retrieval import AnsweredQuestion, Answerer, AskOptions, AskPorts, Found
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import UnsupportedModeError
from lorebase.governance.bases import GovernedBase, GovernedBases
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.revisions import Revisions
from lorebase.models.call_ledger import CallLedger, LedgeredChat, ReplyObjects
from lorebase.models.seam import session_id_of
from lorebase.operation.context import OperationContext
from lorebase.retrieval.governed.evidence import Evidence
from lorebase.retrieval.governed.request import DEFAULT_TOP_K, MAX_TOP_K, GovernedMode, RetrievalRequest
from lorebase.retrieval.governed.retrieving import GovernedRetrieval
from lorebase.retrieval.model import QueryResult, ResultDocument, SearchResult

_MODES: Final[dict[str, GovernedMode]] = {mode: mode for mode in get_args(GovernedMode)}


class GovernedAsking:
    """Answers questions for callers of organisations.

    Args:
        bases: Opens the base that is asked.
        retrieval: Finds the evidence.
        revisions: Knows the numbers of revisions.
        takeovers: Tells operators where a person has to answer.
        objects: Keeps the chat model's replies, those of each organisation apart.
    """

    def __init__(
        self,
        bases: GovernedBases,
        retrieval: GovernedRetrieval,
        revisions: Revisions,
        takeovers: Takeovers,
        objects: ReplyObjects,
    ) -> None:
        self._bases = bases
        self._retrieval = retrieval
        self._revisions = revisions
        self._takeovers = takeovers
        self._objects = objects

    async def ask(
        self,
        caller: PrincipalContext,
        base_id: str,
        question: str,
        *,
        options: AskOptions | None = None,
        context: OperationContext[Any] | None = None,
    ) -> AnsweredQuestion:
        """Answer one question; as `answer`."""
        (answered,) = await self.answer(caller, base_id, [question], options=options, context=context)
        return answered

    async def answer(
        self,
        caller: PrincipalContext,
        base_id: str,
        questions: Sequence[str],
        *,
        options: AskOptions | None = None,
        context: OperationContext[Any] | None = None,
    ) -> tuple[AnsweredQuestion, ...]:
        """Answer questions from what is live of the caller's organisation in a base.

        Every source names its governed revision by id and number. Where an answer is blocked or handed over, operators
        find a HUMAN_TAKEOVER on what it would have cited; neither question nor answer is kept.

        Args:
            caller: Who asks.
            base_id: The knowledge base.
            questions: 1 to 1,000 texts of 1 to 2,000 characters.
            options: How they are answered; modes are those of governed retrieval.
            context: Its signal stops the run, its diagnostics hear how it went.

        Returns:
            One answer a question, in the order of the questions.

        Raises:
            ForbiddenError: The caller may not read.
            UsageError: A question is out of range, or the options need a chat model that the recipe does not name.
            UnsupportedModeError: Governed knowledge has no such mode, or the base no index for it.
            DependencyError: A store or a model did not answer, or not in time; never "no evidence" instead.
        """
        caller.require(Capability.READ)
        used = options or AskOptions()
        mode = _governed_mode(used.mode)
        found: dict[str, tuple[SearchResult, ...]] = {}

        async def search(question: str) -> Found:
            top_k = min(MAX_TOP_K, max(DEFAULT_TOP_K, used.max_passages))
            request = RetrievalRequest(base_id=base_id, query=question, top_k=top_k, mode=mode)
            retrieved = await self._retrieval.retrieve(caller, request)
            results = await self._results(caller, base_id, retrieved.evidence)
            found[question] = results[: used.max_passages]
            result = QueryResult(mode=retrieved.mode, query=question, results=results)
            return Found(result, verdict=retrieved.verdict)

        base = await self._bases.open(base_id)
        session_id = session_id_of(f"{caller.organ_id}/{base_id}")
        ports = AskPorts(search=search, chat=self._chat(base, caller), session_id=session_id)
        answers = await Answerer(ports, used).answer(questions, context)
        return await asyncio.to_thread(self._takeovers.report, caller, answers, found)

    async def _results(
        self, caller: PrincipalContext, base_id: str, evidence: Sequence[Evidence]
    ) -> tuple[SearchResult, ...]:
        """The evidence as results, each with the number of its revision."""
        ids = {int(one.revision_id) for one in evidence}
        numbers = await asyncio.to_thread(self._revisions.numbers, caller, ids)
        return tuple(_result_of(one, base_id, numbers.get(int(one.revision_id))) for one in evidence)

    def _chat(self, base: GovernedBase, caller: PrincipalContext) -> LedgeredChat | None:
        """The recipe's chat model over the replies of the caller's organisation; None where it names none."""
        model = base.context.chat
        if model is None:
            return None
        folder = f"{BaseLayout(base.index_name).calls}/organisation-{caller.organ_id}"
        return LedgeredChat(model, CallLedger(self._objects, folder))


def _governed_mode(mode: str | None) -> GovernedMode | None:
    if mode is not None and mode not in _MODES:
        raise UnsupportedModeError(
            f"Governed knowledge does not answer by {mode}.", remedy=f"Use one of {', '.join(_MODES)}, or none."
        )
    return _MODES[mode] if mode is not None else None


def _result_of(evidence: Evidence, base_id: str, revision_number: int | None) -> SearchResult:
    return SearchResult(
        rank=evidence.rank,
        score=evidence.score,
        scores=evidence.scores,
        chunk_id=evidence.chunk_id,
        text=evidence.text,
        document=ResultDocument(
            id=evidence.item_id,
            name=evidence.document_name,
            source=base_id,
            revision_id=evidence.revision_id,
            revision_number=revision_number,
        ),
        citation=evidence.citation,
    )
