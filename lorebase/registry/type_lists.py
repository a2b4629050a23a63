"""Lists of types as files hold them: ids mapped to their present names, built-in types complete, first entry wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lorebase.registry.reading import JsonObject, line_of, members_of, object_of


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


_Type = TypeVar("_Type", bound=_HasId)


@dataclass(frozen=True, slots=True)
class TypeList(Generic[_Type]):
    """Types in order, and what was left out of the stored list.

    Attributes:
        types: Built-in types in their order, then custom ones in stored order.
        warnings: One sentence for each entry left out, beginning with its code.
        restored: Ids of built-in types that the stored list lacked.
    """

    types: tuple[_Type, ...]
    warnings: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


def normalise_types(
    stored: object,
    *,
    aliases: Mapping[str, str],
    pattern: re.Pattern[str],
    builtins: Mapping[str, _Type],
    read: Callable[[JsonObject, str, _Type | None], _Type | None],
) -> TypeList[_Type]:
    """The types that a stored list stands for; see `TypeList`.

    Args:
        stored: Any JSON; what is no list is an empty one.
        aliases: Present id by former id.
        pattern: What an id must match in full, once aliases are applied.
        builtins: Built-in types by id, in order.
        read: Makes a type of an entry, its id and the built-in type of that id; None leaves the entry out.
    """
    if stored is None or (isinstance(stored, list | tuple) and not stored):
        return TypeList(tuple(builtins.values()))
    found: dict[str, _Type] = {}
    warnings: list[str] = []
    for entry in members_of(stored):
        data = object_of(entry)
        former = line_of(data.get("id"))
        type_id = aliases.get(former, former)
        if pattern.fullmatch(type_id) is None:
            warnings.append(f"INVALID_TYPE_ID: {former[:80]!r} is no id of a type; the entry was left out.")
        elif type_id in found:
            warnings.append(
                f"DUPLICATE_TYPE_ID: {former!r} is {type_id!r}, which stands there already; it was left out."
            )
        else:
            made = read(data, type_id, builtins.get(type_id))
            if made is None:
                warnings.append(f"INCOMPLETE_TYPE: {type_id!r} lacks what a type needs; it was left out.")
            else:
                found[type_id] = made
    restored = tuple(type_id for type_id in builtins if type_id not in found)
    complete = [found.get(type_id, known) for type_id, known in builtins.items()]
    custom = [made for type_id, made in found.items() if type_id not in builtins]
    return TypeList((*complete, *custom), tuple(warnings), restored)
