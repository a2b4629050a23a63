"""Items, revisions, tags, releases, chunks, tasks, audit and feedback."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from lorebase.governance.columns import CurrentTime, UtcTime

revision = "r0001"
down_revision = None
branch_labels = None
depends_on = None

_OPTIONS: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}
_DRAFT_SLOT = "(CASE WHEN status = 'DRAFT' AND delete_flag = 0 THEN 1 END)"
_LIVE_SLOT = "(CASE WHEN delete_flag = 0 THEN 1 END)"
_TABLES = (
    "knowledge_item",
    "knowledge_revision",
    "knowledge_tag",
    "knowledge_release",
    "knowledge_chunk",
    "knowledge_task",
    "knowledge_audit",
    "knowledge_feedback",
)


def upgrade() -> None:
    """Make all tables."""
    _make_items_and_releases()
    _make_revisions()
    _make_tags_and_chunks()
    _make_tasks()
    _make_audit_and_feedback()


def downgrade() -> None:
    """Remove all tables with what they hold."""
    for name in reversed(_TABLES):
        op.drop_table(name)


def _make_items_and_releases() -> None:
    op.create_table(
        "knowledge_item",
        *_conventions(),
        sa.Column("base_id", sa.String(length=64), nullable=False),
        sa.Column("knowledge_key", sa.String(length=128), nullable=False),
        sa.Column("title", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=2000), server_default="", nullable=False),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.UniqueConstraint("organ_id", "knowledge_key", name="uq_organ_knowledge_key"),
        **_OPTIONS,
    )
    op.create_index("idx_organ_base", "knowledge_item", ["organ_id", "base_id", "delete_flag", "id"], unique=False)
    op.create_table(
        "knowledge_release",
        *_conventions(),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("active_revision_id", sa.BigInteger(), nullable=True),
        sa.UniqueConstraint("item_id", name="uq_release_item"),
        **_OPTIONS,
    )
    op.create_index("idx_organ_active", "knowledge_release", ["organ_id", "active_revision_id"], unique=False)


def _make_revisions() -> None:
    op.create_table(
        "knowledge_revision",
        *_conventions(),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("revision_number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("index_status", sa.String(length=32), nullable=False),
        sa.Column("embedding_profile", sa.String(length=128), server_default="", nullable=False),
        sa.Column("source_kind", sa.String(length=32), server_default="", nullable=False),
        sa.Column("source_type", sa.String(length=64), server_default="", nullable=False),
        sa.Column("file_name", sa.String(length=255), server_default="", nullable=False),
        sa.Column("file_type", sa.String(length=16), server_default="", nullable=False),
        sa.Column("media_type", sa.String(length=128), server_default="", nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("sha256", sa.String(length=64), server_default="", nullable=False),
        sa.Column("object_key", sa.String(length=512), server_default="", nullable=False),
        sa.Column("description", sa.String(length=2000), server_default="", nullable=False),
        sa.Column("faq_json", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("tags_json", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("metadata_json", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("copied_from_id", sa.BigInteger(), nullable=True),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.Column("submitted_by", sa.String(length=64), server_default="", nullable=False),
        sa.Column("reviewed_by", sa.String(length=64), server_default="", nullable=False),
        sa.Column("published_time", UtcTime(), nullable=True),
        sa.UniqueConstraint("item_id", "revision_number", name="uq_item_revision_number"),
        **_OPTIONS,
    )
    op.create_index("idx_organ_item", "knowledge_revision", ["organ_id", "item_id", "delete_flag"], unique=False)
    op.create_index("idx_organ_sha256", "knowledge_revision", ["organ_id", "sha256"], unique=False)
    op.create_index("idx_organ_status", "knowledge_revision", ["organ_id", "status", "delete_flag"], unique=False)
    _make_unique_among("knowledge_revision", "uq_organ_item_draft", ["organ_id", "item_id"], "draft_slot", _DRAFT_SLOT)


def _make_tags_and_chunks() -> None:
    op.create_table(
        "knowledge_tag",
        *_conventions(),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("description", sa.String(length=255), server_default="", nullable=False),
        **_OPTIONS,
    )
    _make_unique_among("knowledge_tag", "uq_organ_tag", ["organ_id", "name"], "live_slot", _LIVE_SLOT)
    op.create_table(
        "knowledge_chunk",
        *_conventions(),
        sa.Column("base_id", sa.String(length=64), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("revision_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column(
            "text",
            sa.Text().with_variant(sa.Text(length=16777215), "mariadb").with_variant(sa.Text(length=16777215), "mysql"),
            nullable=False,
        ),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.Column("embedding_profile", sa.String(length=128), server_default="", nullable=False),
        sa.Column("tags_json", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("place_json", sa.JSON(none_as_null=True), nullable=True),
        **_OPTIONS,
    )
    op.create_index(
        "idx_organ_chunk_revision",
        "knowledge_chunk",
        ["organ_id", "revision_id", "delete_flag", "position"],
        unique=False,
    )


def _make_tasks() -> None:
    op.create_table(
        "knowledge_task",
        *_conventions(),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("revision_id", sa.BigInteger(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=128), nullable=False),
        sa.Column("payload_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("due_time", UtcTime(), nullable=False),
        sa.Column("lease_owner", sa.String(length=128), server_default="", nullable=False),
        sa.Column("lease_until", UtcTime(), nullable=True),
        sa.Column("finish_time", UtcTime(), nullable=True),
        sa.Column("error_code", sa.String(length=64), server_default="", nullable=False),
        sa.Column("error_message", sa.String(length=1000), server_default="", nullable=False),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.UniqueConstraint("organ_id", "idempotency_key", name="uq_organ_idempotency_key"),
        **_OPTIONS,
    )
    op.create_index("idx_organ_task_revision", "knowledge_task", ["organ_id", "revision_id"], unique=False)
    op.create_index("idx_task_due", "knowledge_task", ["status", "due_time"], unique=False)


def _make_audit_and_feedback() -> None:
    op.create_table(
        "knowledge_audit",
        *_conventions(),
        sa.Column("command", sa.String(length=64), nullable=False),
        sa.Column("operator", sa.String(length=128), nullable=False),
        sa.Column("reason", sa.String(length=1000), server_default="", nullable=False),
        sa.Column("request_id", sa.String(length=64), server_default="", nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=True),
        sa.Column("revision_id", sa.BigInteger(), nullable=True),
        sa.Column("state_before", sa.String(length=32), server_default="", nullable=False),
        sa.Column("state_after", sa.String(length=32), server_default="", nullable=False),
        sa.Column("facts_json", sa.JSON(none_as_null=True), nullable=True),
        **_OPTIONS,
    )
    op.create_index("idx_organ_audit_item", "knowledge_audit", ["organ_id", "item_id", "id"], unique=False)
    op.create_index("idx_organ_request", "knowledge_audit", ["organ_id", "request_id"], unique=False)
    op.create_table(
        "knowledge_feedback",
        *_conventions(),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("revision_id", sa.BigInteger(), nullable=False),
        sa.Column("chunk_id", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("note", sa.String(length=1000), server_default="", nullable=False),
        sa.Column("reported_by", sa.String(length=64), nullable=False),
        sa.Column("resolved_by", sa.String(length=64), server_default="", nullable=False),
        sa.Column("answered_by_revision_id", sa.BigInteger(), nullable=True),
        **_OPTIONS,
    )
    op.create_index("idx_organ_feedback", "knowledge_feedback", ["organ_id", "status", "id"], unique=False)


def _make_unique_among(table: str, index: str, key: list[str], slot: str, condition: str) -> None:
    """A unique index over the rows for which the condition gives 1.

    MariaDB (seen with 10.11) has no index over an expression: there a generated column holds it.
    """
    dialect = op.get_bind().dialect
    if not getattr(dialect, "is_mariadb", False):
        op.create_index(index, table, [*key, sa.text(condition)], unique=True)
        return
    op.add_column(table, sa.Column(slot, sa.SmallInteger(), sa.Computed(condition, persisted=False), nullable=True))
    op.create_index(index, table, [*key, slot], unique=True)


def _conventions() -> list[sa.Column[Any]]:
    return [
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("organ_id", sa.BigInteger(), nullable=False),
        sa.Column("trace_id", sa.String(64), nullable=False, server_default=""),
        sa.Column("create_time", UtcTime(), nullable=False, server_default=CurrentTime()),
        sa.Column("update_time", UtcTime(), nullable=False, server_default=CurrentTime()),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("delete_flag", sa.SmallInteger(), nullable=False, server_default=sa.text("0")),
    ]
