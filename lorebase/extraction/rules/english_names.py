"""Names in English sentences: runs of capitalised words, and what their words say about their type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from lorebase.extraction.gazetteer import OTHER_TYPE
from lorebase.extraction.rules.tagging import TaggedWord, is_function_word, is_known_word

_CONNECTORS = frozenset(["of", "the", "for", "de", "la", "le", "van", "von", "der", "den", "du", "di", "da", "al", "&"])
_CALENDAR = frozenset(
    [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march",
        "april", "may", "june", "july", "august", "september", "october", "november", "december", "yesterday",
        "today", "tomorrow",
    ]
)  # fmt: skip
_TITLES = frozenset(
    [
        "mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "lady", "lord", "president", "captain", "king",
        "queen", "prince", "princess", "pope", "saint", "senator", "judge",
    ]
)  # fmt: skip
_TYPE_WORDS: dict[str, frozenset[str]] = {
    "organization": frozenset(
        [
            "agency", "association", "authority", "bank", "board", "bureau", "church", "club", "college", "commission",
            "committee", "company", "congress", "cooperative", "corp", "corporation", "council", "court", "department",
            "foundation", "fund", "gmbh", "government", "group", "hospital", "inc", "institute", "institution",
            "laboratory", "league", "library", "limited", "llc", "ltd", "ministry", "museum", "office", "organisation",
            "organization", "parliament", "party", "press", "school", "senate", "society", "studio", "team", "trust",
            "union", "university",
        ]
    ),
    "place": frozenset(
        [
            "airport", "avenue", "bay", "beach", "bridge", "castle", "city", "coast", "county", "desert", "district",
            "forest", "harbor", "harbour", "island", "islands", "isle", "kingdom", "lake", "mount", "mountain",
            "mountains", "ocean", "park", "peninsula", "port", "province", "region", "republic", "river", "road", "sea",
            "square", "state", "states", "station", "street", "town", "valley", "village",
        ]
    ),
    "event": frozenset(["battle", "championship", "conference", "cup", "festival", "games", "olympics", "war"]),
}  # fmt: skip
_TAGGED_TYPES = {"PERS": "person", "LOC": "place", "ORG": "organization"}
_CAPITAL = regex.compile(r"\p{Lu}")
_ACRONYM = regex.compile(r"\p{Lu}[\p{Lu}\p{N}&.-]*\p{Lu}[\p{Lu}\p{N}&.-]*")
_MOST_SHOUTED = 3


@dataclass(frozen=True, slots=True)
class FoundName:
    """A name with its place in the text and what it probably is."""

    start: int
    end: int
    type: str


def english_names(text: str, words: Sequence[TaggedWord]) -> list[FoundName]:
    """Names in the words of one sentence.

    Args:
        text: The whole text, for evidence from its other sentences.
        words: The sentence, its punctuation marks included.
    """
    if _is_shouted(words):
        return []
    names = []
    for first, last in _runs(text, words):
        run = words[first : last + 1]
        name = _named(run, before=words[max(0, first - 2) : first])
        if name is not None:
            names.append(name)
    return names


def _runs(text: str, words: Sequence[TaggedWord]) -> Iterator[tuple[int, int]]:
    """First and last word of each run of capitalised words."""
    place = 0
    while place < len(words):
        if not _is_capitalised(words[place]):
            place += 1
            continue
        last = _run_end(text, words, place)
        first = _without_sentence_start(text, words, place, last)
        if first <= last:
            yield first, last
        place = last + 1


def _run_end(text: str, words: Sequence[TaggedWord], first: int) -> int:
    last = first
    place = first + 1
    while place < len(words) and _is_near(text, words[place - 1], words[place]):
        if _is_capitalised(words[place]):
            last = place
        elif words[place].text.lower() not in _CONNECTORS:
            break
        place += 1
    return last


def _is_near(text: str, left: TaggedWord, right: TaggedWord) -> bool:
    between = text[left.end : right.start]
    return len(between) == 1 and between == " "


def _is_capitalised(word: TaggedWord) -> bool:
    if not _CAPITAL.match(word.text):
        return False
    return _ACRONYM.fullmatch(word.text) is not None or not is_function_word(word.text)


def _without_sentence_start(text: str, words: Sequence[TaggedWord], first: int, last: int) -> int:
    """Where the run begins once a word is taken off that has its capital from the sentence's beginning."""
    if first > 0 or _ACRONYM.fullmatch(words[0].text):
        return first
    run = text[words[0].start : words[last].end]
    if text.find(f" {run}", words[0].start) >= 0:  # elsewhere it stands inside a sentence
        return first
    if last == 0:
        is_word = is_known_word(run) or regex.search(rf"\b{regex.escape(run.lower())}\b", text) is not None
        return 1 if is_word else 0
    begins_with_verb = words[0].tag.startswith(("VB", "RB", "MD", "UH")) and is_known_word(words[0].text)
    return 1 if begins_with_verb or words[0].text.lower() in _CALENDAR else 0


def _named(run: Sequence[TaggedWord], before: Sequence[TaggedWord]) -> FoundName | None:
    lowered = [word.text.lower() for word in run]
    if len(run) == 1 and (lowered[0] in _CALENDAR or lowered[0] in _TITLES or len(run[0].text) == 1):
        return None
    return FoundName(run[0].start, run[-1].end, _type_of(run, lowered, before))


def _type_of(run: Sequence[TaggedWord], lowered: Sequence[str], before: Sequence[TaggedWord]) -> str:
    if lowered[0] in _TITLES or any(word.text.lower() in _TITLES for word in before):
        return "person"
    for position in (-1, 0):  # "Oxford University", "University of Oxford"
        for name, cues in _TYPE_WORDS.items():
            if lowered[position] in cues:
                return name
    for word in run:
        kind = _TAGGED_TYPES.get(word.tag.partition("-")[2])
        if kind:
            return kind
    return OTHER_TYPE


def _is_shouted(words: Sequence[TaggedWord]) -> bool:
    """Whether a sentence is written in capitals throughout, so that they tell nothing."""
    lettered = [word.text for word in words if word.text[0].isalpha()]
    return len(lettered) >= _MOST_SHOUTED and all(word.isupper() for word in lettered)
