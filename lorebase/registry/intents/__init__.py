"""What a question or a command asks for: the vocabulary of predicates, and a router from text to one of them."""

from __future__ import annotations

from lorebase.registry.intents.predicates import PREDICATES, Predicate, PredicateFacts, facts_of, predicate_named
from lorebase.registry.intents.router import Intent, IntentModel, route, route_by_rules

__all__ = [
    "PREDICATES",
    "Intent",
    "IntentModel",
    "Predicate",
    "PredicateFacts",
    "facts_of",
    "predicate_named",
    "route",
    "route_by_rules",
]
