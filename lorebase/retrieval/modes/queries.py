"""What counts as a query that a model wrote: one line, not too long, and not one that there is already."""

from __future__ import annotations

import unicodedata

import regex

MAX_WRITTEN_CHARS = 300
"""Longest query taken from a model; one that is longer is no query."""

_NO_WORD = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def one_line(text: str) -> str:
    """The text with every white space as one blank, none around it; empty where it is too long for a query."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_WRITTEN_CHARS else ""


def query_key(text: str) -> str:
    """Equal for queries that differ in width, case, punctuation and white space only."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _NO_WORD.sub(" ", folded).strip() or folded.strip()


def new_queries(question: str, written: list[str], most: int) -> list[str]:
    """At most `most` of what a model wrote, in its order, without repetitions and without the question."""
    seen = {query_key(question), ""}
    new = []
    for text in map(one_line, written):
        key = query_key(text)
        if key not in seen:
            seen.add(key)
            new.append(text)
    return new[:most]
