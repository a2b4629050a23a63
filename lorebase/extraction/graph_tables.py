"""The tables of knowledge graphs. Every row carries the base and the content of the graph that it belongs to."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import JSON, Column, Float, Index, Integer, MetaData, String, Table, UnicodeText

from lorebase.extraction.graph_model import GraphEntity, GraphRelation, KnowledgeGraph
from lorebase.extraction.resolution_forms import CLASS_OF_TYPE, form_key, normal_form, organization_form

METADATA = MetaData()
_BASE_CHARS = 63
_ID_CHARS = 64
_MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4"}
"""Transactions, and every character, whatever the server's defaults are."""


def _owner() -> list[Column[Any]]:
    return [
        Column("base_name", String(_BASE_CHARS), primary_key=True),
        Column("content_key", String(_ID_CHARS), primary_key=True),
    ]


GRAPHS = Table("graphs", METADATA, *_owner(), Column("row_count", Integer, nullable=False), **_MYSQL)
"""A graph has its row here once everything of it is there."""

ENTITIES = Table(
    "graph_entities",
    METADATA,
    *_owner(),
    Column("entity_id", String(_ID_CHARS), primary_key=True),
    Column("name", UnicodeText, nullable=False),
    Column("types", JSON, nullable=False),
    Column("aliases", JSON, nullable=False),
    Column("description", UnicodeText, nullable=False),
    Column("community", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("documents", Integer, nullable=False),
    **_MYSQL,
)
NAMES = Table(
    "graph_names",
    METADATA,
    *_owner(),
    Column("form_key", String(_ID_CHARS), primary_key=True),
    Column("entity_id", String(_ID_CHARS), primary_key=True),
    **_MYSQL,
)
RELATIONS = Table(
    "graph_relations",
    METADATA,
    *_owner(),
    Column("relation_id", String(_ID_CHARS), primary_key=True),
    Column("source_id", String(_ID_CHARS), nullable=False),
    Column("target_id", String(_ID_CHARS), nullable=False),
    Column("name", UnicodeText, nullable=False),
    Column("description", UnicodeText, nullable=False),
    Column("weight", Float(53), nullable=False),
    Column("chunks", Integer, nullable=False),
    Index("graph_relations_by_source", "base_name", "content_key", "source_id"),
    Index("graph_relations_by_target", "base_name", "content_key", "target_id"),
    **_MYSQL,
)
EVIDENCE = Table(
    "graph_evidence",
    METADATA,
    *_owner(),
    Column("fact_id", String(_ID_CHARS), primary_key=True),
    Column("chunk_id", String(_ID_CHARS), primary_key=True),
    Column("document_id", String(_ID_CHARS), nullable=False),
    Column("confidence", Float(53), nullable=False),
    Index("graph_evidence_by_chunk", "base_name", "content_key", "chunk_id"),
    Index("graph_evidence_by_document", "base_name", "document_id"),
    **_MYSQL,
)
CONTENT = (ENTITIES, NAMES, RELATIONS, EVIDENCE)


def entity_of(row: Any) -> GraphEntity:  # noqa: ANN401 (a row of the library has the table's columns, not types)
    """The entity of a row."""
    return GraphEntity(
        entity_id=row.entity_id,
        name=row.name,
        types=tuple(row.types),
        aliases=tuple(row.aliases),
        description=row.description,
        community=row.community,
        chunks=row.chunks,
        documents=row.documents,
    )


def relation_of(row: Any) -> GraphRelation:  # noqa: ANN401 (as above)
    """The relation of a row."""
    return GraphRelation(
        relation_id=row.relation_id,
        source_id=row.source_id,
        target_id=row.target_id,
        name=row.name,
        description=row.description,
        weight=row.weight,
        chunks=row.chunks,
    )


def table_rows(graph: KnowledgeGraph) -> dict[Table, list[dict[str, Any]]]:
    """The rows of a graph by table, without their owner."""
    return {
        ENTITIES: [
            {**_plain(asdict(entity)), "types": list(entity.types), "aliases": [*map(_storable, entity.aliases)]}
            for entity in graph.entities
        ],
        NAMES: [
            {"form_key": form_key(form), "entity_id": entity.entity_id}
            for entity in graph.entities
            for form in _forms_of(entity)
        ],
        RELATIONS: [_plain(asdict(relation)) for relation in graph.relations],
        EVIDENCE: [asdict(evidence) for evidence in graph.evidence],
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "name": _storable(row["name"]), "description": _storable(row["description"])}


def _storable(text: str) -> str:
    """The text as every database takes it: PostgreSQL refuses the character NUL."""
    return text.replace("\x00", "\ufffd")


def _forms_of(entity: GraphEntity) -> list[str]:
    """Forms under which an entity is found: those of its names, and of an organization without its legal form."""
    forms = {normal_form(name) for name in (entity.name, *entity.aliases)}
    if any(CLASS_OF_TYPE.get(kind.casefold()) == "organization" for kind in entity.types):
        forms |= {organization_form(form) for form in forms}
    return sorted(forms)
