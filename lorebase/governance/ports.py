"""What governed knowledge needs from others."""

from __future__ import annotations

from collections.abc import Mapping
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

    Implementations are on no transaction; services call them before or after one, never inside. Every call may be
    repeated, and may be killed anywhere.
    """

    async def reconcile(self, revision: Revision) -> None:
        """Compare entities with the chunk manifest: number, ids, revision, tags, embedding profile.

        Raises:
            IndexMismatchError: They differ; `facts` says in what.
        """
        ...

    async def enable(self, revision: Revision) -> None:
        """Make the revision's entities searchable.

        Raises:
            IndexMismatchError: Some of them are missing.
            DependencyError: The index did not do it; some of them may be searchable.
        """
        ...

    async def disable(self, revision: Revision) -> None:
        """Make the revision's entities not searchable."""
        ...

    async def is_shown(self, revision: Revision, *, whole: bool) -> bool:
        """Whether searches may return all entities of the revision (`whole`), or any of them (not `whole`)."""
        ...

    async def delete(self, revision: Revision) -> None:
        """Remove the revision's entities; none is no error."""
        ...

    async def restore(self, revision: Revision) -> None:
        """Write the entities of the manifest again and remove all others; what searches may return stays so.

        Raises:
            IndexMismatchError: That cannot be done from the manifest: the revision has to be indexed again.
        """
        ...
