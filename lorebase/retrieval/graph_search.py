"""The query mode graph_search: evidence of what lies around the entities of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lorebase.documents.model import Chunk
from lorebase.errors import UnsupportedModeError
from lorebase.extraction.graph_model import Evidence
from lorebase.index.ports import AnyOf, Candidate, EntityFields, Filter
from lorebase.retrieval.graph_expansion import Neighbourhood, expand
from lorebase.retrieval.graph_ports import FieldsOfChunks, Graph
from lorebase.retrieval.graph_seeds import Seed, named_seeds, near_seeds
from lorebase.retrieval.model import QueryResult, result_of
from lorebase.retrieval.ports import ActiveChunks, QueryEmbedder, VectorSearch
from lorebase.retrieval.request import DEFAULT_TOP_K, SEARCHABLE, SearchRequest, checked_request
from lorebase.retrieval.search import embed_query

EVIDENCE_EACH = 8
"""Chunks looked at for one entity or relation."""

MAX_CHUNKS = 200
"""Chunks that are re-checked against the authority."""

MENTION_SHARE = 0.25
"""What a chunk counts that only names an entity, against one that states a relation of it."""

NEARNESS_SHARE = 0.5
"""How much of a chunk's score its nearness to the question may add."""

PATHS_SHOWN = 3


@dataclass(slots=True)
class _Scored:
    """A chunk with what speaks for it."""

    document_id: str
    score: float = 0.0
    paths: dict[tuple[str, ...], float] = field(default_factory=dict)

    def add(self, score: float, path: tuple[str, ...]) -> None:
        self.score += score
        self.paths[path] = max(score, self.paths.get(path, 0.0))

    @property
    def best_paths(self) -> tuple[str, ...]:
        ranked = sorted(self.paths, key=lambda path: (-self.paths[path], len(path), path))
        return tuple(" ".join(path) for path in ranked[:PATHS_SHOWN])


class GraphRetriever:
    """Answers graph queries over one knowledge base.

    Args:
        active: The authority that re-checks every candidate.
        graph: The graph of the snapshot.
        vectors: The vector index, with the embedder of its profile; both or none. Without them only questions that name
            an entity find something.
        embedder: See `vectors`.
        fields: An index that can tell which chunks fulfil a filter; needed for queries with conditions.
    """

    def __init__(
        self,
        active: ActiveChunks,
        graph: Graph,
        *,
        vectors: VectorSearch | None = None,
        embedder: QueryEmbedder | None = None,
        fields: FieldsOfChunks | None = None,
    ) -> None:
        self._active = active
        self._graph = graph
        self._vectors = vectors
        self._embedder = embedder
        self._fields = fields

    async def graph_search(self, query: str, *, top_k: int = DEFAULT_TOP_K, where: Filter = ()) -> QueryResult:
        """The chunks that tell of the entities of the query and what they are related to.

        Each result says by which paths it was reached, such as `Li Wei -[works for]-> Acme`. Scores are comparable
        within one answer. What a question names decides where to start; only a question that names nothing starts from
        the chunks that are nearest to it, so that nobody is taken for a namesake.

        Raises:
            UsageError: Query or `top_k` out of range.
            UnsupportedModeError: The query has conditions, and the base has no index that can tell who fulfils them.
            DependencyError: Embedder, index, database or authority did not answer; never an empty result instead.
        """
        request = checked_request(query, top_k, where)
        near = await self._near(request)
        seeds = await named_seeds(self._graph, request.query)
        if not seeds:
            seeds = await self._seeds_of_chunks(near)
        scored = await self._scored(await expand(self._graph, seeds), seeds, near)
        chunks = await self._confirmed(scored, request)
        best = sorted(chunks.values(), key=lambda chunk: (-scored[chunk.chunk_id].score, chunk.chunk_id))
        return QueryResult(
            mode="graph_search",
            query=request.query,
            results=tuple(
                result_of(chunk, rank=rank, score=scored[chunk.chunk_id].score).model_copy(
                    update={"graph_paths": scored[chunk.chunk_id].best_paths}
                )
                for rank, chunk in enumerate(best[: request.top_k], start=1)
            ),
        )

    async def _near(self, request: SearchRequest) -> list[Candidate]:
        if self._vectors is None or self._embedder is None:
            return []
        vector = await embed_query(self._embedder, request.query)
        return await self._vectors.search(vector, request.where, request.recall)

    async def _seeds_of_chunks(self, near: Sequence[Candidate]) -> list[Seed]:
        active = await self._active.resolve(near)
        return await near_seeds(self._graph, [candidate for candidate in near if candidate.chunk_id in active])

    async def _scored(
        self, around: Neighbourhood, seeds: Sequence[Seed], near: Sequence[Candidate]
    ) -> dict[str, _Scored]:
        """Every chunk that gives evidence, with its score."""
        seeded = [seed.entity.entity_id for seed in seeds]
        evidence = await self._graph.evidence([*around.relations, *seeded], EVIDENCE_EACH)
        found: dict[str, _Scored] = {}
        for key, relation in around.relations.items():
            ends = (around.entities[relation.source_id], around.entities[relation.target_id])
            weight = sum(end.weight for end in ends) / 2
            for one in evidence.get(key, ()):
                _chunk(found, one).add(weight * one.confidence, around.relation_path(relation))
        for entity_id in seeded:
            reached = around.entities[entity_id]
            for one in evidence.get(entity_id, ()):
                _chunk(found, one).add(MENTION_SHARE * reached.weight * one.confidence, reached.path)
        for rank, candidate in enumerate(near, start=1):
            if candidate.chunk_id in found:
                found[candidate.chunk_id].score *= 1.0 + NEARNESS_SHARE / rank
        best = sorted(found.items(), key=lambda item: (-item[1].score, item[0]))
        return dict(best[:MAX_CHUNKS])

    async def _confirmed(self, scored: dict[str, _Scored], request: SearchRequest) -> dict[str, Chunk]:
        """The chunks that the authority confirms and that fulfil the conditions of the query."""
        fields = await self._fields_of(scored, request)
        candidates = [
            Candidate(
                chunk_id=key,
                document_id=one.document_id,
                revision_id=fields[key].revision_id if fields and key in fields else "",
                score=one.score,
            )
            for key, one in scored.items()
            if fields is None or key in fields
        ]
        return await self._active.resolve(candidates)

    async def _fields_of(self, scored: dict[str, _Scored], request: SearchRequest) -> dict[str, EntityFields] | None:
        """The fields of the chunks that fulfil the conditions of the query; None where it has none."""
        if not scored or request.where == (SEARCHABLE,):
            return None
        if self._fields is None:
            raise UnsupportedModeError(
                "This knowledge base has no index that could tell which chunks fulfil the conditions of the query.",
                remedy="Ask without conditions, or add the step index_full_text or index_vectors to its recipe.",
            )
        found = await self._fields.fields((*request.where, AnyOf("chunk_id", tuple(scored))))
        return {fields.chunk_id: fields for fields in found}


def _chunk(found: dict[str, _Scored], evidence: Evidence) -> _Scored:
    return found.setdefault(evidence.chunk_id, _Scored(evidence.document_id))
