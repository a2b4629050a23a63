"""Semantic slots: marks such as `[[card:refund]]` in a text, whose meaning the program holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lorebase.errors import InvalidDefinitionError

_NAME = re.compile(r"[^\[\]:\s]+")
# A bracket more on either side makes it unclear where the slot begins or ends: such a mark is malformed.
_SLOT = re.compile(r"(?<!\[)\[\[([^\[\]:\s]+):([^\[\]:\s]+)\]\](?!\])")


@dataclass(frozen=True, slots=True)
class SemanticSlotsDefinition:
    """Which slots a text may have.

    Attributes:
        namespace: The word before the colon. Like a key it has no brackets, colons or white space.
        keys: The words that may stand after the colon, at least one.
        max_occurrences: Most slots in one text, whatever their keys; at least 1.
    """

    namespace: str
    keys: tuple[str, ...]
    max_occurrences: int


class SemanticSlots:
    """Tells whether the slots of a text are allowed.

    Attributes:
        definition: What the slots were compiled from.
    """

    __slots__ = ("_keys", "definition")

    def __init__(self, definition: SemanticSlotsDefinition) -> None:
        self.definition = definition
        self._keys = frozenset(definition.keys)

    def is_valid(self, text: str) -> bool:
        """Whether every `[[` and `]]` belongs to a known slot, and there are at most `max_occurrences` slots.

        A text without slots is valid. Text that merely has brackets, such as `a[b[0]]`, is not: whoever shows the
        text may not have to guess which of them were meant as a slot.
        """
        literals = _SLOT.split(text)[0::3]
        if any("[[" in literal or "]]" in literal for literal in literals):
            return False
        slots = _SLOT.findall(text)
        known = all(space == self.definition.namespace and key in self._keys for space, key in slots)
        return known and len(slots) <= self.definition.max_occurrences


def define_semantic_slots(definition: SemanticSlotsDefinition) -> SemanticSlots:
    """Compile the slots of a namespace.

    Raises:
        InvalidDefinitionError: No keys, a repeated key, a name of another form, or `max_occurrences` below 1.
    """
    names = (definition.namespace, *definition.keys)
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    if wrong:
        raise InvalidDefinitionError(
            f"A semantic slot cannot be named {wrong[0]!r}.",
            remedy="Use a name without brackets, colons and white space.",
        )
    if not definition.keys or len(set(definition.keys)) != len(definition.keys):
        raise InvalidDefinitionError(
            f"The slots of {definition.namespace!r} need at least one key, and each of them once.",
            keys=list(definition.keys),
        )
    if definition.max_occurrences < 1:
        raise InvalidDefinitionError(
            f"The slots of {definition.namespace!r} may occur {definition.max_occurrences} times.",
            remedy="Give `max_occurrences` of at least 1.",
        )
    return SemanticSlots(definition)
