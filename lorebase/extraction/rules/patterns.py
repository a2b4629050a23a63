"""Names that a sentence gives by its form: definitions, abbreviations, and the titles of sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

CONCEPT_TYPE = "concept"
TOPIC_TYPE = "topic"

_ENGLISH_DEFINITION = regex.compile(
    r"(?:(?:The|A|An)\s)?(?P<name>[\p{L}\p{N}][\p{L}\p{M}\p{N}'’&-]*(?: [\p{L}\p{N}][\p{L}\p{M}\p{N}'’&-]*){0,4}?)"
    r"(?: ?\((?P<alias>[^()\n]{2,40})\))?"
    r" (?:is|are|was|were) (?:a|an|one of the|the kind of|a kind of) (?P<what>[\p{L}\p{N}][\p{L} \p{N}'’-]{1,80})"
)
_NO_SUBJECT = frozenset(
    [
        "it", "this", "that", "these", "those", "there", "he", "she", "they", "we", "you", "i", "what", "which", "who",
        "here", "one", "if", "when", "where", "while", "in", "on", "at", "for", "and", "but", "or", "so", "as", "not",
        "by", "to", "of",
    ]
)  # fmt: skip
_CHINESE_DEFINITION = regex.compile(
    r"(?<![^。；！？\n，：\s])(?P<name>[\p{Han}\p{L}\p{N}·+#.-]{2,20}?)(?:（[^（）\n]{1,40}）)?"
    r"(?:是指|指的是|是(?P<measure>一(?:种|个|座|家|项|类|款|位|部|条|所|名|门|支|套|份|颗|本)))(?P<what>[^。；！？\n]{1,60})"
)
_CHINESE_NO_SUBJECT = regex.compile(
    r"这|那|它|他|她|我|你|其|此|该|本|如果|因为|但|而|所以|也|都|就|还|不|只|可能|什么|谁"
)
_TYPE_OF_MEASURE = {"一位": "person", "一名": "person", "一家": "organization", "一所": "organization"}
_TYPE_OF_NOUN = {
    "person": ("person", "scientist", "engineer", "writer", "author", "politician", "artist", "player", "physicist"),
    "organization": ("company", "organization", "organisation", "agency", "university", "association", "bank"),
    "place": ("city", "town", "village", "country", "river", "mountain", "island", "lake", "region", "province"),
    "product": ("product", "device", "machine", "phone", "car"),
}
_BRACKET = regex.compile(
    r"(?P<open>[（(])\s*(?:(?P<label>以下简称|下称|简称|又称|亦称|英文|缩写|全称|英语)[为:：]?\s*)?[“\"「‘']?"
    r"(?P<short>[^（）()“”\"「」‘’'\n，,;；]{2,30}?)[”\"」’']?\s*[）)]"
)
_ACRONYM = regex.compile(r"\p{Lu}[\p{L}\p{N}&.-]{1,11}")
_LONG_ENGLISH = regex.compile(
    r"(?:[\p{L}\p{N}][\p{L}\p{M}\p{N}'’&-]*[ ]){1,9}$|[\p{L}\p{N}][\p{L}\p{M}\p{N}'’&-]*[ ]?$"
)
_LONG_CHINESE = regex.compile(r"[\p{Han}\p{N}·]{2,24}$")
_HEADING_NUMBER = regex.compile(
    r"^(?:第[\d一二三四五六七八九十百]+[章节条部篇]|[\d]+(?:\.\d+)*\.?|[一二三四五六七八九十]+、|[(（][\d一二三四五六七八九十]+[)）])\s*"
)
_GENERAL_TITLES = frozenset(
    [
        "introduction", "overview", "summary", "abstract", "conclusion", "conclusions", "references", "contents",
        "table of contents", "appendix", "background", "notes", "see also", "external links", "details", "general",
        "简介", "概述", "概要", "摘要", "引言", "前言", "结论", "总结", "参考文献", "目录", "附录", "背景", "说明",
        "注释", "外部链接", "参见", "其他", "正文",
    ]
)  # fmt: skip
_LONGEST_NAME_CHARS = 200
_LONGEST_TITLE_CHARS = 40
_LONGEST_TITLE_WORDS = 6


@dataclass(frozen=True, slots=True)
class Definition:
    """A name whose sentence says what it is."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A long name and the short one in the brackets after it."""

    start: int
    end: int
    short_start: int
    short_end: int


