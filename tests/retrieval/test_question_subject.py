"""Whether a question names anything that can be looked up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.evaluation.data_sets import load_data_set
from lorebase.retrieval.question_subject import names_subject

DATA = os.environ.get("LOREBASE_TEST_DATA", "")


@pytest.mark.parametrize(
    "text",
    [
        *("What is this collection about?", "What's in here?", "Tell me about the documents.", "WHAT IS THIS?"),
        *("Hello!", "ok thanks", "Tell me more", "Why?", "And then?", "Give me a short summary"),
        *("What topics are covered?", "Tell me something interesting"),
        *("Who are you?", "What's your name?", "What can you do?", "Can you help me?", "", "???"),
        *("这个资料库讲什么？", "這個資料庫講什麼？", "知识库里有什么内容？", "这些文档是关于什么的？", "总结一下"),
        *("你好", "您好！谢谢", "再说一点", "为什么？", "然后呢", "更多信息", "hello 你好"),
        *("你是谁？", "你叫什么名字？", "你能做什么？", "能帮我吗？"),
    ],
)  # fmt: skip
def test_a_text_of_nothing_but_common_words_names_nothing(text: str) -> None:
    assert not names_subject(text)


@pytest.mark.parametrize(
    "text",
    [
        *("What is a document?", "What is a knowledge base?", "How do I make a will?", "What is information?"),
        *("What does WHO do?", "Who works in IT?", "What is the US?", "What happens to the documents?", "beans"),
        *("文件是什么？", "什么是知识库？", "IT是什么？", "中点是什么？", "书要还到哪里？"),
        *("会员可以做什么？", "本科是什么？", "可可是什么？", "太太是谁？"),
        *("Was ist das?", "これは何ですか", "Qu'est-ce que c'est ?", "C++?", "2024"),
    ],
)  # fmt: skip
def test_one_other_word_is_enough_to_name_something(text: str) -> None:
    assert names_subject(text)


@pytest.mark.skipif(not DATA, reason="LOREBASE_TEST_DATA is not set")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_question_that_people_asked_about_a_text_is_taken_for_an_empty_one(language: str) -> None:
    cases = load_data_set(Path(DATA) / "xquad" / f"xquad.{language}.json").cases

    assert [case.question for case in cases if not names_subject(case.question)] == []
    assert len(cases) == 1190


@given(st.lists(st.sampled_from(["hello", "what", "is", "this", "什么", "这个", "资料库", "讲"]), max_size=30))
def test_a_subject_among_common_words_is_seen_wherever_it_stands(words: list[str]) -> None:
    for place in range(len(words) + 1):
        assert names_subject(" ".join([*words[:place], "photosynthesis", *words[place:]]))
        assert names_subject("".join([*words[:place], "光合作用", *words[place:]]))
