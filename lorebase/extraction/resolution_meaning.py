"""Merges that vectors propose: names in two scripts, and abbreviations; other evidence decides about each.

No two names are joined because their vectors are near. A pair must be of one class, agree in every number and letter
that tells one thing of a kind from the next, and stand in like company in chunks of its own; persons must belong to the
same organization.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lorebase.extraction.name_vectors import NameSpace, name_vector_key
from lorebase.extraction.nearest import mutual_nearest
from lorebase.extraction.resolution_forms import NameClass, organization_form
from lorebase.extraction.resolution_merges import Merge, Name, most_used_of
from lorebase.extraction.resolution_senses import Sense, Sighting
from lorebase.extraction.resolution_signs import abbreviates, abbreviation_blocks, designators, script_of

SHARED_NEIGHBOURS = {"": 2, "organization": 1, "place": 1}
"""How many neighbours two names of a class must share; classes that are not here are never joined by company."""

LOOKED_AT_CHUNKS = 64
COMMON_NEIGHBOUR_CHUNKS = 20
COMMON_NEIGHBOUR_SHARE = 0.05
"""What stands in more chunks than both of these say is company of everything, and tells nothing."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    left: Sense
    right: Sense
    cosine: float


def merges_by_meaning(
    sightings: Sequence[Sighting], senses: Sequence[Sense], names: Iterable[Name], space: NameSpace
) -> list[Merge]:
    """Pairs of names that vectors propose and other evidence confirms, the nearest first.

    Args:
        sightings: All mentions.
        senses: Their senses.
        names: The names of those senses.
        space: Vectors of names; names without one are passed over.
    """
    first = most_used_of(names)
    vectors = {
        sense: vector
        for sense in told_apart(first)
        if (vector := space.vectors.get(name_vector_key(first[sense].name))) is not None
    }
    translations = list(_translations(vectors, space))
    company = _Company(sightings, senses, translations)
    found = [
        *(_merge(first, pair, "translation") for pair in translations if company.confirms(pair)),
        *(_merge(first, pair, "abbreviation") for pair in _abbreviations(vectors, space) if company.confirms(pair)),
    ]
    return sorted(found, key=lambda merge: (-merge.score, merge.left, merge.right))


def _merge(first: Mapping[Sense, Name], pair: _Candidate, reason: str) -> Merge:
    left, right = sorted((first[pair.left].key, first[pair.right].key))
    return Merge(left, right, "translation" if reason == "translation" else "abbreviation", pair.cosine)


def told_apart(senses: Iterable[Sense]) -> list[Sense]:
    """Senses that are the only one of their form and class, without dates; persons all, told apart by organizations."""
    known = list(senses)
    count = Counter((sense.form, sense.kind) for sense in known)
    return sorted(
        sense
        for sense in known
        if sense.kind == "person" or (sense.kind in SHARED_NEIGHBOURS and count[sense.form, sense.kind] == 1)
    )


def _translations(vectors: Mapping[Sense, NDArray[np.float32]], space: NameSpace) -> Iterator[_Candidate]:
    """Names of one class in two scripts, each the other's nearest."""
    groups: dict[tuple[NameClass, str], list[Sense]] = defaultdict(list)
    for sense in vectors:
        groups[sense.kind, script_of(sense.form)].append(sense)
    for (kind, script), (other_kind, other_script) in combinations(sorted(groups), 2):
        if kind != other_kind or not script or not other_script:
            continue
        ones, others = groups[kind, script], groups[kind, other_script]
        for pair in mutual_nearest(
            np.stack([vectors[sense] for sense in ones]),
            np.stack([vectors[sense] for sense in others]),
            least=space.cosines.translation,
            margin=space.cosines.margin,
        ):
            left, right = ones[pair.left], others[pair.right]
            if designators(left.form) == designators(right.form):
                yield _Candidate(left, right, pair.cosine)


