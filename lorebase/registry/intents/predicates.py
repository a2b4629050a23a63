"""The vocabulary of intents: what people can ask for, in its fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Predicate(StrEnum):
    """What a text asks for."""

    QUERY_BABEL_DATA = "query_babel_data"
    QUERY_KNOWLEDGE = "query_knowledge"
    QUERY_SOURCE_TRUTH = "query_source_truth"
    QUERY_METADATA = "query_metadata"
    QUERY_GRAPH = "query_graph"
    ADD_SOURCE = "add_source"
    PROPOSE_WIKI_CARDS = "propose_wiki_cards"
    REBUILD_KNOWLEDGE = "rebuild_knowledge"
    SEND_MESSAGE = "send_message"
    EXPORT_ARTIFACT = "export_artifact"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PredicateFacts:
    """One row of the vocabulary.

    Attributes:
        predicate: Its name.
        says: What it asks for, as a model is told it.
        is_supported: Whether Lorebase can do it.
        is_command: Whether it changes or sends something, instead of asking.
    """

    predicate: Predicate
    says: str
    is_supported: bool = True
    is_command: bool = False


PREDICATES = (
    PredicateFacts(Predicate.QUERY_BABEL_DATA, "Figures from the external data platform Babel.", is_supported=False),
    PredicateFacts(Predicate.QUERY_KNOWLEDGE, "What the knowledge base knows: facts, definitions, rules, how-to."),
    PredicateFacts(Predicate.QUERY_SOURCE_TRUTH, "The wording of an original document, or where something is written."),
    PredicateFacts(Predicate.QUERY_METADATA, "Facts about the base itself: which documents, how many, since when."),
    PredicateFacts(Predicate.QUERY_GRAPH, "How things are connected: relations, paths, causes and dependencies."),
    PredicateFacts(Predicate.ADD_SOURCE, "Take a document, a folder or a page into the base.", is_command=True),
    PredicateFacts(Predicate.PROPOSE_WIKI_CARDS, "Propose wiki cards for people to review.", is_command=True),
    PredicateFacts(Predicate.REBUILD_KNOWLEDGE, "Build the base, its index or its graph again.", is_command=True),
    PredicateFacts(Predicate.SEND_MESSAGE, "Send something to a person or a group.", is_command=True),
    PredicateFacts(Predicate.EXPORT_ARTIFACT, "Write a result to a file to take along.", is_command=True),
    PredicateFacts(Predicate.UNKNOWN, "None of these, or not clear.", is_supported=False),
)
"""In the order of the vocabulary."""

_BY_NAME = MappingProxyType({facts.predicate: facts for facts in PREDICATES})

FORMER_NAMES = MappingProxyType({"write_knowledge_card": Predicate.PROPOSE_WIKI_CARDS})
"""Cards are proposed, no longer written directly."""


def facts_of(predicate: Predicate) -> PredicateFacts:
    """The row of a predicate."""
    return _BY_NAME[predicate]


def predicate_named(name: str) -> Predicate:
    """The predicate of a name or of a former name, however written; `unknown` where there is none."""
    plain = name.strip().casefold()
    if plain in FORMER_NAMES:
        return FORMER_NAMES[plain]
    return next((predicate for predicate in Predicate if predicate == plain), Predicate.UNKNOWN)
