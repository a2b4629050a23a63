"""Where no checked answer came about: a remark to operators on what the answer would have cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lorebase.answering.over_retrieval import AnsweredQuestion, Takeover
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.governance.feedback import FeedbackQueue
from lorebase.governance.kinds import FeedbackKind
from lorebase.retrieval.model import SearchResult


class Takeovers:
    """Records HUMAN_TAKEOVER feedback. Blocking."""

    def __init__(self, feedback: FeedbackQueue) -> None:
        self._feedback = feedback

    def report(
        self,
        caller: PrincipalContext,
        answers: Sequence[AnsweredQuestion],
        evidence: Mapping[str, Sequence[SearchResult]],
    ) -> tuple[AnsweredQuestion, ...]:
        """The answers, those that a person has to take over with what became of that.

        Each revision in the evidence gets one remark, on its best chunk; one that is open there already is taken. Its
        note holds codes of the program, nothing of what was said.

        Args:
            caller: Who asked.
            answers: What came out.
            evidence: What each question found in governed knowledge, best first.

        Raises:
            UnavailableError: The database does not answer.
        """
        return tuple(
            answered.model_copy(update={"takeover": self._reported(caller, answered, evidence[answered.question])})
            if answered.needs_person
            else answered
            for answered in answers
        )

    def _reported(
        self, caller: PrincipalContext, answered: AnsweredQuestion, evidence: Sequence[SearchResult]
    ) -> Takeover:
        if Capability.FEEDBACK not in caller.capabilities:
            return Takeover(recorded=False, reason="FORBIDDEN")
        if not evidence:
            return Takeover(recorded=False, reason="NOTHING_CITED")
        codes = dict.fromkeys(issue.code for issue in answered.issues)
        note = ", ".join((answered.kind or answered.status, *codes))
        best: dict[str, SearchResult] = {}
        for result in evidence:
            best.setdefault(result.document.revision_id, result)
        remarks = [
            self._feedback.report_once(
                caller, int(revision_id), FeedbackKind.HUMAN_TAKEOVER, chunk_id=int(result.chunk_id), note=note[:1000]
            )
            for revision_id, result in best.items()
        ]
        return Takeover(recorded=True, feedback_ids=tuple(str(remark.id) for remark in remarks))
