"""Whether a base holds English texts, Chinese texts, or both, told from a sample of its chunks."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable

from lorebase.artifacts.kinds import CHUNKS
from lorebase.artifacts.manifest import read_manifest
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import ObjectStore
from lorebase.documents.model import Chunk
from lorebase.extraction.languages import Language, language_of
from lorebase.retrieval.snapshot_chunks import ChunkCache

SAMPLE_CHUNKS = 500
"""Partitions are read until there are as many; any are a fair sample, as a document's digest decides where it lies."""

LEAST_SHARE = 0.02
"""Share of the sampled chunks that a language must have to count."""

_WORD = re.compile(r"[A-Za-z]{2,}")
_LEAST_WORDS = 5


def languages_in(chunks: Iterable[Chunk]) -> frozenset[Language]:
    """The languages of the chunks; one of numbers and codes alone has none."""
    counts = Counter(language for chunk in chunks if (language := _language_of(chunk.text)))
    least = max(1.0, LEAST_SHARE * counts.total())
    return frozenset(language for language, count in counts.items() if count >= least)


class SnapshotLanguages:
    """Tells the languages of snapshots, and remembers those of the last one.

    Args:
        store: Where snapshots lie.
        cache: Reads their chunks.
    """

    def __init__(self, store: ObjectStore, cache: ChunkCache) -> None:
        self._store = store
        self._cache = cache
        self._last: tuple[str, frozenset[Language]] = ("", frozenset())

    async def of(self, snapshot: Snapshot) -> frozenset[Language]:
        """The languages of a snapshot."""
        known_id, known = self._last
        if known_id == snapshot.snapshot_id:
            return known
        languages = await asyncio.to_thread(self._sampled, snapshot)
        self._last = (snapshot.snapshot_id, languages)
        return languages

    def _sampled(self, snapshot: Snapshot) -> frozenset[Language]:
        reference = snapshot.artifacts.get(CHUNKS.name)
        if reference is None:
            return frozenset()
        sample: list[Chunk] = []
        for entry in read_manifest(self._store, reference).partitions:
            sample.extend(self._cache.read(entry).values())
            if len(sample) >= SAMPLE_CHUNKS:
                break
        return languages_in(sample)


def _language_of(text: str) -> Language | None:
    language = language_of(text)
    return None if language == "en" and len(_WORD.findall(text)) < _LEAST_WORDS else language
