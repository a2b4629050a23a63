"""The words of a text, as lexical search counts them: the same on every store, because no store decides them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex
import snowballstemmer  # type: ignore[import-untyped]  # ships no types

from lorebase.characters import simplified

UNSPACED_SCRIPTS = ("Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar")
"""Scripts in which a space does not part words, or parts them too rarely to search by."""

_UNSPACED = "".join(rf"\p{{Script={script}}}" for script in UNSPACED_SCRIPTS)
_SPACED = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]"
_RUN = regex.compile(rf"(?P<unspaced>[{_UNSPACED}][{_UNSPACED}\p{{M}}]*)|(?P<word>{_SPACED}+)", regex.VERSION1)


def passage_words(text: str) -> list[str]:
    """Words under which a passage is found, in reading order.

    Letters are folded (NFKC, case, traditional Chinese to simplified), English endings taken off (Snowball). A run of
    an unspaced script gives each of its characters and each pair of neighbours, so that any stretch of it can be found
    without a dictionary.
    """
    return [word for run, unspaced in _runs(text) for word in ([*run, *_pairs(run)] if unspaced else [_stem(run)])]


def query_words(text: str) -> list[str]:
    """Words to look for: as `passage_words`, but a run of an unspaced script gives only pairs where it has any.

    The pairs are what tells passages apart; single characters would find nearly every Chinese passage.
    """
    return [word for run, unspaced in _runs(text) for word in (_pairs(run) or [run] if unspaced else [_stem(run)])]


def lookup_words(text: str) -> list[str]:
    """`query_words`, and the same in the characters of the query: rows of before these were folded hold such words."""
    words = query_words(text)
    known = set(words)
    written = [pair for run, unspaced in _runs(text, folds=False) if unspaced for pair in _pairs(run) or [run]]
    return words + [word for word in written if word not in known]


def _runs(text: str, *, folds: bool = True) -> list[tuple[str, bool]]:
    text = unicodedata.normalize("NFKC", text).casefold()
    if folds:
        text = simplified(text)
    return [(match.group(), match.lastgroup == "unspaced") for match in _RUN.finditer(text)]


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    # A stemmer keeps the word it works on in itself, so threads must not share one.
    stem: str = snowballstemmer.stemmer("english").stemWord(word)
    return stem
