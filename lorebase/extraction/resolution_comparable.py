"""Which names vectors can join at all: the only ones worth the embedding of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from lorebase.extraction.mentions import ChunkEntities, ChunkRelations
from lorebase.extraction.resolution_forms import NameClass
from lorebase.extraction.resolution_meaning import abbreviation_pairs, affiliations_of, told_apart
from lorebase.extraction.resolution_merges import most_used_of, names_of
from lorebase.extraction.resolution_senses import Sense, Sighting, senses_of, sightings_of
from lorebase.extraction.resolution_signs import designators, script_of

LEAST_SCRIPT_SHARE = 0.1
"""Share of a document's names from which it is also written in their script.

Below it they are foreign words in a text of another language, such as the links of a web page to its translations.
Measured on such pages (at most 0.03) and on documents in two languages (benchmarks/README.md); any share between gives
the same names.
"""

_Kin = tuple[NameClass, tuple[str, ...]]


def comparable_names(entities: Iterable[ChunkEntities], relations: Iterable[ChunkRelations]) -> frozenset[str]:
    """The names, as written, of which `merges_by_meaning` can make anything; it looks up no others.

    A thing's most used spelling stands for it: spelling joins the rest. It must have a counterpart of its class, in
    one of two ways:

    - in another script, with the same numbers and single letters, where the base has documents in both scripts;
    - as a short name to a long one that has its letters, or as that long one.

    Dates are never joined, and persons only where something ties them to an organization.

    Args:
        entities: Mentions of the whole base, in any order.
        relations: Relations of the same chunks, in any order.
    """
    sightings = sightings_of(entities, relations)
    senses = senses_of(sightings)
    tied = affiliations_of(sightings, senses)
    joinable = {sense for sense in told_apart(set(senses)) if sense.kind != "person" or tied[sense]}
    wanted = {sense for pair in abbreviation_pairs(joinable) for sense in pair}
    wanted |= set(_with_counterpart(joinable & _in_own_script(sightings, senses)))
    first = most_used_of(names_of(sightings, senses).values())
    return frozenset(first[sense].name for sense in wanted)


def _in_own_script(sightings: Sequence[Sighting], senses: Sequence[Sense]) -> set[Sense]:
    """Senses that some document written in their script names."""
    scripts: dict[str, Counter[str]] = defaultdict(Counter)
    named: dict[str, set[Sense]] = defaultdict(set)
    for sighting, sense in zip(sightings, senses, strict=True):
        if script := script_of(sense.form):
            scripts[sighting.document_id][script] += 1
            named[sighting.document_id].add(sense)
    found: set[Sense] = set()
    for document, counts in scripts.items():
        least = LEAST_SCRIPT_SHARE * counts.total()
        own = {script for script, count in counts.items() if count >= least}
        found.update(sense for sense in named[document] if script_of(sense.form) in own)
    return found


def _with_counterpart(senses: AbstractSet[Sense]) -> Iterator[Sense]:
    """Those of whose kin some are in another script."""
    kin = {sense: (sense.kind, designators(sense.form)) for sense in senses}
    scripts: dict[_Kin, set[str]] = defaultdict(set)
    for sense in senses:
        scripts[kin[sense]].add(script_of(sense.form))
    yield from (sense for sense in senses if len(scripts[kin[sense]]) > 1)
