"""Rows of JSON: {"question", "expected_document" | "expected_chunk" | "expected_text", "answerable"}, one a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lorebase.evaluation.faults import Faults, json_lines, text_of
from lorebase.evaluation.model import EvaluationCase, Expected

_NAMES = {
    "documents": ("expected_document", "expected_documents", "document", "documents"),
    "chunks": ("expected_chunk", "expected_chunks", "chunk", "chunks"),
    "texts": ("expected_text", "expected_texts", "expected_answer", "expected_answers", "answer", "answers"),
}
"""What is expected may be called; each takes a text or a list of texts."""

_FIELDS = {"id", "question", "answerable", *(name for names in _NAMES.values() for name in names)}


def row_cases(file: Path, faults: Faults) -> list[EvaluationCase]:
    """The questions of a file; a question is answerable where the row does not say otherwise."""
    cases: list[EvaluationCase] = []
    for line, row in json_lines(file, faults):
        fault = _fault(row)
        if fault:
            faults.add(file, line, fault)
            continue
        cases.append(
            EvaluationCase(
                case_id=str(row.get("id") or f"line {line}"),
                question=text_of(row, "question"),
                expected=_expected(row),
                answerable=row.get("answerable", True),
                place=f"{file}:{line}",
            )
        )
    return cases


def _fault(row: dict[str, Any]) -> str:
    """What is wrong with a row; empty where nothing is."""
    unknown = sorted(set(row) - _FIELDS)
    if unknown:
        return f"unknown field {', '.join(unknown)}; known are {', '.join(sorted(_FIELDS))}"
    if not text_of(row, "question"):
        return "no `question`"
    return _fault_of_answer(row)


def _fault_of_answer(row: dict[str, Any]) -> str:
    if not isinstance(row.get("answerable", True), bool):
        return "`answerable` is neither true nor false"
    for kind in _NAMES:
        if any(not isinstance(value, str) or not value.strip() for value in _values(row, kind)):
            return f"`{_NAMES[kind][0]}` is neither a text nor a list of texts"
    if row.get("answerable", True) and _expected(row).is_empty:
        return "an answerable question needs `expected_document`, `expected_chunk` or `expected_text`"
    if not row.get("answerable", True) and not _expected(row).is_empty:
        return "a question that is not answerable can expect nothing"
    return ""


def _expected(row: dict[str, Any]) -> Expected:
    return Expected(
        documents=dict.fromkeys(_values(row, "documents"), 1),
        chunks=dict.fromkeys(_values(row, "chunks"), 1),
        texts=tuple(_values(row, "texts")),
    )


def _values(row: dict[str, Any], kind: str) -> list[Any]:
    """What is expected of a kind, under whatever name."""
    given = [row[name] for name in _NAMES[kind] if row.get(name) is not None]
    return [value for entry in given for value in (entry if isinstance(entry, list) else [entry])]
