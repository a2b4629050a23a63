"""The folders of a base on a disk: an empty tree when it is created, gone with everything when it is purged."""

from __future__ import annotations

import shutil
from pathlib import Path

from lorebase.errors import UnavailableError
from lorebase.registry.layout import knowledge_tree, memory_root


class BaseFolders:
    """Tree and memory of bases below an agent's root.

    Args:
        agent_root: The agent's root.
    """

    def __init__(self, agent_root: Path) -> None:
        self.agent_root = agent_root

    def tree_of(self, base_id: str) -> Path:
        """Where the tree of a base lies."""
        return knowledge_tree(self.agent_root, base_id)

    def make(self, base_id: str) -> None:
        """Make an empty tree; one that is there stays.

        Raises:
            UnavailableError: The folder cannot be made.
        """
        try:
            self.tree_of(base_id).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(self.tree_of(base_id), error) from error

    def remove(self, base_id: str) -> None:
        """Delete tree and memory of a base, and nothing that a link in them points at.

        Raises:
            UnavailableError: Something cannot be deleted; what is left can be deleted by the same call.
        """
        for folder in (self.tree_of(base_id), memory_root(self.agent_root, base_id)):
            try:
                if folder.is_symlink():
                    folder.unlink()
                elif folder.exists():
                    shutil.rmtree(folder)
            except OSError as error:
                raise _unusable(folder, error) from error


def _unusable(folder: Path, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"The folder {folder} cannot be used: {error.strerror or error}.",
        remedy="Look at its permissions and try again.",
        dependency="file system",
    )
