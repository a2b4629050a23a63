"""Homonyms kept apart: which sense of its name each mention has, told by type, affiliation and what it is short for.

A document uses a name in one sense (Gale, Church and Yarowsky 1992, "One sense per discourse"), so evidence found
anywhere in a document holds for all of it. Where evidence speaks for several senses and a document has none of it, its
mentions are kept for themselves: a question about the one must never be answered from the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import regex

from lorebase.extraction.gazetteer import OTHER_TYPE
from lorebase.extraction.mentions import NOT_IN_TEXT, ChunkEntities, ChunkRelations, EntityMention, RelationMention
from lorebase.extraction.resolution_forms import (
    CLASS_OF_TYPE,
    NameClass,
    clean_name,
    normal_form,
    organization_form,
)

NEAR_CHARS = 32
"""Between a person and an organization that only stand in one sentence: so near, the one usually says whose it is."""

_ROLE = regex.compile(
    r"\b(works?|working|employ\w*|member|found\w*|chief|chair\w*|head|direct\w*|presid\w*|manag\w*|leads?|c[a-z]o)\b"
    r"|任职|就职|供职|担任|总裁|经理|主任|董事|负责人|创始|首席|创立|隶属|员工|成员",
    regex.IGNORECASE,
)

_COPULAS = frozenset({"is", "was", "are", "were", "是", "为"})


@dataclass(frozen=True, slots=True)
class Sighting:
    """A mention with what it takes to tell its sense.

    Attributes:
        document_id: The document.
        chunk_id: The chunk.
        mention: What was extracted.
        name: The name as written, cleaned.
        form: Its normal form.
        kind: Class of its type.
        affiliations: Forms of the organizations that the chunk ties a person to.
    """

    document_id: str
    chunk_id: str
    mention: EntityMention
    name: str
    form: str
    kind: NameClass
    affiliations: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class Sense:
    """One of the things that a form can stand for.

    Attributes:
        form: Normal form of the name.
        kind: Class; empty where nothing tells.
        told_by: What tells it from others of that form and class: an affiliation, or what it is short for.
    """

    form: str
    kind: NameClass
    told_by: str = ""


def sightings_of(entities: Iterable[ChunkEntities], relations: Iterable[ChunkRelations]) -> list[Sighting]:
    """All mentions, whatever order the chunks come in, by document and chunk."""
    stated = {row.chunk_id: row.relations for row in relations}
    found: list[Sighting] = []
    for row in sorted(entities, key=lambda row: (row.document_id, row.chunk_id)):
        forms = {mention.name: normal_form(mention.name) for mention in row.entities}
        for mention in row.entities:
            name = clean_name(mention.name)
            if not name:
                continue
            kind = CLASS_OF_TYPE.get(mention.type.casefold(), "")
            here = stated.get(row.chunk_id, ())
            if mention.type == OTHER_TYPE and _holds_office(mention, row.entities, here):
                kind = "person"
            ties = _affiliations(mention, row.entities, here) if kind == "person" else ()
            found.append(
                Sighting(row.document_id, row.chunk_id, mention, name, forms[mention.name], kind, frozenset(ties))
            )
    return found


def _holds_office(
    mention: EntityMention, mentions: Sequence[EntityMention], relations: Sequence[RelationMention]
) -> bool:
    """Whether something of no type is said to hold an office of an organization: then it is a person."""
    organizations = {one.name for one in mentions if _is_organization(one)}
    return any(
        relation.source == mention.name and relation.target in organizations and _names_role(relation)
        for relation in relations
    )


def _names_role(relation: RelationMention) -> bool:
    """Whether a relation is an office; `is` alone says it only with the sentence that it was read in."""
    if not _is_stated(relation):
        return False
    told = relation.description if relation.type.casefold() in _COPULAS else relation.type
    return _ROLE.search(told) is not None


def _affiliations(
    person: EntityMention, mentions: Sequence[EntityMention], relations: Sequence[RelationMention]
) -> Iterable[str]:
    """Organizations that a relation of the chunk or the person's description ties the person to."""
    by_name = {mention.name: mention for mention in reversed(mentions)}
    for mention in mentions:
        if _is_organization(mention) and mention.name in person.description:
            yield organization_form(normal_form(mention.name))
    for relation in relations:
        other = {relation.source: relation.target, relation.target: relation.source}.get(person.name)
        counterpart = by_name.get(other) if other is not None else None
        if counterpart is None:
            continue
        if not _is_stated(relation):
            tells = _is_organization(counterpart) and _are_near(person, counterpart)
        else:
            has_role = _names_role(relation) and not CLASS_OF_TYPE.get(counterpart.type.casefold())
            tells = _is_organization(counterpart) or has_role
        if tells:
            yield organization_form(normal_form(counterpart.name))


