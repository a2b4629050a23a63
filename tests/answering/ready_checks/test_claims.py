"""Claims: sentences with what they cite."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.answering.ready_checks.claims import Claim, cited_numbers, claims_of, without_citations


def cited(text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(" ".join(claim.text.split()), claim.citations) for claim in claims_of(text)]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("It is level [1]. It is dry [2].", [("It is level .", (1,)), ("It is dry .", (2,))]),
        ("It is level.[1] It is dry.[2]", [("It is level.", (1,)), ("It is dry.", (2,))]),
        ("It is level. [1] It is dry. [2]", [("It is level.", (1,)), ("It is dry.", (2,))]),
        ("It is level. It is dry [1].", [("It is level.", ()), ("It is dry .", (1,))]),
        ("每年清洁一次[1]。水泵要水平安装。[2]", [("每年清洁一次 。", (1,)), ("水泵要水平安装。", (2,))]),
        ("每年清洁一次。水泵要水平安装【2】！", [("每年清洁一次。", ()), ("水泵要水平安装 ！", (2,))]),
        ("Both say so [1][3].", [("Both say so .", (1, 3))]),
        ("All say so [1, 3; 2].", [("All say so .", (1, 3, 2))]),
        ("All say so [1-3].", [("All say so .", (1, 2, 3))]),
        ("两者都说[1，2]。", [("两者都说 。", (1, 2))]),
        ("Dr. Smith uses 3.5 kW, i.e. enough [1].", [("Dr. Smith uses 3.5 kW, i.e. enough .", (1,))]),
        (
            "Since [2024] it is called [A] in [1](http://example.org).",
            [
                ("Since [2024] it is called [A] in [1](http://example.org).", ()),
            ],
        ),
        ("- Level it [1]\n- Dry it\n3. Test it [2]", [("Level it", (1,)), ("Dry it", ()), ("Test it", (2,))]),
        ("1、水平安装[1]\n2、保持干燥", [("水平安装", (1,)), ("保持干燥", ())]),
        ("# Care\nClean it [1].", [("Care", ()), ("Clean it .", (1,))]),
        ("A line that\ngoes on [1].", [("A line that goes on .", (1,))]),
        ("First part [1]\n\nSecond part", [("First part", (1,)), ("Second part", ())]),
        ("[1] says so.", [("says so.", (1,))]),
        ("😀 … !", []),
        ("", []),
    ],
)
def test_sentences_have_the_citations_that_stand_in_or_behind_them(
    text: str, claims: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert cited(text) == claims


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("Is it dry?", [False]),
        ("要不要清洁？", [False]),
        ("Do this:\n- Level it", [False, True]),
        ("步骤如下：\n1、水平安装", [False, True]),
        ("Remember: it is hot.", [True]),
        ("It is hot:", [True]),
        ("# Warning: it explodes", [True]),
    ],
)
def test_questions_and_lines_that_lead_to_a_list_need_no_citation(text: str, needs: list[bool]) -> None:
    assert [claim.needs_citation for claim in claims_of(text)] == needs


def test_numbers_are_those_of_all_citations() -> None:
    assert cited_numbers("One [2]. Two [1, 2]. No [2024].") == (2, 1, 2)
    assert without_citations("One [2].") == "One  ."


@settings(deadline=None)
@given(st.lists(st.sampled_from(["It is dry.", "水泵很重。", "- Item one", "# Head", "Why?", "\n", " ", "x"])))
def test_no_word_is_lost_and_every_citation_has_an_owner(pieces: list[str]) -> None:
    plain = " ".join(pieces)
    marked = " [1] ".join(pieces)

    claims = claims_of(plain)
    total = sum(claim.citations.count(1) for claim in claims_of(marked))

    kept = "".join("".join(claim.text.split()) for claim in claims)
    assert [letter for letter in kept if letter.isalpha()] == [letter for letter in plain if letter.isalpha()]
    assert (total > 0) == (len(pieces) > 1 and bool(claims))


def test_a_claim_is_a_value() -> None:
    assert claims_of("So it is [1].") == (Claim("So it is  .", (1,)),)
