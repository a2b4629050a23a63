"""Which languages a base is told to hold."""

from __future__ import annotations

import pytest

from lorebase.documents.model import Chunk
from lorebase.retrieval.modes.base_languages import languages_in

ENGLISH = "The lamp on the pier burns whale oil."
CHINESE = "灯塔每晚八点亮灯。"


def chunk(text: str) -> Chunk:
    return Chunk("c", "doc", "rev", "notes.md", "notes", 0, text, 0, len(text), ())


@pytest.mark.parametrize(
    ("texts", "languages"),
    [
        ([ENGLISH], {"en"}),
        ([CHINESE], {"zh"}),
        ([ENGLISH, CHINESE], {"en", "zh"}),
        ([CHINESE, "12 345 678", "A-1 B-2"], {"zh"}),
        ([CHINESE] * 99 + [ENGLISH], {"zh"}),
        ([], set()),
    ],
)
def test_a_language_counts_that_a_share_of_the_chunks_is_in(texts: list[str], languages: set[str]) -> None:
    assert languages_in([chunk(text) for text in texts]) == languages
