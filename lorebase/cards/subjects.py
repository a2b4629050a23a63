"""What cards are about, and the chunks that say something of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lorebase.documents.model import Chunk
from lorebase.extraction.folding import FoldedText, folded
from lorebase.extraction.resolution_kinds import ResolvedMention

MAX_SUBJECT_CHARS = 200
_NUMBER = re.compile(
    r"^(?:\d+(?:\.\d+)+\.?\s+|\d+[.)]\s+|\d+[、．]\s*|[一二三四五六七八九十]+、\s*|第[一二三四五六七八九十百\d]+[章节条]\s*)"
)


@dataclass(frozen=True, slots=True)
class CardSubject:
    """Something that can have a card.

    Attributes:
        key: Its identity: that of an entity, or its folded name.
        name: As most chunks write it.
        names: All its names.
        types: Types of the entity; none for a heading or a given name.
        chunks: Chunks that say something of it, those under a heading of its name first, then in reading order.
    """

    key: str
    name: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    chunks: tuple[Chunk, ...]


def subjects_of_entities(mentions: Iterable[ResolvedMention], chunks: Sequence[Chunk]) -> list[CardSubject]:
    """The entities of a resolved graph, those of most chunks first."""
    by_id = {chunk.chunk_id: chunk for chunk in chunks}
    of_entity: dict[str, list[ResolvedMention]] = defaultdict(list)
    for mention in mentions:
        if mention.chunk_id in by_id:
            of_entity[mention.entity_id].append(mention)
    subjects = []
    for entity_id, found in of_entity.items():
        names = _by_count(mention.name for mention in found)
        aliases = [alias for mention in found for alias in mention.aliases]
        there = {mention.chunk_id for mention in found}
        subjects.append(
            _subject(
                entity_id,
                tuple(dict.fromkeys([*names, *aliases])),
                tuple(_by_count(mention.type for mention in found)),
                [by_id[chunk_id] for chunk_id in there],
            )
        )
    return _most_said_first(subjects)


def subjects_of_headings(chunks: Sequence[Chunk]) -> list[CardSubject]:
    """Every heading that has text right under it, with all the chunks below it."""
    leaves = (plain_title(chunk.heading_path[-1]) for chunk in chunks if chunk.heading_path)
    titles = {folded(title): title for title in leaves}
    below: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        for key in {folded(plain_title(title)) for title in chunk.heading_path}:
            below[key].append(chunk)
    found = [
        _subject(key, (title,), (), below[key])
        for key, title in titles.items()
        if key and len(title) <= MAX_SUBJECT_CHARS
    ]
    return _most_said_first(found)


def plain_title(title: str) -> str:
    """A heading without the number before it; a heading that is nothing else stays."""
    return _NUMBER.sub("", title.strip()) or title.strip()


def subjects_given(names: Sequence[str], chunks: Sequence[Chunk]) -> list[CardSubject]:
    """Names that a recipe gives, in its order; one that no chunk holds has no chunks."""
    texts = [(chunk, FoldedText(chunk.indexed_text)) for chunk in chunks]
    return [
        _subject(folded(name), (name,), (), [chunk for chunk, text in texts if text.find(name) is not None])
        for name in dict.fromkeys(names)
    ]


def _subject(key: str, names: tuple[str, ...], types: tuple[str, ...], chunks: Sequence[Chunk]) -> CardSubject:
    wanted = {folded(name) for name in names}

    def place(chunk: Chunk) -> tuple[bool, str, int]:
        is_below = any(folded(plain_title(title)) in wanted for title in chunk.heading_path)
        return not is_below, chunk.document_name, chunk.position

    return CardSubject(key, names[0], names, types, tuple(sorted(chunks, key=place)))


def _most_said_first(subjects: Iterable[CardSubject]) -> list[CardSubject]:
    return sorted(subjects, key=lambda subject: (-len(subject.chunks), subject.name, subject.key))


def _by_count(values: Iterable[str]) -> list[str]:
    counts = Counter(value for value in values if value)
    return sorted(counts, key=lambda value: (-counts[value], value))
