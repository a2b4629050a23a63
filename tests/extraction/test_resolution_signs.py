"""What can be read off names."""

from __future__ import annotations

import pytest

from lorebase.extraction.resolution_forms import normal_form
from lorebase.extraction.resolution_signs import abbreviates, designators, script_of


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Type A", ("a",)), ("A型", ("a",)), ("甲型", ("a",)), ("GPT-4", ("4",)), ("World War II", ("2",)),
        ("第二次世界大战", ("2",)), ("Chapter Two", ("2",)), ("第十二章", ("12",)), ("第二十三届", ("23",)),
        ("1号楼", ("1",)), ("Building 1", ("1",)), ("三星", ()), ("Berlin", ()),
    ],
)  # fmt: skip
def test_numbers_and_letters_that_tell_one_of_a_kind_are_the_same_in_both_languages(
    name: str, found: tuple[str, ...]
) -> None:
    assert designators(normal_form(name)) == found


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        ("WHO", "World Health Organization", True), ("BoE", "Bank of England", True), ("BE", "Bank of England", False),
        ("ECB", "Bank of England", False), ("北大", "北京大学", True), ("世卫组织", "世界卫生组织", True),
        ("北京", "北京大学", False), ("北大", "南京大学", False), ("大北", "北京大学", False),
    ],
)  # fmt: skip
def test_an_abbreviation_has_letters_of_the_long_name_and_is_no_part_of_it(
    short: str, long: str, *, expected: bool
) -> None:
    assert abbreviates(normal_form(short), normal_form(long)) is expected


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("Berlin", "Latin"),
        ("柏林", "Han"),
        ("GPT模型", "Han"),
        ("Берлин", "Cyrillic"),
        ("ベルリン", "Japanese"),
        ("42", ""),
    ],
)
def test_a_name_is_of_the_script_that_is_not_latin(name: str, script: str) -> None:
    assert script_of(normal_form(name)) == script
