"""The tables of governed knowledge, written so that SQLite, PostgreSQL, MySQL and MariaDB make the same of them.

Migrations make them (lorebase/governance/migrations); a test compares both.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text, UniqueConstraint, text

from lorebase.governance.columns import DRAFT_SLOT, LIVE_SLOT, TABLE_OPTIONS, UtcTime, conventions, json_column

metadata = MetaData()

items = Table(
    "knowledge_item",
    metadata,
    *conventions(),
    Column("base_id", String(64), nullable=False),
    Column("knowledge_key", String(128), nullable=False),
    Column("title", String(255), nullable=False),
    Column("description", String(2000), nullable=False, server_default=""),
    Column("created_by", String(64), nullable=False),
    # Without delete_flag: the key of a deleted item stays taken, because its history must stay auditable.
    UniqueConstraint("organ_id", "knowledge_key", name="uq_organ_knowledge_key"),
    Index("idx_organ_base", "organ_id", "base_id", "delete_flag", "id"),
    **TABLE_OPTIONS,
)

revisions = Table(
    "knowledge_revision",
    metadata,
    *conventions(),
    Column("item_id", BigInteger, nullable=False),
    Column("revision_number", Integer, nullable=False),
    Column("status", String(32), nullable=False),
    Column("index_status", String(32), nullable=False),
    Column("embedding_profile", String(128), nullable=False, server_default=""),
    Column("source_kind", String(32), nullable=False, server_default=""),
    Column("source_type", String(64), nullable=False, server_default=""),
    Column("file_name", String(255), nullable=False, server_default=""),
    Column("file_type", String(16), nullable=False, server_default=""),
    Column("media_type", String(128), nullable=False, server_default=""),
    Column("size_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("sha256", String(64), nullable=False, server_default=""),
    Column("object_key", String(512), nullable=False, server_default=""),
    Column("description", String(2000), nullable=False, server_default=""),
    json_column("faq_json"),
    json_column("tags_json"),
    json_column("metadata_json"),
    Column("copied_from_id", BigInteger, nullable=True),
    Column("created_by", String(64), nullable=False),
    Column("submitted_by", String(64), nullable=False, server_default=""),
    Column("reviewed_by", String(64), nullable=False, server_default=""),
    Column("published_time", UtcTime, nullable=True),
    UniqueConstraint("item_id", "revision_number", name="uq_item_revision_number"),
    # At most one live draft of an item. MariaDB knows no such index; its migration makes a generated column for it.
    Index("uq_organ_item_draft", "organ_id", "item_id", text(DRAFT_SLOT), unique=True),
    Index("idx_organ_item", "organ_id", "item_id", "delete_flag"),
    Index("idx_organ_sha256", "organ_id", "sha256"),
    Index("idx_organ_status", "organ_id", "status", "delete_flag"),
    **TABLE_OPTIONS,
)

tags = Table(
    "knowledge_tag",
    metadata,
    *conventions(),
    Column("name", String(64), nullable=False),
    Column("description", String(255), nullable=False, server_default=""),
    Index("uq_organ_tag", "organ_id", "name", text(LIVE_SLOT), unique=True),
    **TABLE_OPTIONS,
)

releases = Table(
    "knowledge_release",
    metadata,
    *conventions(),
    Column("item_id", BigInteger, nullable=False),
    Column("active_revision_id", BigInteger, nullable=True),
    UniqueConstraint("item_id", name="uq_release_item"),
    Index("idx_organ_active", "organ_id", "active_revision_id"),
    **TABLE_OPTIONS,
)

chunks = Table(
    "knowledge_chunk",
    metadata,
    *conventions(),
    Column("base_id", String(64), nullable=False),
    Column("item_id", BigInteger, nullable=False),
    Column("revision_id", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("text", Text().with_variant(Text((1 << 24) - 1), "mysql", "mariadb"), nullable=False),
    Column("text_sha256", String(64), nullable=False),
    Column("embedding_profile", String(128), nullable=False, server_default=""),
    json_column("tags_json"),
    # Heading path, page, rows and offsets: what a citation says about where the chunk stands.
    json_column("place_json"),
    Index("idx_organ_chunk_revision", "organ_id", "revision_id", "delete_flag", "position"),
    **TABLE_OPTIONS,
)

tasks = Table(
    "knowledge_task",
    metadata,
    *conventions(),
    Column("kind", String(32), nullable=False),
    Column("item_id", BigInteger, nullable=False),
    Column("revision_id", BigInteger, nullable=False),
    Column("idempotency_key", String(128), nullable=False),
    Column("payload_fingerprint", String(64), nullable=False),
    Column("status", String(32), nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("max_attempts", Integer, nullable=False),
    Column("due_time", UtcTime, nullable=False),
    Column("lease_owner", String(128), nullable=False, server_default=""),
    Column("lease_until", UtcTime, nullable=True),
    Column("finish_time", UtcTime, nullable=True),
    Column("error_code", String(64), nullable=False, server_default=""),
    Column("error_message", String(1000), nullable=False, server_default=""),
    Column("created_by", String(64), nullable=False),
    UniqueConstraint("organ_id", "idempotency_key", name="uq_organ_idempotency_key"),
    Index("idx_organ_task_revision", "organ_id", "revision_id"),
    # Workers serve all organisations.
    Index("idx_task_due", "status", "due_time"),
    **TABLE_OPTIONS,
)

audits = Table(
    "knowledge_audit",
    metadata,
    *conventions(),
    Column("command", String(64), nullable=False),
    Column("operator", String(128), nullable=False),
    Column("reason", String(1000), nullable=False, server_default=""),
    Column("request_id", String(64), nullable=False, server_default=""),
    Column("item_id", BigInteger, nullable=True),
    Column("revision_id", BigInteger, nullable=True),
    Column("state_before", String(32), nullable=False, server_default=""),
    Column("state_after", String(32), nullable=False, server_default=""),
    json_column("facts_json"),
    Index("idx_organ_audit_item", "organ_id", "item_id", "id"),
    Index("idx_organ_request", "organ_id", "request_id"),
    **TABLE_OPTIONS,
)

feedbacks = Table(
    "knowledge_feedback",
    metadata,
    *conventions(),
    Column("item_id", BigInteger, nullable=False),
    Column("revision_id", BigInteger, nullable=False),
    Column("chunk_id", BigInteger, nullable=True),
    Column("kind", String(32), nullable=False),
    Column("status", String(32), nullable=False),
    Column("note", String(1000), nullable=False, server_default=""),
    Column("reported_by", String(64), nullable=False),
    Column("resolved_by", String(64), nullable=False, server_default=""),
    Column("answered_by_revision_id", BigInteger, nullable=True),
    Index("idx_organ_feedback", "organ_id", "status", "id"),
    **TABLE_OPTIONS,
)
