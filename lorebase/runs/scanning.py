"""The first artifact of every build: the documents that the recipe's sources hold now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lorebase.artifacts.kinds import SOURCE_DOCUMENTS, partition_of
from lorebase.artifacts.manifest import Manifest, write_partition
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.documents.model import SourceDocument
from lorebase.documents.sources import FileSystem, Source, read_bytes, scan
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.runs.records import Issue, Subject

SCAN = "scan"


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source with the file system that holds it; `root` is its folder there."""

    source: Source
    filesystem: FileSystem
    root: str


class SourceReader:
    """Reads documents of the sources of one recipe. Blocking."""

    def __init__(self, sources: Mapping[str, OpenedSource], max_document_bytes: int) -> None:
        self._sources = sources
        self._max_document_bytes = max_document_bytes
        self._urls: dict[str, str] = {}

    def scan(self) -> tuple[list[SourceDocument], list[Issue]]:
        """Documents of all sources by name, and what had to be left out.

        Raises:
            ConfigurationError: A source's folder cannot be read.
        """
        documents: list[SourceDocument] = []
        issues: list[Issue] = []
        for opened in self._sources.values():
            found = scan(opened.source, opened.filesystem, opened.root)
            documents += found.documents
            issues += [
                Issue(
                    code=issue.code,
                    severity="warning",
                    subject=Subject(kind="source", id=opened.source.name, name=issue.name),
                    message=issue.message,
                    step=SCAN,
                )
                for issue in found.issues
            ]
        self._urls = {document.document_id: document.url for document in documents}
        return documents, issues

    def read_document(self, document: SourceDocument) -> bytes:
        """The bytes of a scanned document.

        Raises:
            UnreadableDocumentError: It is over the size limit.
            ConflictError: It changed or vanished since the scan.
        """
        opened = self._sources[document.source]
        url = self._urls.get(document.document_id) or f"{opened.root}/{document.name}"
        return read_bytes(replace(document, url=url), opened.filesystem, max_bytes=self._max_document_bytes)


def write_source_manifest(
    store: ObjectStore, layout: BaseLayout, recipe: KnowledgeRecipe, documents: list[SourceDocument]
) -> Manifest:
    """The scan as an artifact, divided by document. Addresses stay out of it: they differ between machines."""
    parts: dict[int, list[SourceDocument]] = defaultdict(list)
    for document in documents:
        parts[partition_of(document.document_id, recipe.partitions)].append(document)
    entries = [
        write_partition(
            store, layout, SOURCE_DOCUMENTS, index, sorted(parts[index], key=lambda document: document.document_id)
        )
        for index in sorted(parts)
    ]
    return Manifest(
        artifact=SOURCE_DOCUMENTS.name,
        step_fingerprint=SCAN,
        partition_count=recipe.partitions,
        partitions=tuple(entries),
    )
