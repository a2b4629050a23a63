"""Retrieval from governed knowledge: who asks, what may be asked, what is evidence, and what is an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from lorebase.database import Database
from lorebase.errors import (
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    RetrievalTimeoutError,
    UnavailableError,
)
from lorebase.governance.context import Capability
from lorebase.index.ports import AnyOf, Candidate, EntityFields, Equals, Filter, VectorEntity
from lorebase.recipes.loading import parse_recipe
from lorebase.retrieval.governed.request import RetrievalRequest
from lorebase.retrieval.governed.settings import RetrievalSettings
from tests.fakes.memory_index import MemoryIndexStore, MemoryVectorIndex
from tests.fakes.scripted_rerank import ScriptedReranker
from tests.governance.knowledge_world import BASE, QUESTION, KnowledgeWorld, handbook
from tests.governance.sqlite_world import database, world
from tests.governance.world import AUTHOR, caller

__all__ = ["database", "world"]  # fixtures, imported

RERANKED = """
name: handbook
governance: reviewed
models: {embedding: {provider: local}, rerank: {provider: endpoint, model: reranker}}
procedures: [{use: hybrid_index}]
"""


async def live(world: KnowledgeWorld, key: str, text: str, tags: Sequence[str] = (), **who: Any) -> int:
    """A published revision of a new item; its id."""
    revision = await world.ready(world.item(key, **who), text, tags, **who)
    await world.publish(revision, **who)
    return revision.id


async def test_evidence_says_where_it_stands(world: KnowledgeWorld) -> None:
    """K-061, KX-16."""
    revision_id = await live(world, "travel", "# Expenses\n\nTravel reports are due within 30 days.")

    found = await world.retrieve()

    (evidence,) = found.evidence
    assert (found.answerable, found.reason, found.source_status) == (True, "", "ready")
    assert (evidence.rank, evidence.revision_id, evidence.document_name) == (1, str(revision_id), "travel.md")
    assert evidence.citation.heading_path == ("Expenses",)
    assert "within 30 days" in evidence.text


@pytest.mark.parametrize("query", ["quarks gluons neutrinos", "贝多芬交响曲"])
async def test_a_question_about_something_else_has_no_evidence(world: KnowledgeWorld, query: str) -> None:
    """K-068, KQ-17, C151, C152."""
    await live(world, "travel", handbook(30))

    found = await world.retrieve(query)

    assert (found.answerable, found.reason, found.evidence) == (False, "NO_EVIDENCE", ())
    assert (found.source_status, found.verdict.reason) == ("unavailable", "LOW_RELEVANCE")


@pytest.mark.parametrize("query", ["What is this about?", "你好，这里有什么？"])
async def test_a_question_that_names_nothing_has_no_evidence_for_that_reason(world: KnowledgeWorld, query: str) -> None:
    await live(world, "travel", handbook(30))

    found = await world.retrieve(query)

    assert (found.answerable, found.evidence, found.verdict.reason) == (False, (), "NO_SUBJECT")


async def test_where_nothing_is_live_nothing_is_found(world: KnowledgeWorld) -> None:
    """C152."""
    await world.ready(world.item("travel"), handbook(30))

    found = await world.retrieve()

    assert (found.answerable, found.verdict.reason) == (False, "NOTHING_FOUND")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"query": "  "}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 21}, "top_k"),
        ({"all_tags": tuple(f"tag{number}" for number in range(21))}, "all_tags"),
        ({"any_tags": tuple(f"tag{number}" for number in range(21))}, "any_tags"),
        ({"any_tags": ("",)}, "tag"),
        ({"all_tags": ("x" * 65,)}, "tag"),
        ({"base_id": "../other"}, "base_id"),
    ],
)
async def test_values_out_of_range_are_errors_and_nothing_is_clamped(
    world: KnowledgeWorld, given: dict[str, Any], field: str
) -> None:
    """KQ-13."""
    with pytest.raises(InvalidInputError) as refused:
        await world.retrieve(**given)

    assert refused.value.facts["field"] == field


def test_a_request_names_no_organisation() -> None:
    """K-062."""
    with pytest.raises(ValidationError):
        RetrievalRequest.model_validate({"base_id": BASE, "query": QUESTION, "organ_id": 8})


async def test_who_may_not_read_retrieves_nothing(world: KnowledgeWorld) -> None:
    """KX-19."""
    with pytest.raises(ForbiddenError):
        await world.retrieve(context=caller("mute", 7, Capability.FEEDBACK))


async def test_all_tags_and_any_tags_hold_together_and_empty_lists_are_no_filter(world: KnowledgeWorld) -> None:
    """KQ-14, KX-15."""
    both = await live(world, "a", "Travel reports are due in March.", ["差旅", "finance"])
    one = await live(world, "b", "Travel reports are due in April.", ["差旅"])
    none = await live(world, "c", "Travel reports are due in May.")

    async def found(**tags: tuple[str, ...]) -> set[int]:
        return {int(evidence.revision_id) for evidence in (await world.retrieve(**tags)).evidence}

    assert await found() == {both, one, none}
    assert await found(all_tags=("差旅",)) == {both, one}
    assert await found(all_tags=("差旅", "finance")) == {both}
    assert await found(any_tags=("finance", "unknown")) == {both}
    assert await found(all_tags=("差旅",), any_tags=("finance",)) == {both}
    assert await found(all_tags=("unknown",)) == set()


@pytest.mark.parametrize("tag", ['") or true or ("', "' OR 1=1 --", "%", "organ_id == 8", "\\", '"]) or organ_id > 0'])
async def test_a_tag_that_looks_like_a_filter_is_a_tag(world: KnowledgeWorld, tag: str) -> None:
    """K-063, C68."""
    stranger = AUTHOR.model_copy(update={"organ_id": 8})
    await live(world, "a", "Travel reports are due in March.", ["差旅"])
    await live(world, "a", "Travel reports are due in April.", ["差旅"], context=stranger)
    marked = await live(world, "b", "Travel reports are due in May.", [tag])

    every = await world.retrieve(all_tags=(tag,))
    some = await world.retrieve(any_tags=(tag,))

    assert [evidence.revision_id for evidence in every.evidence] == [str(marked)]
    assert [evidence.revision_id for evidence in some.evidence] == [str(marked)]


async def test_two_organisations_with_the_same_keys_and_files_find_only_their_own(world: KnowledgeWorld) -> None:
    """K-062, K-065: on every path."""
    other = AUTHOR.model_copy(update={"organ_id": 8})
    ours = await live(world, "travel", handbook(30), ["差旅"])
    theirs = await live(world, "travel", handbook(30), ["差旅"], context=other)

    for mode in ("vector_search", "full_text_search", "hybrid_search", None):
        mine = await world.retrieve(mode=mode, all_tags=("差旅",))
        foreign = await world.retrieve(context=other, mode=mode)
        assert {evidence.revision_id for evidence in mine.evidence} == {str(ours)}
        assert {evidence.revision_id for evidence in foreign.evidence} == {str(theirs)}
    cited = (await world.retrieve()).evidence[0]
    with pytest.raises(NotFoundError):
        world.knowledge.citations.resolve(other, ours, int(cited.chunk_id))
    with pytest.raises(NotFoundError):
        await world.knowledge.reconciling.reconcile_item(other, world.governance.revisions.get(AUTHOR, ours).item_id)
    report = await world.knowledge.reconciling.reconcile_base(other, BASE)
    assert (report.revisions, report.repairs) == (1, ())


async def test_entities_that_claim_another_organisation_are_dropped_by_the_re_check(world: KnowledgeWorld) -> None:
    """K-064, K-065: the index is never the authority."""
    await live(world, "travel", handbook(30))
    vectors = (await world.knowledge.bases.open(BASE)).vectors()
    assert isinstance(vectors, MemoryVectorIndex)
    for chunk_id, fields in list(vectors._rows.fields.items()):
        vectors._rows.fields[chunk_id] = _of_organ(fields, 8)

    found = await world.retrieve(context=AUTHOR.model_copy(update={"organ_id": 8}), mode="vector_search")

    assert found.evidence == ()


async def test_stale_entities_are_dropped_and_recall_is_topped_up_at_most_twice(
    database: Database, tmp_path: Path
) -> None:
    """K-066: twenty stale candidates stand before the ones that are live."""
    index = CountingIndexStore()
    world = KnowledgeWorld(database, tmp_path, index_store=index)
    item = world.item()
    stale = await world.ready(item, "\n\n".join(f"# {QUESTION} {n}\n\n{QUESTION}" for n in range(45)))
    fresh = await world.ready(item, "# Expenses\n\nTravel reports are due within 10 days, as a rule.")
    await world.publish(stale)
    await world.publish(fresh)
    await world.knowledge.index.enable(world.read(stale))  # as a process leaves it that was killed
    index.searches = 0

    found = await world.retrieve(mode="vector_search", top_k=5)

    assert [evidence.revision_id for evidence in found.evidence] == [str(fresh.id)]
    assert index.searches == 3
    await world.close()


async def test_a_dependency_that_fails_is_an_error_and_no_lack_of_evidence(world: KnowledgeWorld) -> None:
    """K-069, K-070."""
    await live(world, "travel", handbook(30))
    base = await world.knowledge.bases.open(BASE)

    async def broken(*_: object) -> list[Candidate]:
        raise UnavailableError("Milvus does not answer.", dependency="milvus")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryVectorIndex, "search", broken)
        with pytest.raises(UnavailableError):
            await world.retrieve()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(base.context.embedder), "embed_queries", broken)
        with pytest.raises(UnavailableError):
            await world.retrieve()
    world.database.engine.dispose()
    (Path(world.workspace.folder) / "governance.db").rename(world.workspace.folder / "moved.db")
    (Path(world.workspace.folder) / "governance.db").mkdir()
    with pytest.raises(UnavailableError):
        await world.retrieve()


async def test_beyond_the_budget_it_is_a_timeout_and_no_lack_of_evidence(database: Database, tmp_path: Path) -> None:
    """K-069, KX-16."""
    world = KnowledgeWorld(database, tmp_path, settings=RetrievalSettings(budget_seconds=0.05))
    world.workspace.embedder_options["latency_seconds"] = 5.0

    await world.knowledge.bases.open(BASE)
    with pytest.raises(RetrievalTimeoutError) as late:
        await world.retrieve()

    assert late.value.code == "RETRIEVAL_TIMEOUT"
    await world.close()


async def test_a_reranker_gets_at_most_fifty_confirmed_candidates_and_its_score_decides(
    database: Database, tmp_path: Path
) -> None:
    """K-067, KQ-13, KQ-15."""
    world = KnowledgeWorld(database, tmp_path)
    score_of_april = [0.9]
    reranker = ScriptedReranker(lambda text: score_of_april[0] if "April" in text else 0.1, max_texts=100)
    world.workspace.reranker = reranker
    world.knowledge.bases.recipes.remember(parse_recipe(RERANKED))
    months = [
        f"# Part {n}\n\nTravel reports of part {n} are due in {'April' if n == 44 else 'May'}." for n in range(60)
    ]
    revision = await world.ready(world.item(), "\n\n".join(months))
    await world.publish(revision)

    found = await world.retrieve("travel reports april", top_k=3)
    score_of_april[0] = 0.15
    weak = await world.retrieve("travel reports april", top_k=3)

    assert [len(texts) for _query, texts in reranker.asked] == [50, 50]
    assert ["April" in evidence.text for evidence in found.evidence] == [True]
    assert found.evidence[0].score == 0.9
    assert (weak.answerable, weak.evidence) == (False, ())
    await world.close()


async def test_a_reranker_that_fails_is_an_error(database: Database, tmp_path: Path) -> None:
    """KQ-16."""
    world = KnowledgeWorld(database, tmp_path)
    world.workspace.reranker = ScriptedReranker(failure=UnavailableError("The reranker does not answer."))
    world.knowledge.bases.recipes.remember(parse_recipe(RERANKED))
    await live(world, "travel", handbook(30))

    with pytest.raises(UnavailableError):
        await world.retrieve()

    await world.close()


async def test_a_citation_resolves_for_ever_or_says_withdrawn(world: KnowledgeWorld) -> None:
    """C155."""
    item = world.item()
    first, second = await world.ready(item, handbook(30, 1)), await world.ready(item, handbook(10, 1))
    await world.publish(first)
    cited = (await world.retrieve()).evidence[0]
    resolve = world.knowledge.citations.resolve

    while_live = resolve(AUTHOR, first.id, int(cited.chunk_id))
    await world.publish(second)
    replaced = resolve(AUTHOR, first.id, int(cited.chunk_id))
    await world.roll_back(first)
    again = resolve(AUTHOR, first.id, int(cited.chunk_id))
    await world.take_offline(item.id)
    offline = resolve(AUTHOR, first.id, int(cited.chunk_id))

    assert (while_live.status, while_live.text) == ("live", cited.text)
    assert (replaced.status, replaced.text, replaced.citation) == ("withdrawn", "", cited.citation)
    assert (again.status, again.text) == ("live", cited.text)
    assert (offline.status, offline.text) == ("withdrawn", "")
    with pytest.raises(NotFoundError):
        resolve(AUTHOR, second.id, int(cited.chunk_id))


async def test_chunk_ids_that_are_none_are_passed_over(world: KnowledgeWorld) -> None:
    await live(world, "travel", handbook(30))
    base = await world.knowledge.bases.open(BASE)
    vectors = base.vectors()
    assert vectors is not None
    known = await vectors.fields((Equals("organ_id", 7),))
    damaged = [_with_id(fields, f"chk-{number}") for number, fields in enumerate(known)]
    await _write(vectors, damaged)

    found = await world.retrieve(mode="vector_search")

    assert {evidence.chunk_id for evidence in found.evidence} == {fields.chunk_id for fields in known}
    assert await vectors.count((AnyOf("chunk_id", ("chk-0",)),)) == 1


class _CountingVectors(MemoryVectorIndex):
    store: CountingIndexStore

    async def search(self, vector: NDArray[np.float32], where: Filter, limit: int) -> list[Candidate]:
        self.store.searches += 1
        return await super().search(vector, where, limit)


class CountingIndexStore(MemoryIndexStore):
    """Counts searches by vector."""

    searches = 0

    def vectors(self, *given: Any, **named: Any) -> MemoryVectorIndex:
        index = super().vectors(*given, **named)
        counting = _CountingVectors(index._collections, index._name, index._dimensions)
        counting.store = self
        return counting


def _of_organ(fields: EntityFields, organ_id: int) -> EntityFields:
    return replace(fields, organ_id=organ_id, searchable=True)


def _with_id(fields: EntityFields, chunk_id: str) -> EntityFields:
    return replace(fields, chunk_id=chunk_id, searchable=True)


async def _write(index: Any, fields: Sequence[Any]) -> None:
    vector = np.zeros(64, dtype=np.float32)
    vector[0] = 1.0
    await index.upsert([VectorEntity(one, vector) for one in fields])
