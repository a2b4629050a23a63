"""How well full-text search finds the paragraph that answers a question (XQuAD)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from opencc import OpenCC

from lorebase.adapters.milvus import MilvusIndexStore
from lorebase.index.ports import EntityFields, TextEntity

DATA = os.environ.get("LOREBASE_TEST_DATA", "")


@pytest.mark.skipif(not DATA, reason="LOREBASE_TEST_DATA is not set")
@pytest.mark.parametrize(("language", "written"), [("en", str), ("zh", str), ("zh", OpenCC("s2twp").convert)])
async def test_full_text_search_finds_the_answering_paragraph(
    tmp_path: Path, language: str, written: Callable[[str], str]
) -> None:
    """The last: questions as people in Taiwan write them, over paragraphs in simplified characters."""
    content = json.loads((Path(DATA) / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))
    paragraphs = [paragraph for article in content["data"] for paragraph in article["paragraphs"]]
    questions = [
        (written(qa["question"]), f"c{at}") for at, paragraph in enumerate(paragraphs) for qa in paragraph["qas"]
    ][::2]
    store = MilvusIndexStore.in_folder(tmp_path)
    index = store.lexical("xquad")
    await index.upsert(
        [
            TextEntity(EntityFields(f"c{at}", "d", "r", "b"), paragraph["context"])
            for at, paragraph in enumerate(paragraphs)
        ]
    )

    rankings = [([found.chunk_id for found in await index.search(text, (), 10)], sought) for text, sought in questions]

    await store.close()
    recall_at_5 = sum(sought in ranking[:5] for ranking, sought in rankings) / len(rankings)
    reciprocal_ranks = [1 / (ranking.index(sought) + 1) for ranking, sought in rankings if sought in ranking]
    assert recall_at_5 >= 0.97
    assert sum(reciprocal_ranks) / len(rankings) >= 0.94
