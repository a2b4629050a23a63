"""The words of lexical search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lorebase.characters import simplified
from lorebase.index.words import lookup_words, passage_words, query_words

CHINESE = st.text(alphabet="企业知识库建设年度报告", min_size=1, max_size=20)


def test_a_chinese_run_gives_its_characters_and_its_pairs() -> None:
    assert passage_words("知识库") == ["知", "识", "库", "知识", "识库"]


def test_a_chinese_query_gives_pairs_and_a_single_character_only_where_it_stands_alone() -> None:
    assert query_words("知识库 狗") == ["知识", "识库", "狗"]


def test_english_words_are_folded_and_stemmed() -> None:
    assert passage_words("Running PUMPS, Café!") == ["run", "pump", "café"]


def test_full_width_letters_are_the_plain_ones() -> None:
    assert query_words("ＡＢＣ１２") == query_words("abc12")


def test_mixed_text_parts_where_the_script_changes() -> None:
    assert query_words("使用Milvus检索") == ["使用", "milvus", "检索"]


def test_letters_with_marks_stay_one_word() -> None:
    assert passage_words("हिन्दी") == ["हिन्दी"]


def test_words_of_one_query_do_not_depend_on_what_was_stemmed_before() -> None:
    assert [passage_words("installed"), passage_words("installing")] == [["instal"], ["instal"]]


@given(before=CHINESE, sought=CHINESE, after=CHINESE)
def test_every_stretch_of_a_chinese_passage_shares_all_its_words(before: str, sought: str, after: str) -> None:
    assert set(query_words(sought)) <= set(passage_words(before + sought + after))


@given(st.text())
def test_no_word_holds_white_space(text: str) -> None:
    assert all(word and not any(map(str.isspace, word)) for word in passage_words(text) + query_words(text))


@given(st.text(alphabet="?!。，…-—«»😀 \n\t", max_size=20))
def test_punctuation_alone_gives_no_words(text: str) -> None:
    assert query_words(text) == []


def test_traditional_and_simplified_characters_give_the_same_words() -> None:
    assert passage_words("臺灣圖書館裡的資料") == passage_words("台湾图书馆里的资料")
    assert query_words("圖書館幾點開門？") == query_words("图书馆几点开门？")


def test_a_character_is_folded_whatever_stands_beside_it() -> None:
    assert simplified("乾坤") == simplified("乾") + "坤"
    assert set(query_words("乾坤")) <= set(passage_words("扭轉乾坤之後"))


def test_a_compatibility_form_of_a_traditional_character_is_folded_too() -> None:
    assert passage_words("\uf907") == passage_words("龟")


def test_a_look_up_holds_the_characters_as_written_only_where_they_are_others() -> None:
    assert lookup_words("圖書館 opening") == ["图书", "书馆", "open", "圖書", "書館"]
    assert lookup_words("图书馆图书 Milvus 한국어") == query_words("图书馆图书 Milvus 한국어")


@given(st.text())
def test_folding_characters_keeps_their_number_and_does_nothing_twice(text: str) -> None:
    assert len(simplified(text)) == len(text)
    assert simplified(simplified(text)) == simplified(text)
