"""What governed knowledge needs from others, and what it gives to retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from lorebase.governance.model import Revision, Scalar


class ContainerCheck(Protocol):
    """Looks at the table of contents of a zip container before anything unpacks it."""

    def __call__(self, content: bytes, *, name: str) -> None:
        """Pass, or raise.

        Raises:
            UnreadableDocumentError: CORRUPT, ENCRYPTED or TOO_LARGE.
        """
        ...


class MetadataRules(Protocol):
    """The source types of a knowledge base, as far as drafts need them."""

    def check(self, base_id: str, source_type: str, metadata: Mapping[str, Scalar]) -> None:
        """Pass where a document of this type may carry these fields.

        Raises:
            InvalidInputError: The base has no such type, or a field is undeclared, missing or of the wrong type.
        """
        ...


class RevisionIndex(Protocol):
    """The search index of governed revisions: derived, checkable, never the authority.

    Implementations are on no transaction; services call them before or after one, never inside.
    """

    async def stage(self, revision: Revision) -> None:
        """Parse, cut, embed and write the revision's entities with `searchable` false, replacing what there was.

        Raises:
            SourceError: The original yields no text.
            DependencyError: A model or the index did not do it.
        """
        ...

    async def reconcile(self, revision: Revision) -> None:
        """Compare entities with the chunk manifest: number, ids, revision, tags, embedding profile.

        Raises:
            IndexMismatchError: They differ; `facts` says in what.
        """
        ...

    async def enable(self, revision: Revision) -> None:
        """Make the revision's entities searchable."""
        ...

    async def disable(self, revision: Revision) -> None:
        """Make the revision's entities not searchable."""
        ...

    async def delete(self, revision: Revision) -> None:
        """Remove the revision's entities; none is no error."""
        ...


class ActiveRevisions(Protocol):
    """The authority that retrieval asks: which revisions are live."""

    async def active_revision_ids(self, organ_id: int, item_ids: Sequence[int]) -> Mapping[int, int]:
        """The live revision of each of these items that has one.

        Raises:
            UnavailableError: The authority does not answer; never an empty mapping instead.
        """
        ...
