"""Registered definitions: looked up by id, kept in the order of registration, never changed afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from lorebase.errors import InvalidDefinitionError, UnknownIdError

_SHOWN_IDS = 10


class Identified(Protocol):
    """Anything that can be registered."""

    @property
    def id(self) -> str:
        """Its identity in the catalog."""
        ...


class RegisteredIds(Protocol):
    """All that a reference to another catalog asks of it."""

    def has(self, definition_id: str, /) -> bool:
        """Whether it is registered."""
        ...


DefinitionT = TypeVar("DefinitionT", bound=Identified)


class ReadonlyCatalog(Generic[DefinitionT]):
    """Definitions of one kind.

    Args:
        kind: What they are called in messages, such as "check".
        definitions: Read once; later changes of the iterable, or of an id, change nothing here.

    Raises:
        InvalidDefinitionError: An id is no text, blank, or there twice.
    """

    def __init__(self, kind: str, definitions: Iterable[DefinitionT]) -> None:
        self._kind = kind
        self._definitions: dict[str, DefinitionT] = {}
        for definition in definitions:
            definition_id = checked_id(definition.id, kind)
            if definition_id in self._definitions:
                raise InvalidDefinitionError(
                    f"There are two {kind} definitions with the id {definition_id!r}.",
                    remedy="Give each its own id.",
                    id=definition_id,
                )
            self._definitions[definition_id] = definition

    def has(self, definition_id: str) -> bool:
        """Whether it is registered."""
        return definition_id in self._definitions

    def get(self, definition_id: str) -> DefinitionT | None:
        """The definition, or None."""
        return self._definitions.get(definition_id)

    def require(self, definition_id: str) -> DefinitionT:
        """The definition.

        Raises:
            UnknownIdError: It is not registered.
        """
        if definition_id not in self._definitions:
            raise unknown_id(self._kind, definition_id, self._definitions)
        return self._definitions[definition_id]

    def ids(self) -> tuple[str, ...]:
        """All ids, in the order of registration."""
        return tuple(self._definitions)

    def values(self) -> tuple[DefinitionT, ...]:
        """All definitions, in the order of registration."""
        return tuple(self._definitions.values())


def checked_id(candidate: object, kind: str) -> str:
    """The id, if it is one.

    Raises:
        InvalidDefinitionError: It is no text or blank.
    """
    if not isinstance(candidate, str) or not candidate.strip():
        raise InvalidDefinitionError(f"A {kind} has the id {candidate!r}.", remedy="Give it an id that is not blank.")
    return candidate


def unknown_id(kind: str, unknown: str, known: Iterable[str]) -> UnknownIdError:
    """The error for an id that is not registered, which names those that are."""
    ids = list(known)
    shown = ", ".join(ids[:_SHOWN_IDS]) + (", ..." if len(ids) > _SHOWN_IDS else "")
    return UnknownIdError(
        f"There is no {kind} {unknown!r}.", remedy=f"Known: {shown or 'none'}.", kind=kind, id=unknown
    )


def frozen(value: Any) -> Any:  # noqa: ANN401 (any value of a definition)
    """The value with its dicts, lists and sets copied into read-only ones, at any depth; all else as it is."""
    match value:
        case Mapping():
            return MappingProxyType({key: frozen(member) for key, member in value.items()})
        case list() | tuple() if type(value) in (list, tuple):
            return tuple(frozen(member) for member in value)
        case set():
            return frozenset(value)
        case _:
            return value
