"""SQuAD: articles of paragraphs with questions, each answered by a stretch of its paragraph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from lorebase.evaluation.faults import Faults
from lorebase.evaluation.model import EvaluationCase, Expected

_AROUND_CHARS = 25
"""How much of the paragraph before or after an answer goes with it: "308" alone stands in many chunks."""


class _Answer(BaseModel):
    text: str = Field(min_length=1)
    answer_start: int = Field(ge=0)


class _Question(BaseModel):
    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answers: tuple[_Answer, ...] = ()
    is_impossible: bool = False


class _Paragraph(BaseModel):
    context: str = Field(min_length=1)
    qas: tuple[_Question, ...]


def squad_cases(file: Path, faults: Faults) -> list[EvaluationCase]:
    """The questions of a file.

    A chunk answers a question if it contains an answer with the 25 characters before it, or with those after it.
    Questions marked impossible are unanswerable; of the others those are whose paragraph the base does not hold.
    """
    try:
        articles = json.loads(file.read_text(encoding="utf-8-sig"))["data"]
    except ValueError as error:
        faults.add(file, getattr(error, "lineno", None), f"no JSON in UTF-8 ({error})")
        return []
    except (KeyError, TypeError):
        faults.add(file, None, "no SQuAD: it has no list `data`")
        return []
    if not isinstance(articles, list):
        faults.add(file, "data", "no list")
        return []
    cases: list[EvaluationCase] = []
    for number, article in enumerate(articles):
        paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
        if not isinstance(paragraphs, list):
            faults.add(file, f"data[{number}]", "no list `paragraphs`")
            continue
        for at, paragraph in enumerate(paragraphs):
            cases += _paragraph_cases(file, f"data[{number}].paragraphs[{at}]", paragraph, faults)
    return cases


def _paragraph_cases(file: Path, place: str, data: Any, faults: Faults) -> list[EvaluationCase]:  # noqa: ANN401 (JSON)
    try:
        paragraph = _Paragraph.model_validate(data)
    except ValidationError as error:
        for found in error.errors():
            faults.add(file, ".".join((place, *map(str, found["loc"]))), found["msg"])
        return []
    cases = []
    for at, asked in enumerate(paragraph.qas):
        texts = tuple(text for answer in asked.answers for text in _with_surroundings(paragraph.context, answer))
        where = f"{place}.qas[{at}]"
        if asked.is_impossible == bool(texts):
            fault = "impossible, but has answers" if texts else "has no answer and is not marked `is_impossible`"
            faults.add(file, where, fault)
            continue
        if any(not _stands_there(paragraph.context, answer) for answer in asked.answers):
            faults.add(file, where, "an answer does not stand at its `answer_start`")
            continue
        cases.append(
            EvaluationCase(
                case_id=asked.id,
                question=asked.question,
                expected=Expected(texts=texts),
                answerable=None if texts else False,
                place=f"{file}:{where}",
            )
        )
    return cases


def _stands_there(context: str, answer: _Answer) -> bool:
    return context.startswith(answer.text, answer.answer_start)


def _with_surroundings(context: str, answer: _Answer) -> tuple[str, ...]:
    """The answer with what stands before it, and with what stands after it: a cut may part it from one of them.

    At an end of the paragraph there is less to go with it; then the longer of the two stands alone.
    """
    start, end = answer.answer_start, answer.answer_start + len(answer.text)
    texts = (context[max(0, start - _AROUND_CHARS) : end], context[start : end + _AROUND_CHARS])
    whole = tuple(text for text in texts if len(text) == len(answer.text) + _AROUND_CHARS)
    return whole or (max(texts, key=len),)
