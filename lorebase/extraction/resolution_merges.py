"""Which names may be joined, and why: proposals found by blocking, so that there are about as many as names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, TypeVar

from rapidfuzz.distance import OSA

from lorebase.extraction.gazetteer import OTHER_TYPE
from lorebase.extraction.resolution_forms import (
    NameClass,
    clean_name,
    fold_between,
    normal_form,
    organization_form,
    phrase_form,
    singular_form,
    untitled_form,
)
from lorebase.extraction.resolution_senses import Sense, Sighting
from lorebase.fingerprint import fingerprint

WrittenReason = Literal["width", "case", "punctuation", "alias", "legal_form", "plural", "phrasing", "spelling"]
"""What can be read off two names, or is said of them."""

MergeReason = WrittenReason | Literal["translation", "abbreviation"]
"""The last two are proposed by vectors; their score is the cosine, and they come after all others."""

SCORE_OF_REASON: dict[WrittenReason, float] = {
    "width": 1.0,
    "case": 0.99,
    "punctuation": 0.98,
    "alias": 0.97,
    "legal_form": 0.95,
    "plural": 0.93,
    "phrasing": 0.92,
    "spelling": 0.9,
}
"""How sure each reason makes, the surest first. Where two proposals exclude each other, the surer one is taken."""

LEAST_MISSPELT_CHARS = 8
COMMON_CHUNKS = 3
"""A misspelling is rare: one name stands in one chunk alone, the other in at least this many."""

_GroupT = TypeVar("_GroupT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written, in one sense.

    Attributes:
        key: Its identity: the same in every build that sees the name in that sense.
        name: As written.
        sense: What it stands for.
        chunks: How many chunks it stands in.
    """

    key: str
    name: str
    sense: Sense
    chunks: int


@dataclass(frozen=True, slots=True)
class Merge:
    """Two names of one entity; `left` is the smaller key. The score is from 0 to 1."""

    left: str
    right: str
    reason: MergeReason
    score: float

    @property
    def merge_id(self) -> str:
        """Its identity: the pair, whatever the reason."""
        return f"mrg-{fingerprint('merge', self.left, self.right)}"


def name_key(name: str, sense: Sense) -> str:
    """Identity of a name in a sense."""
    return fingerprint("name", name, sense.form, sense.kind, sense.told_by)


def names_of(sightings: Sequence[Sighting], senses: Sequence[Sense]) -> dict[tuple[str, Sense], Name]:
    """Every name in every sense, with the number of its chunks."""
    chunks: dict[tuple[str, Sense], set[str]] = defaultdict(set)
    for sighting, sense in zip(sightings, senses, strict=True):
        chunks[sighting.name, sense].add(sighting.chunk_id)
    return {
        (name, sense): Name(name_key(name, sense), name, sense, len(found))
        for (name, sense), found in sorted(chunks.items())
    }


def proposed_merges(sightings: Sequence[Sighting], senses: Sequence[Sense], names: Iterable[Name]) -> list[Merge]:
    """All pairs of names that may be one entity, the surest first.

    Args:
        sightings: All mentions.
        senses: Their senses.
        names: The names of those senses.
    """
    of_sense = _by_sense(names)
    first = {sense: _most_used(members) for sense, members in of_sense.items()}
    chunks_of = Counter({sense: sum(name.chunks for name in members) for sense, members in of_sense.items()})
    found: dict[tuple[str, str], Merge] = {}
    for merge in (
        *_written_differently(of_sense),
        *_by_alias(sightings, senses, first),
        *_by_key(first, "legal_form", partial(_legal_block, _untyped(sightings, senses))),
        *_by_key(first, "plural", _plural_block),
        *_by_key(first, "phrasing", _phrasing_block),
        *_by_spelling(first, chunks_of),
    ):
        known = found.get((merge.left, merge.right))
        if known is None or merge.score > known.score:
            found[merge.left, merge.right] = merge
    return sorted(found.values(), key=lambda merge: (-merge.score, merge.left, merge.right))


def most_used_of(names: Iterable[Name]) -> dict[Sense, Name]:
    """The name of each sense that stands in most chunks: the one that is joined to names of other senses."""
    return {sense: _most_used(members) for sense, members in _by_sense(names).items()}


def _by_sense(names: Iterable[Name]) -> dict[Sense, list[Name]]:
    of_sense: dict[Sense, list[Name]] = defaultdict(list)
    for name in names:
        of_sense[name.sense].append(name)
    return of_sense


def _most_used(names: Sequence[Name]) -> Name:
    return min(names, key=lambda name: (-name.chunks, name.name))


def _merge(left: Name, right: Name, reason: WrittenReason) -> Merge:
    first, second = sorted((left.key, right.key))
    return Merge(first, second, reason, SCORE_OF_REASON[reason])


