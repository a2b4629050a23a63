"""The index ports over Milvus, embedded or on a server."""

from lorebase.adapters.milvus.deployment import MilvusLimits
from lorebase.adapters.milvus.store import MilvusIndexStore, MilvusLexicalIndex, MilvusVectorIndex

__all__ = ["MilvusIndexStore", "MilvusLexicalIndex", "MilvusLimits", "MilvusVectorIndex"]
