"""The entities of a chunk by rule: known names, definitions, abbreviations, proper names, the section's title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lorebase.documents.model import Chunk
from lorebase.extraction.folding import FoldedText, folded
from lorebase.extraction.gazetteer import OTHER_TYPE, GazetteerEntry
from lorebase.extraction.mentions import NOT_IN_TEXT, EntityMention, ExtractionMethod
from lorebase.extraction.rules.chinese_names import chinese_names
from lorebase.extraction.rules.english_names import english_names
from lorebase.extraction.rules.known_names import KnownNames
from lorebase.extraction.rules.patterns import TOPIC_TYPE, abbreviations, definitions, section_title
from lorebase.extraction.rules.tagging import is_chinese, sentences, tag_chinese, tag_english

CONFIDENCE: dict[ExtractionMethod, float] = {
    "gazetteer": 1.0,
    "abbreviation": 0.9,
    "definition": 0.8,
    "name": 0.6,
    "heading": 0.4,
}
_SPECIFIC_FIRST = {method: rank for rank, method in enumerate(CONFIDENCE)}


@dataclass(frozen=True, slots=True)
class ReadEntities:
    """The entities of one chunk.

    Attributes:
        entities: By their first place.
        dropped: How many more there were than the limit.
    """

    entities: tuple[EntityMention, ...]
    dropped: int = 0


class EntityRules:
    """Reads entities by rule. Safe to use from several threads; never raises for any text.

    Args:
        gazetteer: Names known beforehand.
        entity_types: Types to keep, in lower case; none keeps all.
        most: Most entities of one chunk; the surest ones stay.
    """

    def __init__(
        self, gazetteer: Sequence[GazetteerEntry] = (), entity_types: Iterable[str] = (), most: int = 32
    ) -> None:
        self._known = KnownNames(gazetteer)
        self._types = frozenset(entity_types)
        self._most = most

    def read(self, chunk: Chunk) -> ReadEntities:
        """Entities that the chunk names; the spans of those that stand in its text are exact."""
        found = [*self._known_in(chunk), *_stated(chunk.text), *_titled(chunk)]
        kept = [mention for mention in _merged(found) if not self._types or mention.type in self._types]
        surest = sorted(kept, key=lambda mention: -mention.confidence)[: self._most]
        return ReadEntities(tuple(sorted(surest, key=_place)), len(kept) - len(surest))

    def _known_in(self, chunk: Chunk) -> Iterator[EntityMention]:
        for known in self._known.find(chunk.text):
            name = chunk.text[known.start : known.end]
            others = tuple(other for other in known.entry.names if folded(other) != folded(name))
            yield _mention(chunk.text, known.start, known.end, known.entry.type.lower(), "gazetteer", aliases=others)
        above = "\n".join(chunk.heading_path)
        for known in self._known.find(above):
            yield EntityMention(above[known.start : known.end], known.entry.type.lower(), method="gazetteer")


def _stated(text: str) -> Iterator[EntityMention]:
    for start, end in sentences(text):
        sentence = text[start:end]
        if is_chinese(sentence):
            names = chinese_names(text, tag_chinese(text, start, end))
        else:
            names = english_names(text, tag_english(text, start, end))
        spans = [(name.start, name.end) for name in names]
        for short in abbreviations(text, start, end, spans):
            kind = next((name.type for name in names if name.end == short.end), OTHER_TYPE)
            alias = text[short.short_start : short.short_end]
            yield _mention(text, short.start, short.end, kind, "abbreviation", aliases=(alias,))
        for defined in definitions(text, start, end):
            yield _mention(text, defined.start, defined.end, defined.type, "definition", description=sentence)
        for name in names:
            yield _mention(text, name.start, name.end, name.type, "name")


def _titled(chunk: Chunk) -> Iterator[EntityMention]:
    title = section_title(chunk.heading_path)
    if not title:
        return
    place = FoldedText(chunk.text).find(title)
    if place is None:
        yield EntityMention(title, TOPIC_TYPE, confidence=CONFIDENCE["heading"], method="heading")
    else:
        yield _mention(chunk.text, *place, TOPIC_TYPE, "heading")


def _mention(
    text: str,
    start: int,
    end: int,
    kind: str,
    method: ExtractionMethod,
    *,
    description: str = "",
    aliases: tuple[str, ...] = (),
) -> EntityMention:
    return EntityMention(text[start:end], kind, description, start, end, CONFIDENCE[method], method, aliases)


def _merged(found: Iterable[EntityMention]) -> list[EntityMention]:
    """One mention a name: the surest rule says how it was found, all of them what is known of it.

    A name inside a surer one, such as the city in a university's name, is left out.
    """
    by_name: dict[str, EntityMention] = {}
    taken: list[tuple[int, int]] = []
    for mention in sorted(found, key=lambda mention: _SPECIFIC_FIRST[mention.method]):
        keys = [folded(name) for name in (mention.name, *mention.aliases)]
        known = next((key for key in keys if key in by_name), None)
        if known is not None:
            target = by_name[known]
            by_name[folded(target.name)] = _joined(target, mention)
            by_name.update((key, by_name[folded(target.name)]) for key in _keys(by_name[folded(target.name)]))
        elif keys[0] and not _is_inside(mention, taken):
            by_name.update((key, mention) for key in keys if key)
            taken.append((mention.start, mention.end))
    return list({id(mention): mention for mention in by_name.values()}.values())


def _keys(mention: EntityMention) -> list[str]:
    return [folded(name) for name in (mention.name, *mention.aliases)]


def _joined(first: EntityMention, other: EntityMention) -> EntityMention:
    spelled = [name for name in (other.name, *other.aliases) if folded(name) not in _keys(first)]
    joined = replace(
        first,
        type=other.type if first.type == OTHER_TYPE else first.type,
        description=first.description or other.description,
        aliases=(*first.aliases, *dict.fromkeys(spelled)),
    )
    is_earlier = other.start != NOT_IN_TEXT and not 0 <= first.start <= other.start
    if is_earlier and folded(other.name) == folded(first.name):
        return replace(joined, name=other.name, start=other.start, end=other.end)
    return joined


def _is_inside(mention: EntityMention, taken: Sequence[tuple[int, int]]) -> bool:
    return mention.start != NOT_IN_TEXT and any(
        start <= mention.start and mention.end <= end for start, end in taken if start != NOT_IN_TEXT
    )


def _place(mention: EntityMention) -> tuple[int, int, str]:
    return (mention.start, mention.end, mention.name)
