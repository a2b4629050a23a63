"""Finding a document by its id or name in everything that a base still keeps, and in its source as it is now."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Protocol

from lorebase.artifacts.erasure import read_manifests
from lorebase.artifacts.kinds import SOURCE_DOCUMENTS
from lorebase.artifacts.manifest import read_partition
from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.documents.file_names import NameFilter
from lorebase.documents.model import SourceDocument
from lorebase.documents.sources import FileSystem
from lorebase.errors import ConfigurationError, CorruptObjectError, NotFoundError, UsageError
from lorebase.ids import document_id_of
from lorebase.recipes.model import KnowledgeRecipe, SourceSpec


class SourceOpener(Protocol):
    """Opens sources."""

    def open_source(self, url: str) -> tuple[FileSystem, str]:
        """The file system behind an address, and the folder in it."""
        ...


def find_document(store: ObjectStore, layout: BaseLayout, wanted: str) -> tuple[str, SourceDocument | None]:
    """The document of that id or name. Blocking.

    Args:
        store: The object store.
        layout: The base.
        wanted: A document id, or a document's name in its source.

    Returns:
        Its id, and how a kept scan found it; None for a document that was forgotten before, wholly or in part.

    Raises:
        UsageError: Several documents have that name; lists their ids.
        NotFoundError: There is no such document.
    """
    known = _scanned_documents(store, layout)
    if wanted in known:
        return wanted, known[wanted]
    name = unicodedata.normalize("NFC", wanted.replace("\\", "/"))
    named = [document for document in known.values() if document.name == name]
    if len(named) > 1:
        listed = "; ".join(f"{document.document_id} in source {document.source}" for document in named)
        raise UsageError(
            f"{len(named)} documents of {layout.base_name!r} are named {name!r}.",
            remedy=f"Name one by its id: {listed}.",
            documents=[document.document_id for document in named],
        )
    if named:
        return named[0].document_id, named[0]
    forgotten = {key.rpartition("/")[2].removesuffix(".json") for key in store.list(layout.forgotten)}
    earlier = {wanted, *_ids_by_recipes(store, layout, name)} & forgotten
    if len(earlier) == 1:
        return earlier.pop(), None
    near = difflib.get_close_matches(name, [document.name for document in known.values()], n=3)
    raise NotFoundError(
        f"{layout.base_name!r} keeps no document {wanted!r}.",
        remedy=f"Did you mean {' or '.join(map(repr, near))}?" if near else "Give its id, or its path in the source.",
    )


def recipe_of(snapshot: Snapshot) -> KnowledgeRecipe:
    """The recipe that a snapshot was built with; keys that a newer program wrote are left out."""
    data = {key: value for key, value in snapshot.recipe.items() if key in KnowledgeRecipe.model_fields}
    return KnowledgeRecipe.model_validate(data)


def is_in_source(opener: SourceOpener, recipe: KnowledgeRecipe, document: SourceDocument) -> bool | None:
    """Whether the next build would find a document again. Blocking.

    Args:
        opener: Opens sources.
        recipe: The recipe; relative folders start at its folder, or where the process runs if it has none.
        document: The document.

    Returns:
        None where its source cannot be looked into from here.
    """
    spec = next((one for one in recipe.sources if one.source_name == document.source), None)
    if spec is None or not NameFilter(spec.include, spec.exclude).accepts(document.name):
        return False
    location = recipe.location_of(spec)
    try:
        filesystem, root = opener.open_source(location)
        filesystem.info(f"{root}/{document.name}")
    except FileNotFoundError:
        return None if _place_is_a_guess(recipe, spec) else False
    except (OSError, ConfigurationError):
        return None
    return True


def _place_is_a_guess(recipe: KnowledgeRecipe, spec: SourceSpec) -> bool:
    """Whether a source's folder is relative to a recipe whose own place is not known."""
    return "://" not in spec.folder and not spec.folder.startswith("/") and not recipe.folder.parts


def _scanned_documents(store: ObjectStore, layout: BaseLayout) -> dict[str, SourceDocument]:
    """Every document of every kept scan by id."""
    manifests = read_manifests(store, layout, SOURCE_DOCUMENTS.name).values()
    entries = {entry.sha256: entry for manifest in manifests for entry in manifest.partitions}
    found: dict[str, SourceDocument] = {}
    for entry in entries.values():
        try:
            rows = read_partition(store, layout, SOURCE_DOCUMENTS, entry)
        except CorruptObjectError:  # of a run that was cleaned up
            continue
        found |= {row.document_id: row for row in rows}
    return found


def _ids_by_recipes(store: ObjectStore, layout: BaseLayout, name: str) -> Iterable[str]:
    snapshots = SnapshotStore(store, layout).all()
    sources = {
        str(spec.get("name") or spec.get("folder")) for one in snapshots for spec in one.recipe.get("sources", ())
    }
    return [document_id_of(source, name) for source in sources]
