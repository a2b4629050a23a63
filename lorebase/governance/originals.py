"""The originals: what was reviewed, byte for byte, in the object store under the digest of its bytes."""

from __future__ import annotations

from lorebase.artifacts.store import ObjectStore
from lorebase.errors import CorruptObjectError, NotFoundError
from lorebase.fingerprint import sha256_of
from lorebase.governance.model import Revision


class Originals:
    """Keeps originals for ever: history stays auditable, rebuildable, and able to roll back.

    An organisation's originals lie apart, so that equal files of two organisations share nothing.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def keep(self, organ_id: int, content: bytes) -> str:
        """Store an original whole, before any row names it, and give its key.

        A command that fails afterwards leaves an object that no row names; the next upload of the file finds it.
        """
        digest = sha256_of(content)
        key = f"governance/originals/{organ_id}/{digest[:2]}/{digest}"
        if not self._objects.exists(key):
            self._objects.put(key, content)
        return key

    def has(self, revision: Revision) -> bool:
        """Whether the original of a revision is there."""
        return bool(revision.object_key) and self._objects.exists(revision.object_key)

    def read(self, revision: Revision) -> bytes:
        """The original of a revision, as it was taken in. For FAQ entries it is their canonical JSON.

        Raises:
            NotFoundError: The revision has no content yet, or the object is gone.
            CorruptObjectError: The object is not what was taken in.
        """
        if not revision.object_key:
            raise NotFoundError(f"Revision {revision.id} has no content yet.", remedy="Add a file or FAQ entries.")
        content = self._objects.get(revision.object_key)
        if sha256_of(content) != revision.sha256:
            raise CorruptObjectError(
                f"The original of revision {revision.id} is not what was taken in.",
                remedy="Restore the object from a backup.",
                key=revision.object_key,
            )
        return content
