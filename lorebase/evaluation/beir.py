"""BEIR: a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lorebase.errors import NotFoundError
from lorebase.evaluation.faults import Faults, json_lines, numbered_lines, text_of
from lorebase.evaluation.model import EvaluationCase, Expected

_COLUMNS = 3


def beir_cases(folder: Path, split: str, faults: Faults) -> list[EvaluationCase]:
    """The questions of a folder that its qrels judge.

    Documents are expected under their `_id`, or under the name of the document of the base that is that id with an
    ending, such as `doc1.txt`. A question without a relevant document is unanswerable. corpus.jsonl is what the base
    is built from; here it only shows which ids there are, and may be left out.

    Raises:
        NotFoundError: queries.jsonl or the qrels are missing.
    """
    queries = folder / "queries.jsonl"
    grades = _grades(_qrels_file(folder, split), faults)
    known = _corpus_ids(folder / "corpus.jsonl", faults)
    cases: list[EvaluationCase] = []
    for line, row in json_lines(queries, faults):
        query_id, question = text_of(row, "_id"), text_of(row, "text")
        if not query_id or not question:
            faults.add(queries, line, "no `_id` or no `text`")
            continue
        if query_id not in grades:
            continue
        expected = {document: grade for document, grade in grades[query_id].items() if grade > 0}
        for document in sorted(set(expected) - known) if known else ():
            faults.add(queries, line, f"{query_id!r} is judged for {document!r}, which corpus.jsonl does not have")
        cases.append(
            EvaluationCase(
                case_id=query_id,
                question=question,
                expected=Expected(documents=expected),
                answerable=bool(expected),
                place=f"{queries}:{line}",
            )
        )
    missing = sorted(set(grades) - {case.case_id for case in cases})
    for query_id in missing:
        faults.add(queries, None, f"the qrels judge {query_id!r}, which is not there")
    return cases


def _qrels_file(folder: Path, split: str) -> Path:
    for file in (folder / "qrels" / f"{split}.tsv", folder / "qrels.tsv"):
        if file.is_file():
            return file
    raise NotFoundError(f"{folder} has neither qrels/{split}.tsv nor qrels.tsv.", remedy="Name a BEIR folder.")


def _grades(file: Path, faults: Faults) -> Mapping[str, Mapping[str, int]]:
    """Grades of documents by question; the first line may be a header."""
    grades: dict[str, dict[str, int]] = {}
    for line, text in numbered_lines(file):
        columns = text.rstrip("\r").split("\t")
        if line == 1 and columns[-1].strip() == "score":
            continue
        if len(columns) != _COLUMNS or not columns[2].strip().lstrip("-").isdecimal():
            faults.add(file, line, "not three columns, query-id, corpus-id and a whole number, parted by tabs")
            continue
        grades.setdefault(columns[0].strip(), {})[columns[1].strip()] = int(columns[2])
    return grades


def _corpus_ids(file: Path, faults: Faults) -> frozenset[str]:
    if not file.is_file():
        return frozenset()
    ids: set[str] = set()
    for line, row in json_lines(file, faults):
        document = text_of(row, "_id")
        if document:
            ids.add(document)
        else:
            faults.add(file, line, "no `_id`")
    return frozenset(ids)
