"""Erasure: every object that holds rows of one document, written again without them, and the manifests over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.artifacts.ledger import item_keys
from lorebase.artifacts.manifest import ArtifactReference, Manifest, PartitionEntry, write_manifest, write_partition
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.errors import ConfigurationError, CorruptObjectError, NotFoundError
from lorebase.fingerprint import sha256_of

TEXT_COLUMN = "text"
DOCUMENT_COLUMN = "document_id"
DOCUMENTS_COLUMN = "document_ids"
_LEAST_TEXT_CHARS = 16
"""Shorter texts are also words of records and recipes: to find one there proves nothing."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Stored rows of which some are of the document.

    Attributes:
        key: Key in the store.
        kind: Kind of the rows.
        removed: How many rows are of the document.
        kept: The other rows, in their order.
        text_digests: SHA-256 of the document's texts in it, but for very short ones.
    """

    key: str
    kind: ArtifactKind[Any]
    removed: int
    kept: Sequence[Any]
    text_digests: frozenset[str]

    @property
    def sha256(self) -> str:
        """Digest of the object, by its name."""
        return digest_of(self.key)


def digest_of(object_key: str) -> str:
    """The digest that names an object."""
    return object_key.rpartition("/")[2].removesuffix(".parquet")


def find_holdings(
    store: ObjectStore, keys: Iterable[str], kinds: Sequence[ArtifactKind[Any]], document_id: str
) -> list[Holding]:
    """The objects that hold rows of a document. Blocking.

    Args:
        store: The object store.
        keys: Keys of Parquet objects.
        kinds: Every kind of artifact that installed steps make.
        document_id: The document.

    Raises:
        ConfigurationError: An object holds the document, but no installed step says how its rows are read.
        CorruptObjectError: An object is no Parquet.
    """
    found = [_holding(store, key, kinds, document_id) for key in keys]
    return [holding for holding in found if holding is not None]


def _holding(store: ObjectStore, key: str, kinds: Sequence[ArtifactKind[Any]], document_id: str) -> Holding | None:
    try:
        content = store.get(key)
    except NotFoundError:  # removed since it was listed
        return None
    table = read_table(content, key)
    kind = _kind_of(table.schema.names, kinds)
    names_it = names_document(table, document_id)
    if kind is None:
        if names_it:
            raise ConfigurationError(
                f"The object {key} holds rows of {document_id}, and no installed step says how they are read.",
                remedy="Install the package whose step made it, then start again.",
            )
        return None
    if DOCUMENT_COLUMN in table.schema.names and not names_it:
        return None
    rows = kind.decode(content)
    kept = [row for row in rows if not kind.is_about(row, document_id)]
    if len(kept) == len(rows):
        return None
    return Holding(key, kind, len(rows) - len(kept), kept, _text_digests(table, document_id))


def names_document(table: pa.Table, document_id: str) -> bool:
    """Whether a row of any Parquet object says that it is of a document, or made of it among others."""
    names = table.schema.names
    if DOCUMENT_COLUMN in names and document_id in set(table[DOCUMENT_COLUMN].to_pylist()):
        return True
    return DOCUMENTS_COLUMN in names and any(document_id in (ids or ()) for ids in table[DOCUMENTS_COLUMN].to_pylist())


def read_table(content: bytes, key: str) -> pa.Table:
    """The rows of any Parquet object.

    Raises:
        CorruptObjectError: It is none.
    """
    try:
        return pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise CorruptObjectError(
            f"The object {key} cannot be read: {str(error).splitlines()[0]}.",
            remedy="Restore it, or remove it and build again.",
        ) from error


def _kind_of(columns: Sequence[str], kinds: Sequence[ArtifactKind[Any]]) -> ArtifactKind[Any] | None:
    """The kind with these columns, else the one that has gained columns since; kinds of equal columns are as good."""
    there = set(columns)
    equal = [kind for kind in kinds if set(kind.schema.names) == there]
    wider = sorted((kind for kind in kinds if set(kind.schema.names) > there), key=lambda kind: len(kind.schema.names))
    return next(iter([*equal, *wider]), None)


def _text_digests(table: pa.Table, document_id: str) -> frozenset[str]:
    if not {TEXT_COLUMN, DOCUMENT_COLUMN} <= set(table.schema.names):
        return frozenset()
    pairs = zip(table[DOCUMENT_COLUMN].to_pylist(), table[TEXT_COLUMN].to_pylist(), strict=True)
    return frozenset(
        text_digest(text) for owner, text in pairs if owner == document_id and len(text or "") >= _LEAST_TEXT_CHARS
    )


def text_digest(text: str) -> str:
    """What is remembered of a text while its document is being forgotten."""
    return sha256_of(text.encode("utf-8", "surrogatepass"))


def write_replacements(
    store: ObjectStore, layout: BaseLayout, holdings: Sequence[Holding]
) -> dict[str, PartitionEntry | None]:
    """Write what stays of each object as an object of its own, with its item keys for the ledgers. Blocking.

    Returns:
        The new entry of each old digest; None where nothing stays. Number and key of the entries are not set.
    """
    replaced: dict[str, PartitionEntry | None] = {}
    ledger_keys = store.list(layout.ledgers)
    for holding in holdings:
        if not holding.kept:
            replaced[holding.sha256] = None
            continue
        entry = write_partition(store, layout, holding.kind, 0, holding.kept)
        replaced[holding.sha256] = entry
        for key in ledger_keys:
            if key.endswith(f"/keys/{holding.sha256}"):
                store.put(f"{key.rpartition('/')[0]}/{entry.sha256}", item_keys(holding.kind, holding.kept))
    return replaced


def rewrite_manifests(
    store: ObjectStore, layout: BaseLayout, replaced: dict[str, PartitionEntry | None]
) -> dict[str, ArtifactReference]:
    """Write every manifest that names a replaced object again. Blocking.

    Returns:
        The new reference of each old manifest key.
    """
    references = {}
    for key, manifest in read_manifests(store, layout).items():
        if not any(entry.sha256 in replaced for entry in manifest.partitions):
            continue
        entries = [_replaced(entry, replaced) for entry in manifest.partitions]
        kept = tuple(entry for entry in entries if entry is not None)
        references[key] = write_manifest(store, layout, manifest.model_copy(update={"partitions": kept}))
    return references


def read_manifests(store: ObjectStore, layout: BaseLayout, artifact: str = "") -> dict[str, Manifest]:
    """All manifests of a base, or those of one artifact, by key; unreadable ones are passed over. Blocking."""
    folder = f"{layout.manifests}/{artifact}" if artifact else layout.manifests
    found = {}
    for key in store.list(folder):
        try:
            found[key] = Manifest.model_validate_json(store.get(key))
        except (NotFoundError, ValidationError):
            continue
    return found


def _replaced(entry: PartitionEntry, replaced: dict[str, PartitionEntry | None]) -> PartitionEntry | None:
    if entry.sha256 not in replaced:
        return entry
    new = replaced[entry.sha256]
    if new is None:
        return None
    # The work of the old key has made the old rows.
    return new.model_copy(update={"index": entry.index, "failed_items": entry.failed_items})


def rewrite_segments(store: ObjectStore, holdings: Sequence[Holding]) -> None:
    """Write open ledger segments again without the document's rows. Blocking."""
    for holding in holdings:
        if holding.kept:
            store.put(holding.key, holding.kind.encode(holding.kept))
        else:
            store.delete([holding.key])