def abbreviation_pairs(senses: Iterable[Sense]) -> Iterator[tuple[Sense, Sense]]:
    """Short names with every long name of their class that has their letters; persons and dates have none."""
    known = [sense for sense in senses if sense.kind in SHARED_NEIGHBOURS]
    blocks: dict[tuple[NameClass, str], list[Sense]] = defaultdict(list)
    for sense in known:
        for block in abbreviation_blocks(sense.form):
            blocks[sense.kind, block].append(sense)
    for short in known:
        for long in {one for block in (short.form, short.form[:1]) for one in blocks.get((short.kind, block), ())}:
            if abbreviates(short.form, long.form):
                yield short, long


def affiliations_of(sightings: Sequence[Sighting], senses: Sequence[Sense]) -> dict[Sense, set[str]]:
    """Forms of the organizations of each sense."""
    found: dict[Sense, set[str]] = defaultdict(set)
    for sighting, sense in zip(sightings, senses, strict=True):
        found[sense] |= sighting.affiliations
    return found


def _abbreviations(vectors: Mapping[Sense, NDArray[np.float32]], space: NameSpace) -> Iterator[_Candidate]:
    """Short names with the only long name of their class that has their letters and is near."""
    long_of: dict[Sense, list[_Candidate]] = defaultdict(list)
    for short, long in abbreviation_pairs(vectors):
        cosine = round(float(vectors[short] @ vectors[long]), 4)
        if cosine >= space.cosines.abbreviation:
            long_of[short].append(_Candidate(short, long, cosine))
    yield from (found[0] for found in long_of.values() if len(found) == 1)


class _Company:
    """What stands beside what, where it tells something."""

    def __init__(
        self, sightings: Sequence[Sighting], senses: Sequence[Sense], translations: Sequence[_Candidate]
    ) -> None:
        self._sightings = sightings
        self._senses = senses
        self._translations = translations
        self._in_chunk: dict[str, set[Sense]] = defaultdict(set)
        self._chunks_of: dict[Sense, set[str]] = defaultdict(set)
        for sighting, sense in zip(sightings, senses, strict=True):
            self._in_chunk[sighting.chunk_id].add(sense)
            self._chunks_of[sense].add(sighting.chunk_id)
        self._common = max(COMMON_NEIGHBOUR_CHUNKS, COMMON_NEIGHBOUR_SHARE * len(self._in_chunk))
        self._other: dict[Sense, Sense] = {}
        for pair in translations:
            self._other |= {pair.left: pair.right, pair.right: pair.left}

    def confirms(self, pair: _Candidate) -> bool:
        """Whether the two stand in like company: the same names, or names that translate each other.

        Chunks that name both do not count: all that stands there is beside the one as well as beside the other.
        """
        if pair.left.kind == "person":
            return not self._ties(pair.left).isdisjoint(self._ties(pair.right))
        mine, others = self._neighbours(pair.left, pair.right), self._neighbours(pair.right, pair.left)
        shared = sum(one in others or self._other.get(one) in others for one in mine)
        return shared >= SHARED_NEIGHBOURS[pair.left.kind]

    def _neighbours(self, sense: Sense, other: Sense) -> set[Sense]:
        chunks = sorted(self._chunks_of[sense] - self._chunks_of[other])[:LOOKED_AT_CHUNKS]
        beside = {one for chunk in chunks for one in self._in_chunk[chunk]}
        forms = {sense.form, other.form}
        return {one for one in beside if one.form not in forms and len(self._chunks_of[one]) <= self._common}

    def _ties(self, person: Sense) -> set[str]:
        """Forms of the person's organizations, in both languages where a translation is likely."""
        ties = self._affiliations.get(person, set())
        return ties | {self._organization[form] for form in ties if form in self._organization}

    @cached_property
    def _affiliations(self) -> dict[Sense, set[str]]:
        return affiliations_of(self._sightings, self._senses)

    @cached_property
    def _organization(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for pair in self._translations:
            if pair.left.kind == "organization":
                left, right = organization_form(pair.left.form), organization_form(pair.right.form)
                found |= {left: right, right: left}
        return found
