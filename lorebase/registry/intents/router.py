"""From a question or a command to its predicate: rules first, a model where there is one, `unknown` when unsure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from lorebase.characters import simplified
from lorebase.errors import DependencyError
from lorebase.registry.intents.predicates import PREDICATES, Predicate, PredicateFacts, facts_of, predicate_named
from lorebase.registry.intents.rules import ASKS_HOW, COMMANDS, FORBIDS, QUESTION, SPECIAL_QUESTIONS, IntentRule

LOOKED_AT_CHARS = 1000
"""What a text wants stands at its beginning; what follows is material."""


class IntentModel(Protocol):
    """Tells an intent where no rule does."""

    async def predicate_of(self, text: str, vocabulary: Sequence[PredicateFacts]) -> str:
        """The name of the predicate that fits the text; any other answer counts as `unknown`.

        Raises:
            DependencyError: The model does not answer, or gives no usable answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class Intent:
    """What a text asks for.

    Attributes:
        predicate: What it asks for.
        is_supported: Whether Lorebase can do it; never for `unknown`.
        decided_by: Rules, the model, or nobody.
        reason: The rule that decided, or why none did.
    """

    predicate: Predicate
    is_supported: bool
    decided_by: Literal["rules", "model", "nobody"]
    reason: str


def route_by_rules(text: str) -> Intent:
    """The intent that the rules see; the same text always gives the same one, and no text raises.

    An order counts where the text orders: "rebuild the index" does, "how do I rebuild the index?" is a question. Of
    several kinds of orders none is carried out halfway: the text is `unknown`, as is one that turns an order down.

    Args:
        text: Any text; the first 1,000 code points are looked at.
    """
    plain = _plain(text)
    if not any(char.isalnum() for char in plain):
        return _nobody("there are no words")
    if ASKS_HOW.search(plain) is None and (orders := _fitting(COMMANDS, plain)):
        return _order(orders, plain)
    if special := _fitting(SPECIAL_QUESTIONS, plain):
        return _decided(special[0])
    if QUESTION.search(plain):
        return Intent(Predicate.QUERY_KNOWLEDGE, is_supported=True, decided_by="rules", reason="a question")
    return _nobody("no rule fits")


async def route(text: str, model: IntentModel | None = None) -> Intent:
    """The intent of a text: the rules' where they are sure, otherwise the model's, otherwise `unknown`.

    Args:
        text: Any text.
        model: Asked only where the rules see nothing; a model that does not answer leaves `unknown`.
    """
    by_rules = route_by_rules(text)
    if model is None or by_rules.decided_by == "rules" or not text.strip():
        return by_rules
    try:
        name = await model.predicate_of(text, PREDICATES)
    except DependencyError as error:
        return _nobody(f"the model failed: {error.code}")
    predicate = predicate_named(name)
    if predicate is Predicate.UNKNOWN:
        return _nobody("neither the rules nor the model know")
    facts = facts_of(predicate)
    return Intent(predicate, is_supported=facts.is_supported, decided_by="model", reason="the model's answer")


def _plain(text: str) -> str:
    shortened = simplified(unicodedata.normalize("NFKC", text[:LOOKED_AT_CHARS]).casefold())
    return re.sub(r"\s+", " ", shortened).strip()


def _fitting(rules: Sequence[IntentRule], plain: str) -> list[IntentRule]:
    return [rule for rule in rules if rule.pattern.search(plain)]


def _order(orders: list[IntentRule], plain: str) -> Intent:
    if FORBIDS.search(plain):
        return _unclear("the order is turned down")
    if len({rule.predicate for rule in orders}) > 1:
        return _unclear(f"several orders at once: {', '.join(rule.name for rule in orders)}")
    return _decided(orders[0])


def _decided(rule: IntentRule) -> Intent:
    facts = facts_of(rule.predicate)
    return Intent(rule.predicate, is_supported=facts.is_supported, decided_by="rules", reason=rule.name)


def _unclear(reason: str) -> Intent:
    """Orders that are clear, but not what to do about them: no model is to guess."""
    return Intent(Predicate.UNKNOWN, is_supported=False, decided_by="rules", reason=reason)


def _nobody(reason: str) -> Intent:
    return Intent(Predicate.UNKNOWN, is_supported=False, decided_by="nobody", reason=reason)
