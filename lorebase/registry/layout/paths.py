"""Where the tree and the memory of a base lie, below an agent's root on a disk or in an object store."""

from __future__ import annotations

import re
from pathlib import Path

from lorebase.errors import UsageError
from lorebase.registry.layout.folders import KNOWLEDGE, MEMORY

_BASE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")


def is_base_id(text: str) -> bool:
    """Whether the text may name a base: 1 to 48 of a-z, 0-9 and hyphen, not beginning with a hyphen."""
    return _BASE_ID.fullmatch(text) is not None


def checked_base_id(text: str) -> str:
    """The id of a base, if it is one. Ids are names of folders: none can lead out of its place.

    Raises:
        UsageError: It is empty, too long, or holds other characters.
    """
    if not is_base_id(text):
        raise UsageError(
            f"{text!r} cannot be the id of a knowledge base.",
            remedy="Use 1 to 48 of a-z, 0-9 and hyphen, beginning with a letter or a digit.",
            base_id=text,
        )
    return text


def knowledge_tree(agent_root: Path, base_id: str) -> Path:
    """The tree of a base.

    Raises:
        UsageError: `base_id` is none.
    """
    return agent_root / KNOWLEDGE / checked_base_id(base_id)


def memory_root(agent_root: Path, base_id: str) -> Path:
    """The memory of a base.

    Raises:
        UsageError: `base_id` is none.
    """
    return agent_root / MEMORY / checked_base_id(base_id)


def knowledge_prefix(base_id: str, agent_prefix: str = "") -> str:
    """The tree of a base in an object store: a key prefix without a slash at its ends.

    Args:
        base_id: The base.
        agent_prefix: The agent's root in the store; empty for the store itself.

    Raises:
        UsageError: `base_id` is none.
    """
    return _joined(agent_prefix, KNOWLEDGE, checked_base_id(base_id))


def memory_prefix(base_id: str, agent_prefix: str = "") -> str:
    """The memory of a base in an object store, as `knowledge_prefix`."""
    return _joined(agent_prefix, MEMORY, checked_base_id(base_id))


def _joined(*parts: str) -> str:
    return "/".join(stripped for part in parts if (stripped := part.strip("/")))
