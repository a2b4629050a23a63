"""An answer together with what it has to be checked against: the question, and the numbered evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lorebase.answering.ready_checks.claims import Claim, claims_of
from lorebase.errors import UsageError

_EXCERPT_CHARS = 80
_SENTENCE_ENDS = tuple(".!?。！？；…")
_CLOSING = "\"'”’»」』）)】]*_ "


@dataclass(frozen=True, slots=True)
class Passage:
    """One piece of evidence.

    Attributes:
        id: Its identity: a knowledge snapshot's id, a chunk's id.
        text: What it says.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundedAnswer:
    """An answer and its evidence.

    Attributes:
        question: What was asked.
        text: The answer. `[1]` cites the first passage; bubbles are parted by a blank line.
        passages: The evidence that the answer was made from, numbered from 1.
        written_by: `program` for a fixed text of the application, such as one that hands over to a person: it needs no
            evidence. Never set from what a model says.
    """

    question: str
    text: str
    passages: tuple[Passage, ...] = ()
    written_by: Literal["model", "program"] = "model"

    def claims(self) -> tuple[Claim, ...]:
        """The sentences of the answer."""
        return claims_of(self.text)

    def passage(self, number: int) -> Passage | None:
        """The passage of that number, counted from 1."""
        return self.passages[number - 1] if 1 <= number <= len(self.passages) else None


def quote_passage(question: str, passages: Sequence[Passage], *, number: int = 1) -> GroundedAnswer:
    """An answer that says what one passage says, every sentence with its citation: a fallback made of real evidence.

    Citations that the passage itself holds are left out, because they count in another list. Prose stays prose;
    a passage with lines that no full stop ends becomes a list.

    Args:
        question: What was asked.
        passages: The evidence.
        number: Which passage, from 1.

    Raises:
        UsageError: There is no passage of that number, or it says nothing.
    """
    quoted = passages[number - 1] if 1 <= number <= len(passages) else None
    sentences = [claim.text for claim in claims_of(quoted.text)] if quoted else []
    if not sentences:
        raise UsageError(
            f"Passage {number} of {len(passages)} has nothing to quote.", remedy="Hand over to a person instead."
        )
    is_prose = all(sentence.rstrip(_CLOSING)[-1:] in _SENTENCE_ENDS for sentence in sentences)
    first, between = ("", " ") if is_prose else ("- ", "\n- ")
    text = first + between.join(f"{sentence} [{number}]" for sentence in sentences)
    return GroundedAnswer(question=question, text=text, passages=tuple(passages))


def excerpt(text: str) -> str:
    """The beginning of a text, for a message."""
    return text if len(text) <= _EXCERPT_CHARS else f"{text[: _EXCERPT_CHARS - 1]}…"