def definitions(text: str, start: int, end: int) -> Iterator[Definition]:
    """Names that the sentence `text[start:end]` defines: `X is a ...`, `X是一种……`."""
    english = _ENGLISH_DEFINITION.match(text, start, end)
    if english is not None and _is_subject(english["name"]):
        yield Definition(*english.span("name"), _type_of_noun(english["what"]))
    for chinese in _CHINESE_DEFINITION.finditer(text, start, end):
        if not _CHINESE_NO_SUBJECT.match(chinese["name"]):
            kind = _TYPE_OF_MEASURE.get(chinese["measure"] or "", CONCEPT_TYPE)
            yield Definition(*chinese.span("name"), kind)


def _is_subject(name: str) -> bool:
    return not any(word in _NO_SUBJECT for word in name.lower().split())


def _type_of_noun(what: str) -> str:
    words = what.lower().split()[:6]
    for kind, nouns in _TYPE_OF_NOUN.items():
        if any(word in nouns for word in words):
            return kind
    return CONCEPT_TYPE


def abbreviations(text: str, start: int, end: int, nouns: Sequence[tuple[int, int]]) -> Iterator[Abbreviation]:
    """Long names with a short one in brackets after: `World Health Organization (WHO)`, `世界卫生组织（简称世卫）`.

    Args:
        text: The text.
        start: Where the sentence begins.
        end: Where it ends.
        nouns: Names found in it, by which the beginning of a Chinese long name is known.
    """
    for match in _BRACKET.finditer(text, start, end):
        short = match["short"].strip()
        short_start = match.start("short") + len(match["short"]) - len(match["short"].lstrip())
        long = _long_name(text, (start, match.start()), short, nouns, has_label=match["label"] is not None)
        if long is not None:
            yield Abbreviation(*long, short_start, short_start + len(short))


def _long_name(
    text: str, span: tuple[int, int], short: str, nouns: Sequence[tuple[int, int]], *, has_label: bool
) -> tuple[int, int] | None:
    offset = max(span[0], span[1] - _LONGEST_NAME_CHARS)
    stripped = text[offset : span[1]].rstrip()
    end = offset + len(stripped)
    if _LONG_CHINESE.search(stripped):
        known = [span for span in nouns if span[1] == end]
        is_short = has_label or _ACRONYM.fullmatch(short) is not None
        return min(known) if known and is_short else None
    if not _ACRONYM.fullmatch(short):
        return None
    match = _LONG_ENGLISH.search(stripped + " ")
    begin = _initials_begin(match.group(), short) if match else None
    return None if match is None or begin is None else (offset + match.start() + begin, end)


def _initials_begin(long: str, short: str) -> int | None:
    """Where in the words before the bracket the long name begins: its words' initials are the short name's letters."""
    letters = [char.lower() for char in short if char.isalnum()]
    place = len(long)
    for letter in reversed(letters[1:]):
        place = long.lower().rfind(letter, 0, place)
        if place <= 0:
            return None
    while place > 0:
        place = long.lower().rfind(letters[0], 0, place)
        if place < 0:
            return None
        if place == 0 or long[place - 1] in " -":
            return place
    return None


def section_title(heading_path: Sequence[str]) -> str:
    """The innermost heading without its number, where it can name a topic; otherwise empty."""
    title = _HEADING_NUMBER.sub("", heading_path[-1]).strip() if heading_path else ""
    if title.lower() in _GENERAL_TITLES or len(title) > _LONGEST_TITLE_CHARS:
        return ""
    if len(title) < 2 or len(title.split()) > _LONGEST_TITLE_WORDS or not any(char.isalpha() for char in title):  # noqa: PLR2004 (one character names nothing)
        return ""
    return title if regex.search(r"[?？!！。:：]", title) is None else ""
