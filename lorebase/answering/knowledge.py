"""The knowledge catalog: reads whole documents or sections of them, in memory, each reading with a stable identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from lorebase.answering.documents import (
    DocumentLike,
    KnowledgeDocument,
    KnowledgePart,
    KnowledgeSection,
    snapshot_document,
    walk_sections,
)
from lorebase.errors import (
    InvalidDefinitionError,
    InvalidSelectionError,
    LorebaseError,
    OverlappingSelectionError,
    SelectionTooLongError,
)
from lorebase.fingerprint import fingerprint
from lorebase.operation.catalogs import ReadonlyCatalog, unknown_id
from lorebase.operation.observation import Observer, notify

SelectionMode: TypeAlias = Literal["document", "self", "subtree"]

PARAGRAPH_BREAK: Final = "\n\n"
_SECTION_MODES: Final = ("self", "subtree")


class SelectionLike(Protocol):
    """What of a document is to be read, whatever class it is."""

    @property
    def mode(self) -> str:
        """One of document, self, subtree."""
        ...

    @property
    def section_ids(self) -> Sequence[str]:
        """Sections for self and subtree; none for document."""
        ...


class ReadLike(Protocol):
    """A request to read, whatever class it is."""

    @property
    def document_id(self) -> str:
        """The document."""
        ...

    @property
    def selection(self) -> SelectionLike:
        """What of it."""
        ...


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a document is read.

    Attributes:
        mode: `document`: all of it. `self`: the paragraphs that stand directly in the sections. `subtree`: the sections
            with all sections inside them.
        section_ids: The sections, at least one, each once; none for `document`.
    """

    mode: SelectionMode = "document"
    section_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeRead:
    """A request to read a document."""

    document_id: str
    selection: Selection = Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSnapshot(KnowledgeRead):
    """What was read.

    Attributes:
        id: Opaque identity: equal document, revision, language and selection give the same one, any other another one.
        revision: Version of the document.
        locale: Its language.
        content: The paragraphs in reading order with a blank line between them, complete. Section ids are not in it.
        selection: As asked for, its sections in reading order.
    """

    id: str
    revision: str
    locale: str | None
    content: str


@dataclass(frozen=True, slots=True)
class KnowledgeReadEvent:
    """What an observer of a catalog is told: a reading, or a refusal with its code."""

    document_id: str
    snapshot: KnowledgeSnapshot | None = None
    refusal: str | None = None


