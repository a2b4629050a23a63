"""Which entities a question is about: those that it names, else those of the chunks that are nearest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lorebase.extraction.graph_model import GraphEntity
from lorebase.extraction.resolution_forms import joined_tokens, name_tokens
from lorebase.index.ports import Candidate
from lorebase.retrieval.graph_ports import Graph

MAX_NAME_TOKENS = 12
MAX_QUESTION_TOKENS = 400
MAX_SEEDS = 24
_NEIGHBOURS_LOOKED_AT = 64
_FUNCTION_WORDS = frozenset(
    {
        *(
            "who",
            "what",
            "when",
            "where",
            "which",
            "why",
            "how",
            "whose",
            "whom",
            "it",
            "us",
            "we",
            "he",
            "she",
            "they",
        ),
        *("i", "me", "my", "our", "you", "is", "are", "was", "were", "be", "do", "does", "did", "has", "have", "had"),
        *("can", "may", "will", "must", "should", "would", "could", "a", "an", "the", "of", "in", "on", "at", "to"),
        *("for", "from", "by", "with", "and", "or", "not", "no", "as", "if", "so", "all", "any", "this", "that"),
        *("的", "了", "是", "在", "和", "与", "谁", "什么", "哪", "哪里", "怎么", "为什么", "多少", "何时", "吗", "呢"),
    }
)


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that a question is about.

    Attributes:
        entity: The entity.
        weight: Above 0, at most 1.
        matched: The words of the question that name it, folded; empty where only its chunks are near.
    """

    entity: GraphEntity
    weight: float
    matched: str = ""


@dataclass(frozen=True, slots=True)
class _Span:
    """Neighbouring tokens of the question, `start` to `end`, as one form."""

    start: int
    end: int
    form: str


async def named_seeds(graph: Graph, question: str) -> list[Seed]:
    """The entities that the question names; a name inside a longer one that matches is none of its own.

    Of homonyms those stay that are related to something else that the question names; all of them where none is.
    """
    spans = _spans(name_tokens(question)[:MAX_QUESTION_TOKENS])
    found = await graph.named(sorted({span.form for span in spans}))
    named = {form: meant for form, entities in found.items() if (meant := _meant(form, entities, question))}
    matched = _longest([span for span in spans if span.form in named])
    by_form = {span.form: named[span.form] for span in matched}
    kept = await _told_apart(graph, by_form)
    longest = max((len(form) for form in kept), default=1)
    seeds = [
        Seed(entity, 0.5 + 0.5 * len(form) / longest, form) for form, entities in kept.items() for entity in entities
    ]
    return _strongest(seeds)


async def near_seeds(graph: Graph, candidates: Sequence[Candidate]) -> list[Seed]:
    """The entities that the chunks nearest to the question name, as heavy as the best of those chunks is near."""
    entities_of = await graph.entities_of_chunks([candidate.chunk_id for candidate in candidates])
    weights: dict[str, float] = {}
    for rank, candidate in enumerate(candidates, start=1):
        for entity_id in entities_of.get(candidate.chunk_id, ()):
            weights.setdefault(entity_id, 1.0 / (1 + rank))
    entities = await graph.entities(list(weights))
    return _strongest([Seed(entities[key], weight) for key, weight in weights.items() if key in entities])


def _meant(form: str, entities: Sequence[GraphEntity], question: str) -> list[GraphEntity]:
    """The entities of a form; a form that is a function word too counts only as written: `WHO` is not `who`."""
    if form not in _FUNCTION_WORDS:
        return list(entities)
    return [entity for entity in entities if any(name in question for name in (entity.name, *entity.aliases))]


def _spans(tokens: Sequence[str]) -> list[_Span]:
    return [
        _Span(start, end, joined_tokens(list(tokens[start:end])))
        for start in range(len(tokens))
        for end in range(start + 1, min(start + MAX_NAME_TOKENS, len(tokens)) + 1)
    ]


def _longest(spans: Sequence[_Span]) -> list[_Span]:
    """Spans that overlap no longer one, the longest first."""
    kept: list[_Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        if all(span.end <= other.start or span.start >= other.end for other in kept):
            kept.append(span)
    return kept


async def _told_apart(graph: Graph, by_form: Mapping[str, Sequence[GraphEntity]]) -> dict[str, Sequence[GraphEntity]]:
    homonyms = {form: entities for form, entities in by_form.items() if len(entities) > 1}
    if not homonyms or len(by_form) == 1:
        return dict(by_form)
    kept = dict(by_form)
    for form, entities in homonyms.items():
        others = {entity.entity_id for other, named in by_form.items() if other != form for entity in named}
        relations = await graph.relations([entity.entity_id for entity in entities], _NEIGHBOURS_LOOKED_AT)
        related = {
            end
            for relation in relations
            for end, other in (
                (relation.source_id, relation.target_id),
                (relation.target_id, relation.source_id),
            )
            if other in others
        }
        kept[form] = [entity for entity in entities if entity.entity_id in related] or entities
    return kept


def _strongest(seeds: Sequence[Seed]) -> list[Seed]:
    best: dict[str, Seed] = {}
    for seed in sorted(seeds, key=lambda seed: (-seed.weight, -seed.entity.chunks, seed.entity.entity_id)):
        best.setdefault(seed.entity.entity_id, seed)
    return list(best.values())[:MAX_SEEDS]
