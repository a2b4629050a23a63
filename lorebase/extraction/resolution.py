"""Resolution: which mentions of a whole knowledge base name the same entity.

The decision depends on what was said, never on the order in which it was read. Names are first told apart (senses),
then joined by the merges that exclude none that is surer; every merge is recorded with its reason and can be undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lorebase.extraction.mentions import ChunkEntities, ChunkRelations
from lorebase.extraction.name_vectors import NameSpace
from lorebase.extraction.resolution_forms import NameClass, normal_form
from lorebase.extraction.resolution_kinds import ResolvedMention
from lorebase.extraction.resolution_meaning import merges_by_meaning
from lorebase.extraction.resolution_merges import Merge, Name, names_of, proposed_merges
from lorebase.extraction.resolution_senses import Sense, Sighting, senses_of, sightings_of
from lorebase.fingerprint import fingerprint

MAX_DESCRIPTION_CHARS = 500
MAX_ALIASES = 8

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What resolution decided.

    Attributes:
        mentions: Every mention with its entity, by document, chunk, name and type.
        entities: How many entities there are.
        merges: How many names were joined to another.
        refused: How many pairs were kept apart because somebody asked for it.
    """

    mentions: list[ResolvedMention]
    entities: int
    merges: int
    refused: int


def resolve(
    entities: Iterable[ChunkEntities],
    relations: Iterable[ChunkRelations],
    kept_apart: Iterable[Pair] = (),
    space: NameSpace | None = None,
) -> Resolution:
    """Give every mention its entity.

    Args:
        entities: Mentions of the whole base, in any order.
        relations: Relations of the same chunks, in any order; they are evidence for telling homonyms apart.
        kept_apart: Pairs of name keys that must not end in one entity; pairs of unknown names are passed over.
        space: Vectors of names; with them, names in two scripts and abbreviations are found as well.
    """
    sightings = sightings_of(entities, relations)
    senses = senses_of(sightings)
    names = names_of(sightings, senses)
    clusters = _Clusters(names.values(), kept_apart)
    for merge in _proposals(sightings, senses, list(names.values()), space):
        clusters.join(merge)
    joined_by, entity_of = clusters.trees()
    mentions = {
        (row.document_id, row.chunk_id, row.name, row.type): row
        for row in (
            _mention(sighting, names[sighting.name, sense], entity_of, joined_by, clusters)
            for sighting, sense in zip(reversed(sightings), reversed(senses), strict=True)
        )
    }
    return Resolution(
        mentions=[mentions[key] for key in sorted(mentions)],
        entities=len(set(entity_of.values())),
        merges=len(joined_by),
        refused=clusters.refused,
    )


def _proposals(
    sightings: Sequence[Sighting], senses: Sequence[Sense], names: Sequence[Name], space: NameSpace | None
) -> list[Merge]:
    """All proposals, each pair once, the surest first: what vectors propose comes last."""
    written = proposed_merges(sightings, senses, names)
    if space is None or not space.vectors:
        return written
    known = {(merge.left, merge.right) for merge in written}
    meant = merges_by_meaning(sightings, senses, names, space)
    return [*written, *(merge for merge in meant if (merge.left, merge.right) not in known)]


def _mention(
    sighting: Sighting, name: Name, entity_of: Mapping[str, str], joined_by: Mapping[str, Merge], clusters: _Clusters
) -> ResolvedMention:
    merge = joined_by.get(name.key)
    excluded = clusters.excluded_forms(name.key)
    aliases = [alias for alias in sighting.mention.aliases if not excluded or normal_form(alias) not in excluded]
    return ResolvedMention(
        document_id=sighting.document_id,
        chunk_id=sighting.chunk_id,
        entity_id=entity_of[name.key],
        name_key=name.key,
        name=name.name,
        type=sighting.mention.type,
        description=sighting.mention.description[:MAX_DESCRIPTION_CHARS],
        aliases=tuple(aliases[:MAX_ALIASES]),
        confidence=sighting.mention.confidence,
        merge_id=merge.merge_id if merge else "",
        merged_with=(merge.left if merge.right == name.key else merge.right) if merge else "",
        merge_reason=merge.reason if merge else "",
        merge_score=merge.score if merge else 0.0,
    )


@dataclass
class _Cluster:
    """Names of one entity so far, and what they exclude."""

    members: set[str]
    kind: NameClass
    senses: dict[str, Sense]
    apart: set[str] = field(default_factory=set)


class _Clusters:
    """Names put together one merge after the other."""

    def __init__(self, names: Iterable[Name], kept_apart: Iterable[Pair]) -> None:
        self.refused = 0
        self._form_of: dict[str, str] = {}
        self._of_name: dict[str, _Cluster] = {}
        for name in names:
            self._form_of[name.key] = name.sense.form
            self._of_name[name.key] = _Cluster({name.key}, name.sense.kind, {name.sense.form: name.sense})
        self._taken: list[Merge] = []
        for left, right in kept_apart:
            if left in self._of_name and right in self._of_name:
                self._of_name[left].apart.add(right)
                self._of_name[right].apart.add(left)

    def join(self, merge: Merge) -> None:
        """Join two names, unless they are one already, or what they are joined to excludes it."""
        large, small = self._of_name[merge.left], self._of_name[merge.right]
        if large is small:
            return
        if len(large.members) < len(small.members):
            large, small = small, large
        if not small.apart.isdisjoint(large.members) or not large.apart.isdisjoint(small.members):
            self.refused += 1
            return
        if (large.kind and small.kind and large.kind != small.kind) or _are_homonyms(large.senses, small.senses):
            return
        large.members |= small.members
        large.apart |= small.apart
        large.senses |= small.senses
        large.kind = large.kind or small.kind
        for member in small.members:
            self._of_name[member] = large
        self._taken.append(merge)

    def excluded_forms(self, name: str) -> set[str]:
        """Forms of the names that somebody keeps apart from this one's entity: they are no aliases of it."""
        return {self._form_of[other] for other in self._of_name[name].apart}

    def trees(self) -> tuple[dict[str, Merge], dict[str, str]]:
        """The merge that joined each name to its entity, but for one name of each; and the entity of each name."""
        neighbours: dict[str, list[tuple[str, Merge]]] = defaultdict(list)
        for merge in self._taken:
            neighbours[merge.left].append((merge.right, merge))
            neighbours[merge.right].append((merge.left, merge))
        joined_by: dict[str, Merge] = {}
        entity_of: dict[str, str] = {}
        for root in sorted(self._of_name):
            if root not in entity_of:
                _walk(root, f"ent-{fingerprint('entity', root)}", neighbours, joined_by, entity_of)
        return joined_by, entity_of


def _are_homonyms(left: Mapping[str, Sense], right: Mapping[str, Sense]) -> bool:
    """Whether the two hold different senses of one form."""
    small, large = sorted((left, right), key=len)
    return any(form in large and large[form] != sense for form, sense in small.items())


def _walk(
    root: str,
    entity_id: str,
    neighbours: Mapping[str, Sequence[tuple[str, Merge]]],
    joined_by: dict[str, Merge],
    entity_of: dict[str, str],
) -> None:
    entity_of[root] = entity_id
    waiting = [root]
    while waiting:
        name = waiting.pop()
        for other, merge in neighbours.get(name, ()):
            if other not in entity_of:
                entity_of[other] = entity_id
                joined_by[other] = merge
                waiting.append(other)