class KnowledgeCatalog(ReadonlyCatalog[KnowledgeDocument]):
    """Documents to read from. It opens no file, uses no network and decides no right of access.

    Args:
        documents: Copied; later changes of them change nothing here.
        max_chars: Longest content of a reading in code points, at least 1; None for any length.
        observe: Told of every reading. It cannot change or break one.

    Raises:
        InvalidDefinitionError: A document or the limit is not as it must be.
    """

    def __init__(
        self, documents: Iterable[DocumentLike], *, max_chars: int | None = None, observe: Observer | None = None
    ) -> None:
        if max_chars is not None and max_chars < 1:
            raise InvalidDefinitionError(f"max_chars is {max_chars}.", remedy="Give at least 1, or None for no limit.")
        super().__init__("knowledge document", (snapshot_document(document) for document in documents))
        self._max_chars = max_chars
        self._observe = observe
        self._digests = {document.id: document.digest for document in self.values()}
        self._sections = {
            document.id: {section.id: section for section in walk_sections(document.parts)}
            for document in self.values()
        }

    def section_ids(self, document_id: str) -> tuple[str, ...]:
        """Ids of a document's sections, each before those inside it, in reading order.

        Raises:
            UnknownIdError: There is no such document.
        """
        self.require(document_id)
        return tuple(self._sections[document_id])

    def assert_selection(self, request: ReadLike) -> None:
        """Refuse a request that cannot be read; its length is not looked at.

        Raises:
            UnknownIdError: There is no such document or section.
            InvalidSelectionError: Unknown mode, no section, one that is there twice, or sections for a whole document.
            OverlappingSelectionError: In `subtree`, a section together with one inside it.
        """
        self._canonical(request)

    def read(self, request: ReadLike) -> KnowledgeSnapshot:
        """Read a document.

        Raises:
            UnknownIdError: As for `assert_selection`, like the two that follow.
            InvalidSelectionError: As above.
            OverlappingSelectionError: As above.
            SelectionTooLongError: It is longer than `max_chars`; it is never cut.
        """
        try:
            snapshot = self._read(request)
        except LorebaseError as error:
            notify(self._observe, KnowledgeReadEvent(request.document_id, refusal=error.code))
            raise
        notify(self._observe, KnowledgeReadEvent(request.document_id, snapshot))
        return snapshot

    def _read(self, request: ReadLike) -> KnowledgeSnapshot:
        selection = self._canonical(request)
        document = self.require(request.document_id)
        content = PARAGRAPH_BREAK.join(self._paragraphs(document, selection))
        if self._max_chars is not None and len(content) > self._max_chars:
            raise SelectionTooLongError(
                f"The reading of {document.id!r} has {len(content)} characters; at most {self._max_chars} are given.",
                remedy="Select fewer or smaller sections, or raise max_chars.",
                chars=len(content),
                max_chars=self._max_chars,
            )
        identity = fingerprint(
            "knowledge-snapshot",
            document.id,
            document.revision,
            document.locale,
            selection.mode,
            selection.section_ids,
            self._digests[document.id],
        )
        return KnowledgeSnapshot(
            document_id=document.id,
            selection=selection,
            id=f"doc:{identity}",
            revision=document.revision,
            locale=document.locale,
            content=content,
        )

    def _canonical(self, request: ReadLike) -> Selection:
        """The selection with its sections in reading order."""
        document = self.require(request.document_id)
        mode, section_ids = request.selection.mode, request.selection.section_ids
        if mode == "document":
            if section_ids:
                raise InvalidSelectionError("A whole document was selected together with sections.")
            return Selection()
        if mode not in _SECTION_MODES:
            raise InvalidSelectionError(f"There is no selection mode {mode!r}.", remedy="Use document, self, subtree.")
        chosen = self._checked_sections(document, section_ids)
        if mode == "self":
            return Selection("self", chosen)
        self._refuse_overlaps(document, chosen)
        return Selection("subtree", chosen)

    def _checked_sections(self, document: KnowledgeDocument, section_ids: Sequence[str]) -> tuple[str, ...]:
        known = self._sections[document.id]
        if isinstance(section_ids, str) or not section_ids:
            raise InvalidSelectionError(
                f"A reading of {document.id!r} selects no section.",
                remedy="Give a sequence of section ids, or select the whole document.",
            )
        for section_id in section_ids:
            if section_id not in known:
                raise unknown_id(f"section of {document.id!r}", section_id, known)
        chosen = set(section_ids)
        if len(chosen) < len(section_ids):
            raise InvalidSelectionError(f"A reading of {document.id!r} selects a section twice: {list(section_ids)}.")
        return tuple(section_id for section_id in known if section_id in chosen)

    def _refuse_overlaps(self, document: KnowledgeDocument, chosen: tuple[str, ...]) -> None:
        for section_id in chosen:
            inside = {inner.id for inner in walk_sections(self._sections[document.id][section_id].parts)}
            for other in chosen:
                if other in inside:
                    raise OverlappingSelectionError(
                        f"Section {other!r} of {document.id!r} lies inside {section_id!r}, which is selected too.",
                        remedy="Select one of them, or read with mode self.",
                    )

    def _paragraphs(self, document: KnowledgeDocument, selection: Selection) -> list[str]:
        if selection.mode == "document":
            return _paragraphs_of(document.parts, deep=True)
        sections = self._sections[document.id]
        deep = selection.mode == "subtree"
        return [text for name in selection.section_ids for text in _paragraphs_of(sections[name].parts, deep=deep)]


def define_knowledge_catalog(
    documents: Iterable[DocumentLike], *, max_chars: int | None = None, observe: Observer | None = None
) -> KnowledgeCatalog:
    """A catalog of these documents; see `KnowledgeCatalog`."""
    return KnowledgeCatalog(documents, max_chars=max_chars, observe=observe)


def _paragraphs_of(parts: Sequence[KnowledgePart], *, deep: bool) -> list[str]:
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, KnowledgeSection):
            texts.append(part)
        elif deep:
            texts += _paragraphs_of(part.parts, deep=True)
    return texts
