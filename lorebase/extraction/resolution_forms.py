"""Normal forms of names: what two spellings share, and which difference between them it took to see it."""

from __future__ import annotations

import unicodedata
from typing import Literal

import regex

from lorebase.fingerprint import fingerprint
from lorebase.index.words import UNSPACED_SCRIPTS

NameClass = Literal["person", "organization", "place", "date", ""]
"""What two things of one name can differ in for certain; the empty class may be any of them."""

Fold = Literal["width", "case", "punctuation"]

_TYPES_OF_CLASS: dict[NameClass, tuple[str, ...]] = {
    "person": ("person", "people", "human", "character", "人物", "人", "人名", "人员"),
    "organization": (
        *("organization", "organisation", "org", "company", "institution", "agency", "corporation"),
        *("组织", "机构", "公司", "企业", "部门", "团体"),
    ),
    "place": ("place", "location", "city", "country", "region", "geo", "地点", "地名", "城市", "国家", "地区"),
    "date": ("date", "time", "日期", "时间"),
}
CLASS_OF_TYPE: dict[str, NameClass] = {name: kind for kind, names in _TYPES_OF_CLASS.items() for name in names}

_LEGAL_ENDINGS = frozenset(
    {
        *("inc", "incorporated", "corp", "corporation", "co", "company", "ltd", "limited", "llc", "llp", "plc"),
        *("gmbh", "ag", "sa", "nv", "bv", "srl", "spa", "oy", "ab", "kk"),
    }
)
_LEGAL_ENDINGS_UNSPACED = ("股份有限公司", "有限责任公司", "有限公司", "集团公司", "公司", "集团")
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "professor", "sir", "dame", "captain", "president", "minister"})
_TITLES_UNSPACED = ("先生", "女士", "教授", "博士", "院士", "同志")
_LEAST_UNSPACED_CHARS = 2

_UNSPACED = "".join(rf"\p{{Script={script}}}" for script in UNSPACED_SCRIPTS)
# "C++" and "C#" are other names than "C".
_TOKEN = regex.compile(rf"[{_UNSPACED}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+[+#]*", regex.VERSION1)
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_SIBILANT_PLURALS = ("ses", "xes", "zes", "ches", "shes")
_NO_PLURALS = ("ss", "us", "is")
_LEAST_PLURAL_CHARS = 4


def clean_name(name: str) -> str:
    """The name as written, composed (NFC), with single blanks inside and none around it."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def name_tokens(text: str) -> list[str]:
    """Words of spaced scripts and single characters of the others, folded in width (NFKC) and case."""
    return _TOKEN.findall(_folded(text))


def joined_tokens(tokens: list[str]) -> str:
    """Tokens as one form: a blank only between two words of spaced scripts."""
    parts = []
    for place, token in enumerate(tokens):
        if place and not _IS_UNSPACED.match(token) and not _IS_UNSPACED.match(tokens[place - 1]):
            parts.append(" ")
        parts.append(token)
    return "".join(parts)


def normal_form(name: str) -> str:
    """What every way to write a name shares: width, case, punctuation and blanks are folded.

    Two names with one form are the same name; whether they are the same thing is another question. A name without
    letters and digits is its own form.
    """
    return joined_tokens(name_tokens(name)) or _folded(clean_name(name))


def form_key(form: str) -> str:
    """A short key of a form that every database compares alike."""
    return fingerprint("name-form", form)


def fold_between(left: str, right: str) -> Fold:
    """The strongest difference between two names of one form."""
    if unicodedata.normalize("NFKC", left) == unicodedata.normalize("NFKC", right):
        return "width"
    return "case" if _folded(left) == _folded(right) else "punctuation"


def organization_form(form: str) -> str:
    """The form of an organization without the words for its legal form: `acme inc` and `acme` are one."""
    words = form.split(" ")
    while len(words) > 1 and words[-1] in _LEGAL_ENDINGS:
        words.pop()
    short = " ".join(words)
    for ending in _LEGAL_ENDINGS_UNSPACED:
        if short.endswith(ending) and len(short) - len(ending) >= _LEAST_UNSPACED_CHARS:
            return short.removesuffix(ending)
    return short


def singular_form(form: str) -> str:
    """The form with its last English word in the singular; any other form as it is.

    A stemmer goes too far here: it gives "organ" for "organization".
    """
    head, blank, last = form.rpartition(" ")
    if len(last) < _LEAST_PLURAL_CHARS or not last.isascii() or not last.isalpha():
        return form
    if last.endswith("ies"):
        last = f"{last[:-3]}y"
    elif last.endswith(_SIBILANT_PLURALS):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith(_NO_PLURALS):
        last = last[:-1]
    return f"{head}{blank}{last}"


def phrase_form(form: str) -> str:
    """The form without a leading article, and with `University of Oxford` as `oxford university`."""
    head, _, tail = form.removeprefix("the ").partition(" of ")
    if not tail or " of " in tail:
        return form.removeprefix("the ")
    return f"{tail.removeprefix('the ')} {head}"


def untitled_form(form: str) -> str:
    """The form of a person without a title: `dr mary jones` is `mary jones`, `李伟教授` is `李伟`."""
    words = form.split(" ")
    while len(words) > 2 and words[0] in _TITLES:  # noqa: PLR2004 (a title with one name may be the whole name)
        words.pop(0)
    short = " ".join(words)
    for ending in _TITLES_UNSPACED:
        if short.endswith(ending) and len(short) - len(ending) >= _LEAST_UNSPACED_CHARS:
            return short.removesuffix(ending)
    return short


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
