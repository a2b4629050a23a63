"""Where the knowledge of an agent lies: the tree of one base, its memory, and what must be backed up."""

from __future__ import annotations

from lorebase.registry.layout.detection import (
    looks_like_knowledge_prefix,
    looks_like_knowledge_tree,
    looks_like_legacy_knowledge_root,
)
from lorebase.registry.layout.folders import AGENT_FOLDERS, KNOWLEDGE_FOLDERS, AgentFolder, KnowledgeFolder
from lorebase.registry.layout.paths import (
    checked_base_id,
    is_base_id,
    knowledge_prefix,
    knowledge_tree,
    memory_prefix,
    memory_root,
)

__all__ = [
    "AGENT_FOLDERS",
    "KNOWLEDGE_FOLDERS",
    "AgentFolder",
    "KnowledgeFolder",
    "checked_base_id",
    "is_base_id",
    "knowledge_prefix",
    "knowledge_tree",
    "looks_like_knowledge_prefix",
    "looks_like_knowledge_tree",
    "looks_like_legacy_knowledge_root",
    "memory_prefix",
    "memory_root",
]
