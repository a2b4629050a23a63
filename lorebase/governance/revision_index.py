"""The search index of governed revisions over the index store: staged, compared with the manifest, switched, removed.

It is on no transaction and never the authority. Every call may be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lorebase.errors import IndexMismatchError
from lorebase.governance.bases import GovernedBase, GovernedBases
from lorebase.governance.chunk_manifest import ChunkManifest, Guard, ManifestEntry
from lorebase.governance.context import PrincipalContext
from lorebase.governance.model import Item, Revision
from lorebase.governance.revision_chunks import OnStage, RevisionChunker
from lorebase.governance.store import Store, item_of
from lorebase.governance.task_failures import Stage
from lorebase.index.ports import AnyOf, EntityFields, EntityIndex, Equals, Filter, TextEntity, VectorEntity

IDS_IN_ONE_CALL = 500

Vectors = Mapping[str, NDArray[np.float32]]


class StoredRevisionIndex:
    """`RevisionIndex` over the index store.

    Args:
        store: Where manifests are.
        bases: Opens the base of a revision.
        chunker: Makes chunks and vectors of originals.
    """

    def __init__(self, store: Store, bases: GovernedBases, chunker: RevisionChunker) -> None:
        self._store = store
        self._bases = bases
        self._chunker = chunker
        self._manifest = ChunkManifest(store)

    async def stage(self, context: PrincipalContext, revision: Revision, *, on_stage: OnStage, guard: Guard) -> str:
        """Parse, cut, embed and write the entities of a revision, not searchable but where they are already.

        What the index had of another manifest is removed first, then the manifest is replaced in one transaction, then
        the entities are written under the ids of its rows. A manifest that says the same already keeps its ids.

        Args:
            context: Whose work it is.
            revision: The revision.
            on_stage: Told where the work is.
            guard: Asked in the transaction whether the caller may still write.

        Returns:
            The embedding profile; empty for none.

        Raises:
            SourceError: The original yields no text.
            DependencyError: A model or the index did not do it.
            InvalidStateError: The guard's.
        """
        base, item = await self._opened(revision)
        made = await self._chunker.run(base, item, revision, on_stage)
        on_stage(Stage.INDEX)
        profile_id = base.profile_id
        if await asyncio.to_thread(self._manifest.differs, revision, made.chunks, profile_id):
            await self.delete(revision)
        entries = await asyncio.to_thread(self._manifest.replace, context, revision, made.chunks, profile_id, guard)
        vectors = {
            entry.chunk.chunk_id: made.vectors[chunk.chunk_id]
            for entry, chunk in zip(entries, made.chunks, strict=True)
            if chunk.chunk_id in made.vectors
        }
        await self._write(base, revision, entries, vectors)
        return profile_id

    async def reconcile(self, revision: Revision) -> None:
        """Compare entities with the chunk manifest: number, ids, revision, tags, embedding profile.

        Raises:
            IndexMismatchError: They differ; `facts` says in what.
        """
        base, _item = await self._opened(revision)
        entries = await asyncio.to_thread(self._manifest.of, revision)
        if not entries:
            raise _mismatch(revision, "the chunk manifest is empty")
        if any(entry.embedding_profile != base.profile_id for entry in entries):
            raise _mismatch(revision, "it was embedded in another vector space than the base is searched in")
        wanted = {entry.chunk.chunk_id: fields_of(base.base_id, revision, entry) for entry in entries}
        for name, index in _indexes(base):
            found = {fields.chunk_id: fields for fields in await index.fields(_of(revision))}
            if difference := difference_of(wanted, found):
                raise _mismatch(revision, f"{name}: {difference}")

    async def enable(self, revision: Revision) -> None:
        """Make the revision's entities searchable.

        Raises:
            IndexMismatchError: An index lacks some of them.
            DependencyError: The index did not do it; some of them may be searchable.
        """
        base, _item = await self._opened(revision)
        ids = [entry.chunk.chunk_id for entry in await asyncio.to_thread(self._manifest.of, revision)]
        for name, index in _indexes(base):
            switched = 0
            for some in _batches(ids):
                switched += await index.set_searchable(some, searchable=True)
            if switched != len(ids):
                raise _mismatch(revision, f"{name}: {len(ids) - switched} of {len(ids)} entities are missing")

    async def disable(self, revision: Revision) -> None:
        """Make every entity of the revision not searchable, whatever the manifest says.

        Raises:
            DependencyError: The index did not do it.
        """
        base, _item = await self._opened(revision)
        for _name, index in _all_indexes(base, revision):
            shown = [fields.chunk_id for fields in await index.fields(_searchable(revision))]
            for some in _batches(shown):
                await index.set_searchable(some, searchable=False)

    async def is_shown(self, revision: Revision, *, whole: bool) -> bool:
        """Whether searches may return all entities of the revision (`whole`), or any of them (not `whole`)."""
        base, _item = await self._opened(revision)
        indexes = _indexes(base) if whole else _all_indexes(base, revision)
        counts = [await index.count(_searchable(revision)) for _name, index in indexes]
        if not whole:
            return any(counts)
        rows = len(await asyncio.to_thread(self._manifest.of, revision))
        return all(count == rows for count in counts)

    async def delete(self, revision: Revision) -> None:
        """Remove the revision's entities; none is no error."""
        base, _item = await self._opened(revision)
        for _name, index in _all_indexes(base, revision):
            await index.delete(_of(revision))

    async def restore(self, revision: Revision) -> None:
        """Write the entities of the manifest again and remove all others; what searches may return stays so.

        Raises:
            IndexMismatchError: The manifest is empty, or of another vector space: index the revision again.
            DependencyError: The model or the index did not do it.
        """
        base, _item = await self._opened(revision)
        entries = await asyncio.to_thread(self._manifest.of, revision)
        if not entries or any(entry.embedding_profile != base.profile_id for entry in entries):
            raise _mismatch(revision, "its manifest cannot be written to the index that is searched")
        ids = {entry.chunk.chunk_id for entry in entries}
        for _name, index in _all_indexes(base, revision):
            strays = [fields.chunk_id for fields in await index.fields(_of(revision)) if fields.chunk_id not in ids]
            for some in _batches(strays):
                await index.delete((AnyOf("chunk_id", tuple(some)),))
        vectors = await self._chunker.vectors(base, revision, [entry.chunk for entry in entries])
        await self._write(base, revision, entries, vectors)

    async def _write(
        self, base: GovernedBase, revision: Revision, entries: Sequence[ManifestEntry], vectors: Vectors
    ) -> None:
        lexical, dense = base.lexical(), base.vectors()
        if dense is not None:
            fields = await _fields_to_write(dense, base, revision, entries)
            await dense.upsert([VectorEntity(one, vectors[one.chunk_id]) for one in fields])
        if lexical is not None:
            fields = await _fields_to_write(lexical, base, revision, entries)
            texts = {entry.chunk.chunk_id: entry.chunk.indexed_text for entry in entries}
            await lexical.upsert([TextEntity(one, texts[one.chunk_id]) for one in fields])

    async def _opened(self, revision: Revision) -> tuple[GovernedBase, Item]:
        item = await asyncio.to_thread(self._item, revision)
        return await self._bases.open(item.base_id), item

    def _item(self, revision: Revision) -> Item:
        reader = PrincipalContext(organ_id=revision.organ_id, user_id="index")
        with self._store.database.reading() as connection:
            return item_of(connection, reader, revision.item_id, also_deleted=True)


