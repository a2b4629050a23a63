"""The sentences of a text."""

from __future__ import annotations

import re
from itertools import pairwise

from lorebase.documents.boundaries import sentence_starts

_NEW_LINE = re.compile(r"\n(?=\s*(?:\n|#{1,6}\s|[-*+]\s|\d+[.)]\s|\||>))|(?<=\|)\s*\n")


def sentences_of(text: str, *, is_table: bool = False) -> list[str]:
    """Sentences in reading order, without white space around them.

    A list item, a heading and a table row end with their line; other lines are wrapped prose.
    """
    found: list[str] = []
    for stretch in text.splitlines() if is_table else _NEW_LINE.split(text):
        starts = [0, *sentence_starts(stretch, 0, len(stretch)), len(stretch)]
        found += [" ".join(stretch[start:end].split()) for start, end in pairwise(starts)]
    return [sentence for sentence in found if sentence]
