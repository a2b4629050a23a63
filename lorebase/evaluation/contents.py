"""What a snapshot holds, as an evaluation needs it: to tell missing documents, and whether citations are true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from lorebase.artifacts.kinds import CHUNKS
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import Snapshot
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.documents.model import Chunk
from lorebase.errors import InvalidDataSetError
from lorebase.evaluation.model import DataSet, EvaluationCase
from lorebase.evaluation.relevance import normal_text
from lorebase.retrieval.model import SearchResult

_NAMED = 10


@dataclass(frozen=True)
class BaseContents:
    """The chunks of a base by id."""

    chunks: Mapping[str, Chunk]

    @cached_property
    def documents(self) -> frozenset[str]:
        """Names and ids of all documents."""
        held = self.chunks.values()
        return frozenset(chunk.document_name for chunk in held) | frozenset(chunk.document_id for chunk in held)

    @cached_property
    def _names_by_stem(self) -> dict[str, list[str]]:
        stems: dict[str, list[str]] = {}
        for name in sorted({chunk.document_name for chunk in self.chunks.values()}):
            stems.setdefault(PurePosixPath(name).stem, []).append(name)
        return stems

    def known_as(self, document: str) -> str | None:
        """What the base calls a document: by its name or id, or by its name without folder and ending; None if unknown.

        A short form that several documents share is unknown.
        """
        if document in self.documents:
            return document
        names = self._names_by_stem.get(document, [])
        return names[0] if len(names) == 1 else None

    @cached_property
    def _text(self) -> str:
        return "\n".join(normal_text(chunk.text) for chunk in self.chunks.values())

    def holds_text(self, text: str) -> bool:
        """Whether a chunk contains the text."""
        return normal_text(text) in self._text

    def resolves(self, result: SearchResult) -> bool:
        """Whether a citation leads to the very text that it is shown with."""
        chunk = self.chunks.get(result.chunk_id)
        return (
            chunk is not None
            and chunk.document_id == result.document.id
            and (chunk.start, chunk.end, chunk.page)
            == (result.citation.start, result.citation.end, result.citation.page)
            and result.text.endswith(chunk.text)
        )


def read_contents(store: ObjectStore, snapshot: Snapshot) -> BaseContents:
    """The contents of a snapshot. Blocking; memory for its chunks, about 2 KB each.

    Raises:
        CorruptObjectError: An artifact is missing or damaged.
    """
    reference = snapshot.artifacts.get(CHUNKS.name)
    if reference is None:
        return BaseContents({})
    layout = BaseLayout(snapshot.base_name)
    partitions = read_manifest(store, reference).partitions
    chunks = (chunk for entry in partitions for chunk in read_partition(store, layout, CHUNKS, entry))
    return BaseContents({chunk.chunk_id: chunk for chunk in chunks})


def settled(data_set: DataSet, contents: BaseContents) -> DataSet:
    """The data set with `answerable` decided for every case.

    Raises:
        InvalidDataSetError: It expects documents or chunks that the base does not have, or the base has nothing of it.
    """
    faults = [fault for case in data_set.cases for fault in _missing(case, contents)]
    if faults:
        raise InvalidDataSetError(
            f"The knowledge base lacks what {data_set.name} expects: {'; '.join(faults[:_NAMED])}"
            f"{f'; and {len(faults) - _NAMED} more' if len(faults) > _NAMED else ''}.",
            remedy="Build the base from the documents of the data set, or take these rows out.",
            faults=faults,
        )
    cases = tuple(_settled(case, contents) for case in data_set.cases)
    if not any(case.answerable for case in cases) and any(case.answerable is None for case in data_set.cases):
        raise InvalidDataSetError(
            f"The knowledge base holds none of the texts of {data_set.name}.",
            remedy="Build it from the articles of the data set, or name the base that was.",
        )
    return data_set.model_copy(update={"cases": cases})


def _settled(case: EvaluationCase, contents: BaseContents) -> EvaluationCase:
    if case.answerable is not None:
        known = {contents.known_as(name) or name: grade for name, grade in case.expected.documents.items()}
        return case.model_copy(update={"expected": case.expected.model_copy(update={"documents": known})})
    return case.model_copy(update={"answerable": any(contents.holds_text(text) for text in case.expected.texts)})


def _missing(case: EvaluationCase, contents: BaseContents) -> list[str]:
    documents = [f"document {name!r}" for name in case.expected.documents if contents.known_as(name) is None]
    chunks = [f"chunk {chunk_id!r}" for chunk_id in case.expected.chunks if chunk_id not in contents.chunks]
    return [f"{what} ({case.place or case.case_id})" for what in (*documents, *chunks)]
