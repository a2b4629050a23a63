"""Built-in procedures: the usual groups of steps, which a recipe takes with `use`."""

from __future__ import annotations

from typing import Any

_DOCUMENTS_TO_CHUNKS: list[dict[str, Any]] = [{"parse_documents": {}}, {"split_documents": {}}]

PROCEDURES: dict[str, list[dict[str, Any]]] = {
    "vector_index": [*_DOCUMENTS_TO_CHUNKS, {"embed_chunks": {}}, {"index_vectors": {}}],
    "full_text_index": [*_DOCUMENTS_TO_CHUNKS, {"index_full_text": {}}],
    "hybrid_index": [*_DOCUMENTS_TO_CHUNKS, {"embed_chunks": {}}, {"index_vectors": {}}, {"index_full_text": {}}],
}
"""Steps of each procedure as a recipe would write them."""