def fields_of(base_id: str, revision: Revision, entry: ManifestEntry, *, searchable: bool = False) -> EntityFields:
    """The entity of a chunk, as the index must hold it."""
    return EntityFields(
        chunk_id=entry.chunk.chunk_id,
        document_id=str(revision.item_id),
        revision_id=str(revision.id),
        base_id=base_id,
        organ_id=revision.organ_id,
        searchable=searchable,
        tags=entry.tags,
        source_type=revision.source_type,
    )


def difference_of(wanted: Mapping[str, EntityFields], found: Mapping[str, EntityFields]) -> str:
    """In what an index differs from a manifest, whatever is searchable; empty where it does not."""
    if missing := len(wanted.keys() - found.keys()):
        return f"{missing} of {len(wanted)} entities are missing"
    if strays := len(found.keys() - wanted.keys()):
        return f"{strays} entities are not in the manifest"
    changed = sum(_labels(wanted[chunk_id]) != _labels(found[chunk_id]) for chunk_id in wanted)
    return f"{changed} entities have other labels" if changed else ""


def _labels(fields: EntityFields) -> tuple[object, ...]:
    # Tags are a set to every filter, and not every index keeps their order.
    owner = (fields.document_id, fields.revision_id, fields.base_id, fields.organ_id)
    return (*owner, frozenset(fields.tags), fields.source_type)


def _of(revision: Revision) -> Filter:
    return (Equals("organ_id", revision.organ_id), Equals("revision_id", str(revision.id)))


def _searchable(revision: Revision) -> Filter:
    return (*_of(revision), Equals("searchable", value=True))


def _indexes(base: GovernedBase) -> Iterator[tuple[str, EntityIndex]]:
    """The indexes that are searched."""
    vectors, lexical = base.vectors(), base.lexical()
    if vectors is not None:
        yield "vector index", vectors
    if lexical is not None:
        yield "full-text index", lexical


def _all_indexes(base: GovernedBase, revision: Revision) -> Iterator[tuple[str, EntityIndex]]:
    """The indexes that are searched, and that of the vector space in which the revision was indexed before."""
    yield from _indexes(base)
    if revision.embedding_profile not in {"", base.profile_id}:
        former = base.vectors(revision.embedding_profile)
        if former is not None:
            yield "former vector index", former


async def _fields_to_write(
    index: EntityIndex, base: GovernedBase, revision: Revision, entries: Sequence[ManifestEntry]
) -> list[EntityFields]:
    shown = {fields.chunk_id for fields in await index.fields(_searchable(revision))}
    return [fields_of(base.base_id, revision, entry, searchable=entry.chunk.chunk_id in shown) for entry in entries]


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(ids), IDS_IN_ONE_CALL):
        yield ids[first : first + IDS_IN_ONE_CALL]


def _mismatch(revision: Revision, difference: str) -> IndexMismatchError:
    return IndexMismatchError(
        f"The index of revision {revision.id} is not what its chunk manifest says: {difference}.",
        remedy="Run `lorebase release reconcile`, or index the revision again (reindex).",
        revision_id=str(revision.id),
        difference=difference,
    )
