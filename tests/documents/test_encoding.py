"""Rules of deciding an encoding."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lorebase.documents.encoding import decode_text
from lorebase.errors import UnreadableDocumentError

DATA = os.environ.get("LOREBASE_TEST_DATA")
SHORT_CHINESE = "逾期归还的图书每日收取滞纳金一角，最高不超过书价。借书证遗失请挂失。"


def decoded(content: bytes, *, declares_encoding: bool = False) -> tuple[str, str]:
    result = decode_text(content, name="a.txt", declares_encoding=declares_encoding)
    return result.text, result.encoding


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\x00\x00", "utf-32-le"),
        (b"\x00\x00\xfe\xff", "utf-32-be"),
        (b"\x84\x31\x95\x33", "gb18030"),
    ],
)
def test_a_byte_order_mark_decides_and_is_removed(mark, encoding):
    assert decoded(mark + "借书证 card".encode(encoding)) == ("借书证 card", encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["Plain text.", "借书证，每人一张。\n遗失请挂失。", "été à Paris"])
def test_wide_encodings_are_known_without_a_mark(encoding, text):
    assert decoded(text.encode(encoding)) == (text, encoding)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", SHORT_CHINESE),
        ("gb18030", "借书证"),
        ("gb18030", "姓名,年龄\n张三,30\n"),
        ("gb18030", "天青色等烟雨，而我在等你。哈哈哈"),
        ("big5hkscs", "逾期歸還的圖書每日收取滯納金一角，最高不超過書價。"),
        ("big5hkscs", "圖書館規則"),
        ("cp932", "名前,年齢,住所\n佐藤太郎,30,東京"),
        ("cp932", "田中の猫はかわいいですね。日本語上手。"),
        ("euc_jp", "日本語の文章を検査する"),
        ("cp949", "안녕하세요. 도서관 이용 규칙입니다."),
        ("cp1252", "Die schöne Frau zahlt 15,50 €"),
        ("cp1252", "L'été était très chaud – “vraiment”."),
        ("cp1252", "GRÖSSE"),
    ],
)
def test_legacy_encodings_are_told_apart_by_how_common_their_characters_are(encoding, text):
    assert decoded(text.encode(encoding)) == (text, encoding)


def test_a_chinese_file_of_71_bytes_is_not_taken_for_big5():
    content = (SHORT_CHINESE.encode("gb2312") + b"\n")[:71].rstrip(b"\n") + b"\n"

    assert decoded(content[:70] + b"\n")[1] == "gb18030"


@pytest.mark.skipif(DATA is None, reason="LOREBASE_TEST_DATA is not set")
@pytest.mark.parametrize("length", [16, 35, 200, 5000])
def test_real_paragraphs_survive_gb18030_and_cp1252(length):
    folder = Path(str(DATA)) / "xquad"
    for language, encoding in (("zh", "gb18030"), ("en", "cp1252")):
        articles = json.loads((folder / f"xquad.{language}.json").read_text("utf-8"))["data"]
        for text in (
            paragraph["context"].lstrip("\ufeff") for article in articles for paragraph in article["paragraphs"]
        ):
            content = text[:length].encode(encoding, "ignore")
            assert decoded(content)[0] == content.decode(encoding)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('<meta charset="gb2312"><p>镕基'.encode("gb18030"), "gb18030"),
        ('<meta http-equiv=Content-Type content="text/html; charset=big5"><p>一'.encode("big5"), "big5hkscs"),
        ("<?xml version='1.0' encoding='shift_jis'?><p>猫".encode("cp932"), "cp932"),
        ('<meta charset="iso-8859-1"><p>été'.encode("cp1252"), "cp1252"),
        ('<meta charset="iso-8859-1"><p>été'.encode(), "utf-8"),  # mislabelled
        (b'<meta charset="utf-16"><p>text', "utf-8"),  # cannot be true
        ('<meta charset="no-such"><p>借'.encode(), "utf-8"),
    ],
)
def test_what_a_page_declares_is_believed_where_it_can_be_true(content, expected):
    assert decoded(content, declares_encoding=True)[1] == expected


@pytest.mark.parametrize("content", [bytes(range(256)) * 4, b"\x00" * 100, b"\x00\x01\x02\x03" * 30, b"\xff" * 101])
def test_data_is_no_text(content):
    with pytest.raises(UnreadableDocumentError) as caught:
        decode_text(content, name="a.txt")

    assert caught.value.facts == {"document": "a.txt", "reason": "BINARY"}


@pytest.mark.parametrize("content", [b"\n\n\n", b"\xef\xbb\xbf", b"\xff\xfe \x00", " \u3000".encode()])
def test_blank_text_is_empty(content):
    with pytest.raises(UnreadableDocumentError) as caught:
        decode_text(content, name="a.txt")

    assert caught.value.facts["reason"] == "EMPTY"


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
@settings(deadline=None)
def test_every_utf8_text_comes_back_as_it_was(text):
    assume(text.strip() and not text.startswith("\ufeff"))

    assert decoded(text.encode()) == (text, "utf-8")


@given(content=st.binary(max_size=300))
@settings(deadline=None)
def test_bytes_give_text_without_replacement_characters_or_an_error(content):
    try:
        result = decode_text(content, name="a.txt")
    except UnreadableDocumentError:
        return

    assert "\ufffd" not in result.text or "\ufffd".encode(result.encoding) in content
    assert result.text.encode(result.encoding).decode(result.encoding) == result.text
