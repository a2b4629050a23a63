"""Questions and answers in CSV, records, parsed tables and Markdown tables."""

from __future__ import annotations

import pytest

from lorebase.faq.columns import values_of
from lorebase.faq.tables import read_csv, read_lines, read_markdown_table, read_records


def test_a_csv_text_keeps_every_character_of_its_cells_and_knows_its_lines() -> None:
    text = 'id,Question,Answer\n1,How?,"First | line\nsecond, line"\n\n2,Why?,Because.\n'

    rows = read_csv(text, {})

    assert rows is not None
    assert [(row.row, row.line) for row in rows] == [(1, 2), (2, 5)]
    assert [row.values.answer for row in rows if row.values] == ["First | line\nsecond, line", "Because."]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_names_a_question_and_an_answer(delimiter: str) -> None:
    rows = read_csv(f"问题{delimiter}答案\n怎么退款{delimiter}联系前台\n", {})

    assert rows is not None
    assert rows[0].values is not None
    assert (rows[0].values.question, rows[0].values.answer) == ("怎么退款", "联系前台")


def test_a_table_without_a_question_or_an_answer_is_no_faq() -> None:
    assert read_csv("name,age\nAda,36\n", {}) is None
    assert read_records('{"name": "Ada"}\n', {}) is None
    assert read_lines("name | age\nAda | 36", {}) is None
    assert read_markdown_table("| a1 | b |\n|---|---|\n| 1 | 2 |", {}) is None


def test_columns_that_are_called_otherwise_are_named_by_the_recipe() -> None:
    rows = read_csv("Ask,Tell\nHow?,So.\n", {"question": "ask", "answer": "TELL"})

    assert rows is not None
    assert rows[0].values is not None
    assert rows[0].values.question == "How?"


@pytest.mark.parametrize(
    ("name", "value", "enabled"),
    [
        ("enabled", "", True),
        ("enabled", "TRUE", True),
        ("enabled", "no", False),
        ("启用", "否", False),
        ("disabled", "1", False),
        ("停用", "否", True),
        ("status", "Disabled", False),
        ("status", "published", True),
        ("enabled", "maybe", False),
    ],
)
def test_an_entry_is_disabled_by_a_column_or_field(name: str, value: str, *, enabled: bool) -> None:
    """C159."""
    rows = read_csv(f"question,answer,{name}\nHow?,So.,{value}\n", {})

    assert rows is not None
    assert rows[0].values is not None
    assert rows[0].values.enabled is enabled
    assert rows[0].values.unclear == ("maybe" if value == "maybe" else "")


def test_records_keep_line_breaks_lists_of_variants_and_switches_and_say_which_line_is_none() -> None:
    text = (
        '{"question": "How?", "answer": "So.\\nAnd so.", "variants": ["In what way?"], "enabled": false}\n'
        "not json\n"
        '{"question": "Why?", "answer": "Because."}\n'
        '{"title": "no entry"}\n'
    )

    rows = read_records(text, {})

    assert rows is not None
    assert [(row.row, row.line, row.values is None) for row in rows] == [
        (1, 1, False),
        (2, 2, True),
        (3, 3, False),
        (4, 4, True),
    ]
    assert rows[0].values is not None
    assert (rows[0].values.answer, rows[0].values.variants) == ("So.\nAnd so.", ("In what way?",))
    assert not rows[0].values.enabled
    assert "no JSON" in rows[1].fault


def test_a_json_list_of_objects_is_read_as_records() -> None:
    rows = read_records('[{"q": "How?", "a": "So."}]', {})

    assert rows is not None
    assert [(row.row, row.line) for row in rows] == [(1, None)]


def test_a_parsed_row_with_a_bar_in_a_cell_is_a_fault_and_not_a_wrong_answer() -> None:
    rows = read_lines("question | answer\nHow? | So. | And so.\nWhy? | Because.", {})

    assert rows is not None
    assert [row.values is None for row in rows] == [True, False]
    assert "3 cells" in rows[0].fault


def test_a_markdown_table_may_hold_escaped_bars() -> None:
    rows = read_markdown_table("| 问题 | 答案 |\n| --- | --- |\n| a\\|b? | one<br>two |", {})

    assert rows is not None
    assert rows[0].values is not None
    assert (rows[0].values.question, rows[0].values.answer) == ("a|b?", "one\ntwo")


def test_variants_are_parted_by_bars_semicolons_and_line_breaks() -> None:
    values = values_of(["Q", "A", "one | two；three\nfour; one"], {"question": 0, "answer": 1, "variants": 2})

    assert values.variants == ("one", "two", "three", "four")
