"""Knowledge documents: paragraphs and named sections, nested at will, as the catalog keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from lorebase.errors import InvalidDefinitionError
from lorebase.fingerprint import fingerprint
from lorebase.operation.catalogs import checked_id


class SectionLike(Protocol):
    """A named section, whatever class it is."""

    @property
    def id(self) -> str:
        """Its name, once in its document."""
        ...

    @property
    def parts(self) -> Sequence[str | SectionLike]:
        """Paragraphs and sections inside, in reading order."""
        ...


class DocumentLike(Protocol):
    """A document that can be put into a catalog, whatever class it is."""

    @property
    def id(self) -> str:
        """Its name, once in its catalog."""
        ...

    @property
    def revision(self) -> str:
        """Which version of it this is; for a governed item the id and number of its revision."""
        ...

    @property
    def locale(self) -> str | None:
        """Its language, such as "en" or "zh-CN"."""
        ...

    @property
    def parts(self) -> Sequence[str | SectionLike]:
        """Paragraphs and sections, in reading order."""
        ...


@dataclass(frozen=True, slots=True)
class KnowledgeSection:
    """A named section.

    Attributes:
        id: Its name, once in the whole document.
        parts: Paragraphs (not blank) and sections inside, in reading order.
    """

    id: str
    parts: tuple[KnowledgePart, ...] = ()


KnowledgePart: TypeAlias = str | KnowledgeSection


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeDocument:
    """A document of knowledge; see `DocumentLike` for the fields."""

    id: str
    revision: str
    locale: str | None = None
    parts: tuple[KnowledgePart, ...] = ()

    @property
    def digest(self) -> str:
        """Fingerprint of everything that it says and of its structure."""
        return fingerprint("knowledge-document", [_canonical(part) for part in self.parts])


def snapshot_document(document: DocumentLike) -> KnowledgeDocument:
    """The document as it is now, in values that nobody can change.

    Raises:
        InvalidDefinitionError: A blank id, revision or paragraph, a part that is neither text nor section, a section id
            that is there twice.
    """
    document_id = checked_id(document.id, "knowledge document")
    copy = KnowledgeDocument(
        id=document_id,
        revision=checked_id(document.revision, f"revision of document {document_id!r}"),
        locale=document.locale,
        parts=_snapshot_parts(document.parts, document_id),
    )
    refuse_repeated_sections(copy)
    return copy


def refuse_repeated_sections(document: KnowledgeDocument) -> None:
    """Refuse a document in which two sections have one id.

    Raises:
        InvalidDefinitionError: There are such sections.
    """
    seen: set[str] = set()
    for section in walk_sections(document.parts):
        if section.id in seen:
            raise InvalidDefinitionError(
                f"Document {document.id!r} has two sections with the id {section.id!r}.",
                remedy="Give each its own id; in Markdown write {#another-id} behind the heading.",
                section_id=section.id,
            )
        seen.add(section.id)


def walk_sections(parts: Sequence[KnowledgePart]) -> Iterator[KnowledgeSection]:
    """Every section, each before those inside it, in reading order."""
    for part in parts:
        if isinstance(part, KnowledgeSection):
            yield part
            yield from walk_sections(part.parts)


def _snapshot_parts(parts: Sequence[str | SectionLike], document_id: str) -> tuple[KnowledgePart, ...]:
    return tuple(_snapshot_part(part, document_id) for part in parts)


def _snapshot_part(part: str | SectionLike, document_id: str) -> KnowledgePart:
    if isinstance(part, str):
        if not part.strip():
            raise InvalidDefinitionError(f"Document {document_id!r} has a blank paragraph.", remedy="Leave it out.")
        return str.__str__(part)
    if not hasattr(part, "id") or not hasattr(part, "parts"):
        raise InvalidDefinitionError(
            f"Document {document_id!r} has a part that is a {type(part).__name__}.",
            remedy="Parts are paragraphs (text) and sections (with `id` and `parts`).",
        )
    section_id = checked_id(part.id, f"section of document {document_id!r}")
    return KnowledgeSection(section_id, _snapshot_parts(part.parts, document_id))


def _canonical(part: KnowledgePart) -> str | list[object]:
    return part if isinstance(part, str) else [part.id, *(_canonical(inner) for inner in part.parts)]
