"""Built-in procedures: the usual groups of steps, which a recipe takes with `use`, or Python as objects."""

from __future__ import annotations

from typing import Any

from lorebase.recipes.model import ProcedureSpec

_DOCUMENTS_TO_CHUNKS: list[dict[str, Any]] = [{"parse_documents": {}}, {"split_documents": {}}]

PROCEDURES: dict[str, list[dict[str, Any]]] = {
    "document_classes": [{"parse_documents": {}}, {"classify_documents": {}}],
    "vector_index": [*_DOCUMENTS_TO_CHUNKS, {"embed_chunks": {}}, {"index_vectors": {}}],
    "full_text_index": [*_DOCUMENTS_TO_CHUNKS, {"index_full_text": {}}],
    "hybrid_index": [*_DOCUMENTS_TO_CHUNKS, {"embed_chunks": {}}, {"index_vectors": {}}, {"index_full_text": {}}],
    "knowledge_graph": [
        {"extract_entities": {}},
        {"extract_relations": {}},
        {"embed_names": {}},
        {"resolve_entities": {}},
        {"build_graph": {}},
    ],
    "wiki_cards": [{"propose_cards": {}}, {"index_cards": {}}],
    "faq": [{"parse_documents": {}}, {"collect_faq": {}}, {"index_faq": {}}],
}
"""Steps of each procedure as a recipe would write them."""


class DocumentClasses(ProcedureSpec):
    """Parse and classify; stands before the procedures that index. Takes the settings of `classify_documents`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (checked against the steps when the recipe is validated)
        super().__init__(use="document_classes", settings=settings)


class VectorIndex(ProcedureSpec):
    """Parse, split, embed, index vectors. Takes the settings of those steps. Unlocks `vector_search`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (checked against the steps when the recipe is validated)
        super().__init__(use="vector_index", settings=settings)


class FullTextIndex(ProcedureSpec):
    """Parse, split, index words. Takes the settings of those steps. Unlocks `full_text_search`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (as above)
        super().__init__(use="full_text_index", settings=settings)


class HybridIndex(ProcedureSpec):
    """Both of the others. Takes the settings of their steps. Unlocks `hybrid_search` as well."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (as above)
        super().__init__(use="hybrid_index", settings=settings)


class KnowledgeGraph(ProcedureSpec):
    """Extract, resolve, build a graph, of the chunks that another procedure makes. Unlocks `graph_search`.

    Names are compared by meaning as well where the recipe has an embedding model.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (as above)
        super().__init__(use="knowledge_graph", settings=settings)


class WikiCards(ProcedureSpec):
    """Propose cards of the chunks that another procedure makes, and index them. Unlocks `card_search`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (as above)
        super().__init__(use="wiki_cards", settings=settings)


class Faq(ProcedureSpec):
    """Parse, collect questions with their answers, index them. Unlocks `faq_search`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (as above)
        super().__init__(use="faq", settings=settings)
