"""Data sets from files, and what is said about faulty ones."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lorebase.errors import InvalidDataSetError, NotFoundError
from lorebase.evaluation.data_sets import load_data_set

DATA = os.environ.get("LOREBASE_TEST_DATA", "")


def test_rows_say_what_is_expected_under_either_name(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(
        '{"question": "借几册？", "expected_document": "规则.md", "expected_text": ["五册", "5册"]}\n\n'
        '{"id": "x", "question": "Who sings?", "answerable": false}\n',
        encoding="utf-8",
    )

    first, second = load_data_set(file).cases

    assert (first.question, first.expected.documents, first.expected.texts) == (
        "借几册？",
        {"规则.md": 1},
        ("五册", "5册"),
    )
    assert first.case_id == "line 1"
    assert (second.case_id, second.answerable, second.expected.is_empty) == ("x", False, True)


def test_every_bad_row_is_named_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text('{"question": "a", "answer": "b"}\n{"question": \n{"question": "c"}\n{"quest": "d"}\n[]\n')

    with pytest.raises(InvalidDataSetError) as raised:
        load_data_set(file)

    assert [fault.split(": ")[0] for fault in raised.value.facts["faults"]] == [
        f"{file}:{line}" for line in (2, 3, 4, 5)
    ]
    assert f"{file}:3: an answerable question needs" in str(raised.value)


def test_repeated_ids_are_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text('{"id": "1", "question": "a", "answer": "b"}\n{"id": "1", "question": "c", "answer": "d"}\n')

    with pytest.raises(InvalidDataSetError, match="'1' stands 2 times"):
        load_data_set(file)


def test_squad_answers_go_with_what_stands_around_them(tmp_path: Path) -> None:
    context = "The team of the year gave up only 308 points in the whole season, fewer than all."
    asked = [
        {"id": "1", "question": "How many?", "answers": [{"text": "308", "answer_start": 34}]},
        {"id": "2", "question": "Which song?", "answers": [], "is_impossible": True},
    ]
    file = tmp_path / "set.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": asked}]}]}))

    first, second = load_data_set(file).cases

    assert first.expected.texts == ("of the year gave up only 308", "308 points in the whole seas")
    assert (first.answerable, second.answerable) == (None, False)


def test_a_squad_answer_at_an_end_of_its_paragraph_never_stands_bare(tmp_path: Path) -> None:
    context = "The team of the year gave up points in every game, all in all 308"
    asked = [{"id": "1", "question": "How many?", "answers": [{"text": "308", "answer_start": 62}]}]
    file = tmp_path / "set.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": asked}]}]}))

    (case,) = load_data_set(file).cases

    assert case.expected.texts == ("n every game, all in all 308",)


def test_a_squad_answer_that_is_not_where_it_says_is_named_by_its_path(tmp_path: Path) -> None:
    asked = [{"id": "1", "question": "How many?", "answers": [{"text": "308", "answer_start": 3}]}]
    file = tmp_path / "set.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": "Only 308 points.", "qas": asked}]}]}))

    with pytest.raises(InvalidDataSetError, match=r"data\[0\]\.paragraphs\[0\]\.qas\[0\]: an answer does not stand"):
        load_data_set(file)


def beir(folder: Path, qrels: str) -> Path:
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "x"}\n{"_id": "d2", "text": "y"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "a?"}\n{"_id": "q2", "text": "b?"}\n')
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{qrels}")
    return folder


def test_beir_questions_expect_what_the_qrels_grade(tmp_path: Path) -> None:
    found = load_data_set(beir(tmp_path, "q1\td1\t2\nq1\td2\t0\n"))

    assert [(case.case_id, case.expected.documents) for case in found.cases] == [("q1", {"d1": 2})]


@pytest.mark.parametrize(
    ("qrels", "fault"),
    [
        ("q1\td1\tmuch\n", r"test\.tsv:2: not three columns"),
        ("q1\td9\t1\n", r"queries\.jsonl:1: 'q1' is judged for 'd9', which corpus\.jsonl does not have"),
        ("q9\td1\t1\n", r"the qrels judge 'q9', which is not there"),
    ],
)
def test_faults_of_a_beir_folder_are_named(tmp_path: Path, qrels: str, fault: str) -> None:
    with pytest.raises(InvalidDataSetError, match=fault):
        load_data_set(beir(tmp_path, qrels))


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="There is no data set"):
        load_data_set(tmp_path / "none.jsonl")


@pytest.mark.skipif(not DATA, reason="LOREBASE_TEST_DATA is not set")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_xquad_is_read_whole(language: str) -> None:
    found = load_data_set(Path(DATA) / "xquad" / f"xquad.{language}.json")

    assert len(found.cases) == 1190
