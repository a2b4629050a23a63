"""Which results answer a question: by chunk, by text contained, or by document."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from lorebase.evaluation.model import Expected
from lorebase.retrieval.model import SearchResult

_BLANK = regex.compile(r"\s+")
_BLANK_BY_CJK = regex.compile(r"(?<=[\p{Han}\p{Kana}\p{Hangul}\p{P}]) | (?=[\p{Han}\p{Kana}\p{Hangul}\p{P}])")
_ANSWER = "answer"


def normal_text(text: str) -> str:
    """The form in which texts are compared: NFKC, folded case, one blank for white space.

    Blanks beside Chinese, Japanese or Korean characters and beside punctuation go, because line ends and typing habits
    set them.
    """
    blanks = _BLANK.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
    return _BLANK_BY_CJK.sub("", blanks)


@dataclass(frozen=True, slots=True)
class Judged:
    """Results as measures see them.

    Attributes:
        wanted: Units that answer the question, with grades; texts are wordings of one unit.
        ranked: Units found, best first, each once. Results that answer nothing are units of their own.
        relevant: For each result whether it answers the question.
    """

    wanted: dict[str, int]
    ranked: tuple[str, ...]
    relevant: tuple[bool, ...]


def judge(expected: Expected, results: Sequence[SearchResult]) -> Judged:
    """Compare results with what was expected.

    Chunks and texts rank chunks; documents rank documents, each where its first chunk stands.
    """
    if expected.chunks:
        units, wanted = [result.chunk_id for result in results], dict(expected.chunks)
    elif expected.texts:
        texts = [normal_text(text) for text in expected.texts]
        units = [_ANSWER if _answers(expected, texts, result) else f"chunk {result.chunk_id}" for result in results]
        wanted = {_ANSWER: 1}
    else:
        units = [_document_unit(expected, result) for result in results]
        wanted = dict(expected.documents)
    return Judged(wanted, tuple(dict.fromkeys(units)), tuple(unit in wanted for unit in units))


def _answers(expected: Expected, texts: Sequence[str], result: SearchResult) -> bool:
    if expected.documents and _document_unit(expected, result) not in expected.documents:
        return False
    held = normal_text(result.text)
    return any(text in held for text in texts)


def _document_unit(expected: Expected, result: SearchResult) -> str:
    """The document by the one of its names that the data set uses."""
    document = result.document
    return document.name if document.name in expected.documents else document.id