def _is_stated(relation: RelationMention) -> bool:
    """Whether words relate the two; rules also report those that only stand beside each other."""
    return relation.method != "co_occurrence" or bool(relation.description)


def _is_organization(mention: EntityMention) -> bool:
    return CLASS_OF_TYPE.get(mention.type.casefold()) == "organization"


def _are_near(left: EntityMention, right: EntityMention) -> bool:
    if NOT_IN_TEXT in {left.start, right.start}:
        return False
    first, second = sorted((left, right), key=lambda mention: mention.start)
    return second.start - first.end <= NEAR_CHARS


def senses_of(sightings: Sequence[Sighting]) -> list[Sense]:
    """The sense of each mention, in their order. It depends on what was seen, never on the order."""
    by_form: dict[str, list[int]] = defaultdict(list)
    for place, sighting in enumerate(sightings):
        by_form[sighting.form].append(place)
    claims = _claims(sightings)
    senses: dict[int, Sense] = {}
    for form, places in by_form.items():
        for told_by, part in _by_long_form(sightings, places, claims.get(form, {})).items():
            senses |= _senses_of_part(sightings, part, form, told_by)
    return [senses[place] for place in range(len(sightings))]


def _claims(sightings: Sequence[Sighting]) -> dict[str, dict[str, set[str]]]:
    """For each form that is an alias of others: of which, by document."""
    claims: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for sighting in sightings:
        for alias in sighting.mention.aliases:
            form = normal_form(alias)
            if form != sighting.form:
                claims[form][sighting.document_id].add(sighting.form)
    return claims


def _by_long_form(
    sightings: Sequence[Sighting], places: Sequence[int], claims: dict[str, set[str]]
) -> dict[str, list[int]]:
    """Mentions of a form by what it is short for, where that differs between documents."""
    if len(set().union(*claims.values())) <= 1:
        return {"": list(places)}
    parts: dict[str, list[int]] = defaultdict(list)
    for place in places:
        long_forms = claims.get(sightings[place].document_id, set())
        parts[next(iter(long_forms)) if len(long_forms) == 1 else ""].append(place)
    return parts


def _senses_of_part(sightings: Sequence[Sighting], places: Sequence[int], form: str, told_by: str) -> dict[int, Sense]:
    """Senses of mentions of one form by their class; a mention of no class joins the only sense that it can."""
    senses: dict[int, Sense] = {}
    for kind in {sightings[place].kind for place in places} - {""}:
        of_kind = [place for place in places if sightings[place].kind == kind]
        employers = _employers([sightings[place] for place in of_kind]) if kind == "person" else {}
        for place in of_kind:
            employer = employers.get(sightings[place].document_id, "")
            senses[place] = Sense(form, kind, "|".join(filter(None, (told_by, employer))))
    in_document: dict[str, set[Sense]] = defaultdict(set)
    for place, sense in senses.items():
        in_document[sightings[place].document_id].add(sense)
    everywhere = set(senses.values())
    for place in places:
        if sightings[place].kind:
            continue
        here = in_document.get(sightings[place].document_id, set())
        fitting = here if len(here) == 1 else everywhere
        senses[place] = next(iter(fitting)) if len(fitting) == 1 else Sense(form, "", told_by)
    return senses


def _employers(sightings: Sequence[Sighting]) -> dict[str, str]:
    """Which affiliation tells each document's person of one name: documents that share one, tell of one person."""
    ties: dict[str, set[str]] = defaultdict(set)
    for sighting in sightings:
        ties[sighting.document_id] |= sighting.affiliations
    groups = _connected(ties.values())
    of_affiliation = {affiliation: min(group) for group in groups for affiliation in group}
    sole = min(groups[0]) if len(groups) == 1 else ""
    return {document: of_affiliation[min(mine)] if mine else sole for document, mine in ties.items()}


def _connected(sets: Iterable[AbstractSet[str]]) -> list[set[str]]:
    """Sets joined wherever two of them share a member."""
    of_member: dict[str, set[str]] = {}
    for members in sets:
        joined = set(members)
        touched = {id(of_member[one]): of_member[one] for one in members if one in of_member}
        for group in touched.values():
            joined |= group
        for member in joined:
            of_member[member] = joined
    return list({id(group): group for group in of_member.values()}.values())
