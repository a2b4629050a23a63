"""Relations by model: what is asked, and what is kept of the answer."""

from __future__ import annotations

import json

import pytest

from lorebase.documents.model import Chunk
from lorebase.extraction.items import ExtractionItem, relation_item
from lorebase.extraction.mentions import ChunkRelations, EntityMention, RelationMention
from lorebase.extraction.model_relations import RelationModelReader
from tests.fakes.scripted_chat import ScriptedChat

TEXT = "Mary Jones founded the Lighthouse Trust (LT) in 1920."
ENTITIES = (EntityMention("Mary Jones", "person"), EntityMention("Lighthouse Trust", "organization", aliases=("LT",)))


def item_of(text: str, *entities: EntityMention) -> ExtractionItem:
    return relation_item(Chunk("chunk-1", "document-1", "r1", "a.md", "documents", 0, text, 0, len(text)), entities)


def reader(chat: ScriptedChat, **options: object) -> RelationModelReader:
    given = {"relation_types": (), "most": 8, "language": "auto", "session_id": "knowledge:demo"}
    return RelationModelReader(chat, **{**given, **options})


def relation(source: str, target: str, kind: str = "founded", **more: str) -> dict[str, str]:
    return {"source": source, "target": target, "type": kind, **more}


async def read(*relations: dict[str, str], **options: object) -> ChunkRelations:
    chat = ScriptedChat([json.dumps({"relations": relations})])
    row, _ = await reader(chat, **options).read(item_of(TEXT, *ENTITIES))
    return row


async def test_a_relation_is_kept_with_its_evidence_and_the_names_of_its_entities() -> None:
    row = await read(relation("mary jones", "LT", evidence="Mary Jones founded the Lighthouse Trust"))

    assert row.relations == (RelationMention("Mary Jones", "Lighthouse Trust", "founded", "", 0, 39),)


async def test_evidence_that_the_text_does_not_hold_has_no_place_and_less_confidence() -> None:
    row = await read(relation("Mary Jones", "LT", evidence="She sank it"))

    assert [(kept.start, kept.end, kept.confidence) for kept in row.relations] == [(-1, -1, 0.5)]


@pytest.mark.parametrize(
    "invented",
    [
        relation("Mary Jones", "Ann Lee"),
        relation("Mary Jones", "mary jones"),
        relation("LT", "Lighthouse Trust"),
        relation("Mary Jones", "LT", " "),
    ],
)
async def test_what_is_not_between_two_entities_of_the_chunk_is_dropped_and_counted(invented: dict[str, str]) -> None:
    row = await read(invented, relation("Mary Jones", "LT"))

    assert [(kept.source, kept.target) for kept in row.relations] == [("Mary Jones", "Lighthouse Trust")]
    assert row.dropped == 1


async def test_an_answer_that_repeats_itself_counts_once() -> None:
    row = await read(relation("Mary Jones", "LT"), relation("Mary Jones", "Lighthouse Trust", "Founded"))

    assert len(row.relations) == 1
    assert row.dropped == 0


async def test_only_wanted_types_are_kept() -> None:
    row = await read(relation("Mary Jones", "LT"), relation("Mary Jones", "LT", "owns"), relation_types=("owns",))

    assert [kept.type for kept in row.relations] == ["owns"]


@pytest.mark.parametrize("entities", [(), ENTITIES[:1]])
def test_fewer_than_two_entities_are_not_asked_about(entities: tuple[EntityMention, ...]) -> None:
    item = item_of(TEXT, *entities)

    assert reader(ScriptedChat()).without_asking(item) == ChunkRelations(item.key, "chunk-1", "document-1", "model")


def test_the_entities_go_out_as_data_beside_the_text() -> None:
    request = reader(ScriptedChat()).request(item_of(TEXT, *ENTITIES))

    assert "- Mary Jones\n- Lighthouse Trust" in request.prompt
    assert TEXT in request.prompt
    assert "Mary" not in request.system


def test_the_same_text_with_other_entities_is_another_item() -> None:
    assert item_of(TEXT, *ENTITIES).key != item_of(TEXT, ENTITIES[0]).key
    assert item_of(TEXT, *ENTITIES).key == item_of(TEXT, *ENTITIES).key
