"""Names in Chinese sentences: proper nouns by their tags, compounds of them, titles of works, Latin names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from lorebase.extraction.gazetteer import OTHER_TYPE
from lorebase.extraction.rules.english_names import FoundName
from lorebase.extraction.rules.tagging import TaggedWord

_SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜谢邹喻柏窦章苏潘葛范彭鲁韦马苗方俞任袁柳鲍史唐"
    "费廉薛雷贺倪汤滕殷罗毕郝邬安常于傅卞齐康伍余顾孟黄穆萧尹姚邵汪祁毛狄贝戴宋庞熊纪舒屈项祝董梁杜阮蓝闵席季贾路江"
    "童颜郭梅林钟徐邱骆高夏蔡田胡凌霍虞万柯卢莫房丁邓郁洪包左石崔吉龚程邢裴陆翁荀甄曲封储靳段巫焦侯全班仇宁甘厉祖武"
    "符刘景詹龙叶幸司黎白蒲邰卓池乔闻党翟谭贡姬申冉桑桂牛边燕尚温庄晏柴瞿阎慕连习艾鱼容向古易戈廖耿满弘匡文欧沃利蔚"
    "越师巩聂晁敖冷辛简饶曾关相查红游权盖益桓公欧阳上官诸葛司马"
)
_LONGEST_PERSON_CHARS = 4
_TYPE_OF_TAG = {"ns": "place", "nsf": "place", "nt": "organization", "nz": OTHER_TYPE, "nrt": "person"}
_OPENING_TAGS = frozenset(["ns", "nsf", "nt", "nz", "nr", "nrt", "nrfg", "eng", "j"])
_INNER_TAGS = _OPENING_TAGS | frozenset(["n", "vn", "b", "an", "m", "ng", "v", "a", "f", "s", "l", "i"])
_SUFFIXES: dict[str, tuple[str, ...]] = {
    "organization": (
        "公司", "集团", "大学", "学院", "中学", "小学", "研究所", "研究院", "实验室", "医院", "银行", "委员会", "协会",
        "学会", "基金会", "法院", "政府", "出版社", "图书馆", "博物馆", "美术馆", "档案馆", "事务所", "联盟", "局",
        "工厂", "俱乐部", "报社", "电视台", "党", "组织",
    ),
    "place": ("机场", "车站", "大街", "公园", "半岛", "群岛", "海峡", "山脉", "码头", "灯塔", "广场", "大桥"),
}  # fmt: skip
_LONGEST_COMPOUND_WORDS = 6
_WORK = regex.compile(r"《([^《》\n]{1,40})》")
_LATIN_WORD = r"\p{Lu}[\p{Latin}\p{N}+#&.-]*[\p{Latin}\p{N}]"
_LATIN = regex.compile(rf"(?<![\p{{Latin}}\p{{N}}]){_LATIN_WORD}(?: {_LATIN_WORD})*")


def chinese_names(text: str, words: Sequence[TaggedWord]) -> list[FoundName]:
    """Names in the words of one sentence `words`, which stand in `text`."""
    if not words:
        return []
    start, end = words[0].start, words[-1].end
    names = [FoundName(*match.span(1), "work") for match in _WORK.finditer(text, start, end)]
    names += [FoundName(*match.span(), OTHER_TYPE) for match in _LATIN.finditer(text, start, end)]
    names += _proper_nouns(words)
    return sorted(names, key=lambda name: (name.start, -name.end))


def _proper_nouns(words: Sequence[TaggedWord]) -> Iterator[FoundName]:
    place = 0
    while place < len(words):
        compound = _compound(words, place)
        if compound is not None:
            last, kind = compound
            yield FoundName(words[place].start, words[last].end, kind)
            place = last + 1
            continue
        kind_of_word = _type_of(words[place])
        if kind_of_word is not None:
            yield FoundName(words[place].start, words[place].end, kind_of_word)
        place += 1


def _compound(words: Sequence[TaggedWord], first: int) -> tuple[int, str] | None:
    """The longest run from a proper noun to a word such as "university": its last word and its type."""
    if words[first].tag not in _OPENING_TAGS:
        return None
    found = None
    for last in range(first + 1, min(first + _LONGEST_COMPOUND_WORDS, len(words))):
        if words[last].start != words[last - 1].end or words[last].tag not in _INNER_TAGS:
            break
        for kind, suffixes in _SUFFIXES.items():
            if words[last].text.endswith(suffixes):
                found = last, kind
    return found


def _type_of(word: TaggedWord) -> str | None:
    """The type of a single word that is a name, None for others."""
    if len(word.text) == 1:
        return None
    if word.tag in {"nr", "nrfg"}:
        is_person = word.text[0] in _SURNAMES and len(word.text) <= _LONGEST_PERSON_CHARS
        return "person" if is_person else None
    return _TYPE_OF_TAG.get(word.tag)