def _written_differently(of_sense: Mapping[Sense, Sequence[Name]]) -> Iterator[Merge]:
    """Names of one form and sense: each with the most used one, and with its neighbour should that one be undone."""
    for members in of_sense.values():
        most_used = _most_used(members)
        for left, right in (*((most_used, name) for name in members), *pairwise(members)):
            if left is not right:
                yield _merge(left, right, fold_between(left.name, right.name))


def _by_alias(sightings: Sequence[Sighting], senses: Sequence[Sense], first: Mapping[Sense, Name]) -> Iterator[Merge]:
    """A name with the other names that a chunk gives its entity, where it is clear which thing those stand for."""
    of_form: dict[str, set[Sense]] = defaultdict(set)
    in_document: dict[tuple[str, str], set[Sense]] = defaultdict(set)
    for sighting, sense in zip(sightings, senses, strict=True):
        of_form[sense.form].add(sense)
        in_document[sighting.document_id, sense.form].add(sense)
    for sighting, sense in zip(sightings, senses, strict=True):
        for alias in sighting.mention.aliases:
            form = normal_form(clean_name(alias))
            for candidates in (in_document.get((sighting.document_id, form)), of_form.get(form)):
                fitting = [one for one in candidates or () if one.form != sense.form and _fit(one.kind, sense.kind)]
                if len(fitting) == 1:
                    yield _merge(first[sense], first[fitting[0]], "alias")
                if fitting:
                    break


def _fit(left: NameClass, right: NameClass) -> bool:
    return left == right or not left or not right


def _untyped(sightings: Sequence[Sighting], senses: Sequence[Sense]) -> set[Sense]:
    """Senses of which no chunk says what they are."""
    typed = {sense for sight, sense in zip(sightings, senses, strict=True) if sight.mention.type != OTHER_TYPE}
    return set(senses) - typed


def _legal_block(untyped: AbstractSet[Sense], sense: Sense) -> str | None:
    """Organizations by their name without its legal form; that name alone may stand without a type."""
    if sense.kind == "organization":
        return organization_form(sense.form)
    return sense.form if sense in untyped and not sense.told_by else None


def _plural_block(sense: Sense) -> str | None:
    return singular_form(sense.form) if not sense.kind else None


def _phrasing_block(sense: Sense) -> str | None:
    """Persons without titles, other names without article and with `A of B` as `B A`; only within one sense."""
    phrase = untitled_form(sense.form) if sense.kind == "person" else phrase_form(sense.form)
    return None if sense.kind == "date" else f"{sense.kind}/{sense.told_by}/{phrase}"


def _by_key(
    first: Mapping[Sense, Name], reason: WrittenReason, block_of: Callable[[Sense], str | None]
) -> Iterator[Merge]:
    """Names of different forms that share a key."""
    blocks = _blocks((block, name) for sense, name in first.items() if (block := block_of(sense)) is not None)
    for members in blocks.values():
        for left, right in pairwise(sorted(members, key=lambda name: (name.sense, name.name))):
            if left.sense.form != right.sense.form:
                yield _merge(left, right, reason)


def _by_spelling(first: Mapping[Sense, Name], chunks_of: Mapping[Sense, int]) -> Iterator[Merge]:
    """Long words with one letter wrong, missing, added or swapped, where one form is rare and the other is not.

    Persons are left out: with them one letter makes another one.
    """
    blocks = _blocks(
        (block, name)
        for sense, name in first.items()
        if sense.kind in {"", "organization"}
        for block in _misspelling_blocks(sense)
    )
    for members in blocks.values():
        common = [name for name in members if chunks_of[name.sense] >= COMMON_CHUNKS]
        if len(common) != 1:  # more than one: nobody can say which of them is meant
            continue
        for name in members:
            if chunks_of[name.sense] == 1 and OSA.distance(name.sense.form, common[0].sense.form) == 1:
                yield _merge(name, common[0], "spelling")


def _misspelling_blocks(sense: Sense) -> Iterator[tuple[str, str, str]]:
    """Every form that one missing letter makes of a long word: names that differ in one letter share one of them."""
    words = sense.form.split(" ")
    for place, word in enumerate(words):
        if len(word) < LEAST_MISSPELT_CHARS or not word.isascii() or not word.isalpha():
            continue
        around = (" ".join(words[:place]), " ".join(words[place + 1 :]))
        for variant in {word, *(word[:cut] + word[cut + 1 :] for cut in range(len(word)))}:
            yield f"{sense.kind}/{around[0]}", variant, around[1]


def _blocks(pairs: Iterable[tuple[_GroupT, Name]]) -> dict[_GroupT, list[Name]]:
    blocks: dict[_GroupT, list[Name]] = defaultdict(list)
    for block, name in pairs:
        blocks[block].append(name)
    return blocks
