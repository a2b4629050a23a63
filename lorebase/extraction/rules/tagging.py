"""Words of a sentence with what part of speech they are, in English and in Chinese."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import regex

from lorebase.documents.boundaries import line_starts, sentence_starts

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = regex.compile(
    r"""
      ['’]s\b
    | [\p{L}\p{N}](?: [\p{L}\p{M}\p{N}_] | [-.&](?=[\p{L}\p{N}]) | ['’](?!s\b)(?=\p{L}) )*+
    | \S
    """,
    regex.VERBOSE,
)
_FUNCTION_TAGS = frozenset(["CC", "DT", "EX", "IN", "PDT", "PRP", "PRP$", "TO", "WDT", "WP", "WP$", "WRB"])


@dataclass(frozen=True, slots=True)
class TaggedWord:
    """A word of a text.

    Attributes:
        text: Exactly the text from `start` to `end`.
        start: First code point in the text.
        end: One past its last.
        tag: As its language's tagger says: Penn Treebank for English (`NNP`, `VBD`), of jieba for Chinese (`ns`, `v`).
    """

    text: str
    start: int
    end: int
    tag: str


def sentences(text: str) -> list[tuple[int, int]]:
    """Sentences of a text without the white space around them; a line break ends one."""
    cuts = sorted({0, *sentence_starts(text, 0, len(text)), *line_starts(text, 0, len(text)), len(text)})
    spans = []
    for start, end in pairwise(cuts):
        part = text[start:end]
        left = start + len(part) - len(part.lstrip())
        right = end - (len(part) - len(part.rstrip()))
        if left < right:
            spans.append((left, right))
    return spans


def is_chinese(text: str) -> bool:
    """Whether a sentence is to be cut and tagged as Chinese: it holds a Chinese character."""
    return _HAN.search(text) is not None


def tag_english(text: str, start: int, end: int) -> list[TaggedWord]:
    """Words and punctuation marks of an English sentence `text[start:end]`."""
    matches = list(_WORD.finditer(text, start, end))
    tags = _english_tags([match.group() for match in matches])
    return [
        TaggedWord(match.group(), match.start(), match.end(), tag) for match, tag in zip(matches, tags, strict=True)
    ]


def tag_chinese(text: str, start: int, end: int) -> list[TaggedWord]:
    """Words and punctuation marks of a Chinese sentence `text[start:end]`."""
    words = []
    place = start
    for word, tag in _chinese_tagger()(text[start:end]):
        at = text.find(word, place, end)
        if at < 0:
            continue
        place = at + len(word)
        if not word.isspace():
            words.append(TaggedWord(word, at, place, tag))
    return words


def tag_sentence(text: str, start: int, end: int) -> list[TaggedWord]:
    """Words of a sentence in whichever of both languages it is."""
    return tag_chinese(text, start, end) if is_chinese(text[start:end]) else tag_english(text, start, end)


@lru_cache(maxsize=1 << 14)
def is_function_word(word: str) -> bool:
    """Whether an English word, however it is capitalised, is a pronoun, preposition, article and the like."""
    return _english_tags([word.lower()])[0] in _FUNCTION_TAGS


def is_known_word(word: str) -> bool:
    """Whether a word in lower case is one of the English lexicon."""
    return _english_parser().lexicon.get(word.lower()) is not None


def tagger_versions() -> str:
    """What decides the tags: the packages and their versions."""
    return f"jieba-py/{version('jieba-py')} textblob/{version('textblob')}"


def _english_tags(words: Sequence[str]) -> list[str]:
    return [str(tag or "") for _, tag in _english_parser().find_tags(list(words))]


@lru_cache(maxsize=1)
def _english_parser() -> Any:  # noqa: ANN401 (the package has no types)
    with warnings.catch_warnings():
        # It leaves the files of its lexicon to the garbage collector, and reads them with the first word.
        warnings.simplefilter("ignore", ResourceWarning)
        from textblob.en import parser  # noqa: PLC0415 (takes a second, which only rule extraction has to spend)

        parser.find_tags(["Harbours"])
    return parser


@lru_cache(maxsize=1)
def _chinese_tagger() -> Callable[[str], list[tuple[str, str]]]:
    with warnings.catch_warnings():
        # Python warns of its regular expressions when it compiles the package for the first time.
        warnings.simplefilter("ignore")
        import jieba  # noqa: PLC0415 (as above)
        from jieba import posseg  # noqa: PLC0415 (as above)
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.dt
    if not tokenizer.initialized:
        # Its own way would read and write a cache in the machine's shared temporary folder.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
    return lambda sentence: [(word, tag) for word, tag in posseg.dt.cut(sentence)]
