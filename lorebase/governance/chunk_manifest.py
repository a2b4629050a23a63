"""The chunk manifest: the chunks that a revision consists of, as rows. It says what the index must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from lorebase.documents.model import Chunk
from lorebase.fingerprint import sha256_of
from lorebase.governance.context import PrincipalContext
from lorebase.governance.model import Item, Revision
from lorebase.governance.store import Store, item_of, revision_of
from lorebase.governance.tables import chunks

Guard = Callable[[Connection], None]
"""Asked inside the transaction that replaces a manifest; raises where the caller may no longer write."""

_PLACE = (
    "document_name", "start", "end", "heading_path", "table_header", "page", "page_label", "kind", "tokens",
    "first_row", "last_row",
)  # fmt: skip
_ROWS_IN_ONE_INSERT = 500

CHUNK_COLUMNS = (
    chunks.c.id, chunks.c.base_id, chunks.c.item_id, chunks.c.revision_id, chunks.c.position, chunks.c.text,
    chunks.c.place_json,
)  # fmt: skip
"""What `chunk_of` reads."""


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A chunk of a revision.

    Attributes:
        chunk: The chunk; its id is the row's id as text, its document the item, its revision the governed revision.
        tags: The tags that were reviewed.
        embedding_profile: The vector space that it is indexed in; empty where it has no vector.
    """

    chunk: Chunk
    tags: tuple[str, ...]
    embedding_profile: str


class ChunkManifest:
    """Reading and replacing manifests."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, revision: Revision) -> list[ManifestEntry]:
        """The manifest of a revision, in reading order; empty where it was never processed.

        Raises:
            UnavailableError: The database does not answer.
        """
        with self._store.database.reading() as connection:
            return _entries(connection, revision)

    def replace(
        self,
        context: PrincipalContext,
        revision: Revision,
        found: Sequence[Chunk],
        embedding_profile: str,
        guard: Guard,
    ) -> list[ManifestEntry]:
        """Make these chunks the manifest, in one transaction; rows that were replaced stay for citations.

        Where the manifest says the same already, it is left alone, so that a repeated run keeps the ids of chunks.

        Args:
            context: Whose work it is.
            revision: The revision.
            found: Its chunks, in reading order; their ids do not matter.
            embedding_profile: The vector space of their vectors; empty for none.
            guard: See `Guard`.

        Raises:
            InvalidStateError: The guard's.
            UnavailableError: The database does not answer.
        """
        store = self._store
        with store.database.transaction() as connection:
            item = item_of(connection, context, revision.item_id, lock=True, also_deleted=True)
            guard(connection)
            current = revision_of(connection, context, revision.id, also_deleted=True)
            if not says_the_same(_entries(connection, current), found, current.tags, embedding_profile):
                _delete_rows(store, connection, current)
                _insert_rows(store, connection, context, item, current, found, embedding_profile)
            return _entries(connection, current)

    def differs(self, revision: Revision, found: Sequence[Chunk], embedding_profile: str) -> bool:
        """Whether `replace` would change anything."""
        return not says_the_same(self.of(revision), found, revision.tags, embedding_profile)


def says_the_same(
    known: Sequence[ManifestEntry], found: Sequence[Chunk], tags: Sequence[str], embedding_profile: str
) -> bool:
    """Whether a manifest already consists of these chunks with these labels."""
    return len(known) == len(found) and all(
        entry.tags == tuple(tags)
        and entry.embedding_profile == embedding_profile
        and entry.chunk.text == chunk.text
        and place_of(entry.chunk) == place_of(chunk)
        for entry, chunk in zip(known, found, strict=True)
    )


def place_of(chunk: Chunk) -> dict[str, Any]:
    """What a row keeps of where a chunk stands."""
    return {name: _plain(getattr(chunk, name)) for name in _PLACE}


def chunk_of(row: Row[Any]) -> Chunk:
    """The chunk that a row stands for; it has at least `CHUNK_COLUMNS`."""
    place: Mapping[str, Any] = row.place_json or {}
    return Chunk(
        chunk_id=str(row.id),
        document_id=str(row.item_id),
        revision_id=str(row.revision_id),
        source=row.base_id,
        position=row.position,
        text=row.text,
        **{**place, "heading_path": tuple(place.get("heading_path", ()))},
    )


def entry_of(row: Row[Any]) -> ManifestEntry:
    """The entry that a whole row of the table stands for."""
    return ManifestEntry(chunk_of(row), tuple(row.tags_json or ()), row.embedding_profile)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _entries(connection: Connection, revision: Revision) -> list[ManifestEntry]:
    query = select(chunks).where(
        chunks.c.organ_id == revision.organ_id, chunks.c.revision_id == revision.id, chunks.c.delete_flag == 0
    )
    return [entry_of(row) for row in connection.execute(query.order_by(chunks.c.position))]


def _delete_rows(store: Store, connection: Connection, revision: Revision) -> None:
    of_revision = (chunks.c.organ_id == revision.organ_id, chunks.c.revision_id == revision.id)
    change = {"delete_flag": 1, "version": chunks.c.version + 1, "update_time": store.clock.now()}
    connection.execute(chunks.update().where(*of_revision, chunks.c.delete_flag == 0).values(change))


def _insert_rows(
    store: Store,
    connection: Connection,
    context: PrincipalContext,
    item: Item,
    revision: Revision,
    found: Sequence[Chunk],
    embedding_profile: str,
) -> None:
    now = store.clock.now()
    shared = {
        "organ_id": revision.organ_id,
        "trace_id": context.trace_id,
        "create_time": now,
        "update_time": now,
        "base_id": item.base_id,
        "item_id": revision.item_id,
        "revision_id": revision.id,
        "embedding_profile": embedding_profile,
        "tags_json": list(revision.tags),
    }
    rows = [
        shared
        | {
            "id": store.ids.next_id(),
            "position": position,
            "text": chunk.text,
            "text_sha256": sha256_of(chunk.text.encode()),
            "place_json": place_of(chunk),
        }
        for position, chunk in enumerate(found)
    ]
    for first in range(0, len(rows), _ROWS_IN_ONE_INSERT):
        connection.execute(chunks.insert(), rows[first : first + _ROWS_IN_ONE_INSERT])
