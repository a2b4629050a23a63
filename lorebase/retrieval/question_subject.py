"""Whether a question names anything that can be looked up."""

from __future__ import annotations

import unicodedata

import regex

from lorebase.characters import simplified
from lorebase.extraction.resolution_forms import name_tokens
from lorebase.retrieval.question_words import LONGEST, NAMELESS

_ACRONYM = regex.compile(r"(?<![\p{Latin}\p{N}])(?!OK(?!\p{Latin}))\p{Lu}{2,}(?![\p{Latin}\p{N}])")


def names_subject(question: str) -> bool:
    """Whether something is left of a question without the words that name nothing.

    "What is this collection about?", "tell me more", "你是谁？" and a greeting consist of such words alone: whatever a
    search finds for them is arbitrary, so that nothing is evidence. One unknown word is enough to name something, so a
    question in any other language does. "WHO" and "IT" name something where the text is not written in capitals
    throughout.

    Args:
        question: Any text; one without letters and digits names nothing.
    """
    text = unicodedata.normalize("NFKC", question)
    if _ACRONYM.search(text) and any(one.isalpha() and not one.isupper() for one in text):
        return True
    tokens = name_tokens(simplified(text))
    reached = {0}  # ends of stretches from the beginning that such words make up
    for start in range(len(tokens)):
        if start in reached:
            ends = range(start + 1, min(start + LONGEST, len(tokens)) + 1)
            reached.update(end for end in ends if tuple(tokens[start:end]) in NAMELESS)
    return len(tokens) not in reached
