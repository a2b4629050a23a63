"""Relations of a chunk by rule: two entities beside each other in a sentence, named by the verb between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from lorebase.extraction.folding import FoldedText
from lorebase.extraction.mentions import EntityMention, RelationMention
from lorebase.extraction.rules.tagging import TaggedWord, is_chinese, sentences, tag_sentence

STATED_CONFIDENCE = 0.5
BESIDE_CONFIDENCE = 0.2
_MOST_WORDS_BETWEEN = 14
_BESIDE = {True: "同现", False: "mentioned with"}
_CHINESE_WEAK_VERBS = frozenset(
    ["是", "有", "会", "能", "可", "可以", "要", "为", "使", "让", "应", "应该", "需", "需要"]
)
_CHINESE_VERB_TAGS = frozenset(["v", "vd", "vi", "vl", "vf", "vx"])
_MOST_WORDS_BY_WEAK_VERB = 4
_WORDS_AFTER = 4
_CLAUSE_MARKS = frozenset(",;:，；：、")
_PASSIVE_WORDS = frozenset(["由", "被"])
_LEADING_WORDS = _PASSIVE_WORDS | {"与", "和", "同", "跟"}
_ENGLISH_PHRASE_TAGS = ("VB", "MD", "RB", "IN", "TO", "RP")
_POSSESSIVE = "POS"


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    end: int
    entity: EntityMention


def read_relations(
    text: str, entities: Sequence[EntityMention], *, most: int
) -> tuple[tuple[RelationMention, ...], int]:
    """Relations between entities that stand beside each other in a sentence of the text.

    Args:
        text: Text of the chunk.
        entities: Its entities.
        most: Most relations; those with a verb stay first.

    Returns:
        Relations by their place, and how many more there were than `most`. A relation without a verb or preposition
        between its entities is called "mentioned with" or "同现", with little confidence.
    """
    found: dict[tuple[str, str, str], RelationMention] = {}
    places = _places(text, entities)
    for start, end in sentences(text):
        inside = [place for place in places if start <= place.start and place.end <= end]
        if len({place.entity.name for place in inside}) > 1:
            for relation in _in_sentence(text, start, end, inside):
                found.setdefault((relation.source, relation.target, relation.type), relation)
    kept = sorted(_without_idle(list(found.values())), key=lambda relation: -relation.confidence)[:most]
    return tuple(sorted(kept, key=lambda relation: relation.start)), max(0, len(found) - most)


def _places(text: str, entities: Sequence[EntityMention]) -> list[_Place]:
    """Where entities stand, the longest name at each place, from left to right."""
    searched = FoldedText(text)
    found = [
        _Place(start, end, entity)
        for entity in entities
        for name in (entity.name, *entity.aliases)
        for start, end in searched.find_all(name)
    ]
    chosen: list[_Place] = []
    for place in sorted(found, key=lambda place: (place.start, -place.end)):
        if not chosen or place.start >= chosen[-1].end:
            chosen.append(place)
    return chosen


def _in_sentence(text: str, start: int, end: int, places: Sequence[_Place]) -> Iterator[RelationMention]:
    words = tag_sentence(text, start, end)
    for left, right in pairwise(places):
        if left.entity.name == right.entity.name:
            continue
        kind = _stated(words, left, right, is_in_chinese=is_chinese(text[start:end]))
        yield RelationMention(
            left.entity.name,
            right.entity.name,
            kind or _BESIDE[is_chinese(text[start:end])],
            text[start:end] if kind else "",
            start,
            end,
            STATED_CONFIDENCE if kind else BESIDE_CONFIDENCE,
            "co_occurrence",
        )


def _stated(words: Sequence[TaggedWord], left: _Place, right: _Place, *, is_in_chinese: bool) -> str:
    """The words that relate two places, from the clause that leads to the second; empty where there are none."""
    between = [word for word in words if word.start >= left.end and word.end <= right.start]
    if len(between) > _MOST_WORDS_BETWEEN:
        return ""
    mark = max((at for at, word in enumerate(between) if word.text in _CLAUSE_MARKS), default=-1)
    clause = between[mark + 1 :]
    if not is_in_chinese:
        return _english_phrase(clause)
    after = [word for word in words if word.start >= right.end][:_WORDS_AFTER]
    return _chinese_verb(clause, is_whole=mark < 0) or _chinese_verb_after(clause, after)


def _english_phrase(between: Sequence[TaggedWord]) -> str:
    """The verb with what belongs to it, such as "was founded by"; else the only preposition."""
    first = next((at for at, word in enumerate(between) if word.tag.startswith(("VB", "MD"))), None)
    if first is None:
        words = [word for word in between if word.tag not in {"DT", _POSSESSIVE}]
        return words[0].text.lower() if len(words) == 1 and words[0].tag in {"IN", "TO"} else ""
    phrase = []
    for word in between[first:]:
        if not word.tag.startswith(_ENGLISH_PHRASE_TAGS):
            break
        phrase.append(word.text.lower())
    return " ".join(phrase)


def _chinese_verb(clause: Sequence[TaggedWord], *, is_whole: bool) -> str:
    """The verb, with 于 and the like right after it; a weak one only where nothing else is between the two."""
    for word, follows in zip_longest(clause, clause[1:]):
        has_preposition = follows is not None and follows.tag == "p" and follows.start == word.end
        if word.text in _CHINESE_WEAK_VERBS or not (
            word.tag in _CHINESE_VERB_TAGS or (has_preposition and word.tag in {"n", "vn"})
        ):
            continue
        return word.text + (follows.text if has_preposition and follows is not None else "")
    weak = next((word.text for word in clause if word.text in _CHINESE_WEAK_VERBS), "")
    return weak if is_whole and len(clause) <= _MOST_WORDS_BY_WEAK_VERB else ""


def _chinese_verb_after(clause: Sequence[TaggedWord], after: Sequence[TaggedWord]) -> str:
    """The verb behind the second entity, where a word leads to it: `由……提出`, `与……合作`."""
    if not clause or clause[-1].text not in _LEADING_WORDS:
        return ""
    verb = next((word.text for word in after if word.tag in _CHINESE_VERB_TAGS | {"vn"}), "")
    return f"由{verb}" if verb and clause[-1].text in _PASSIVE_WORDS else verb


def _without_idle(relations: Sequence[RelationMention]) -> list[RelationMention]:
    """Relations without those that only stand beside each other where the same two are also related by a verb."""
    stated = {
        frozenset((relation.source, relation.target))
        for relation in relations
        if relation.confidence > BESIDE_CONFIDENCE
    }
    return [
        relation
        for relation in relations
        if relation.confidence > BESIDE_CONFIDENCE or frozenset((relation.source, relation.target)) not in stated
    ]
