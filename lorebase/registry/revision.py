"""What a change of a list of types comes to, and the refusals that both kinds of types share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from lorebase.registry.problems import Problem

_Type = TypeVar("_Type")


@dataclass(frozen=True, slots=True)
class Revised(Generic[_Type]):
    """A list of types after a change.

    Attributes:
        types: The types in order.
        warnings: What was done otherwise than asked, each sentence beginning with its code.
    """

    types: tuple[_Type, ...]
    warnings: tuple[str, ...] = ()


def type_not_found(kind: str, type_id: str) -> Problem:
    """The base has no such type."""
    return Problem("TYPE_NOT_FOUND", f"There is no {kind} {type_id[:80]!r}.", "List the types of the base.")


def type_in_use(kind: str, type_id: str, count: int, what: str) -> Problem:
    """Something has the type that is to be deleted."""
    message = f"The {kind} {type_id!r} cannot be deleted: {count} {what} have it."
    return Problem("TYPE_IN_USE", message, "Give them another type, or delete by force.")
