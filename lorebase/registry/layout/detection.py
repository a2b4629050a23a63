"""Telling a knowledge tree from any other folder, by the names of its folders."""

from __future__ import annotations

import os
from pathlib import Path

from lorebase.artifacts.store import ObjectStore
from lorebase.registry.layout.folders import TREE_MARKS


def looks_like_knowledge_tree(path: str | os.PathLike[str]) -> bool:
    """Whether the folder holds `01_source_raw`, its older name, or `03_compiled`.

    An empty folder, a folder that does not exist and one that cannot be looked into are no trees.
    """
    return any(os.path.lexists(Path(path) / name) for name in TREE_MARKS)


def looks_like_legacy_knowledge_root(path: str | os.PathLike[str]) -> bool:
    """Whether a root that a user set points at a tree itself, as it did before roots meant the agent's root.

    False for an empty path and for the root of a file system.
    """
    return bool(os.fspath(path)) and bool(Path(path).name) and looks_like_knowledge_tree(path)


def looks_like_knowledge_prefix(store: ObjectStore, prefix: str) -> bool:
    """Whether objects lie below the prefix as those of a tree do.

    Raises:
        UnavailableError: The store does not answer.
    """
    return any(store.list(f"{prefix}/{name}" if prefix else name) for name in TREE_MARKS)
