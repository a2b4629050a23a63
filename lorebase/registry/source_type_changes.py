"""What a change makes of the source types of a base, or why it is refused. Pure: nothing is stored here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from lorebase.registry.changes import SourceTypeChange, given_or
from lorebase.registry.declared_fields import read_fields
from lorebase.registry.problems import Problem, source_type_problem
from lorebase.registry.reading import line_of, text_of, texts_of
from lorebase.registry.revision import Revised, type_in_use, type_not_found
from lorebase.registry.source_types import (
    LEGACY_SOURCE_TYPE_IDS,
    MAX_SOURCE_TYPES,
    SourceType,
    builtin_source_types,
)

SourceTypes: TypeAlias = tuple[SourceType, ...]


def add_source_type(types: SourceTypes, change: SourceTypeChange) -> Revised[SourceType] | Problem:
    """Append a custom type, which needs label, description, signals and excludes."""
    made = _merged(SourceType(id=line_of(change.id), label=""), change)
    if problem := source_type_problem(made, types, is_new=True) or _limit_problem((*types, made)):
        return problem
    return Revised((*types, made))


def update_source_type(types: SourceTypes, change: SourceTypeChange) -> Revised[SourceType] | Problem:
    """Merge a change into the stored type; what is not given stays."""
    stored = _found(types, change.id)
    if stored is None:
        return type_not_found("source type", change.id)
    if stored.fallback and change.enabled is False:
        return _fallback_problem(stored)
    made = _merged(stored, change)
    if problem := source_type_problem(made, _others(types, made.id)):
        return problem
    return Revised(tuple(made if known.id == made.id else known for known in types))


def delete_source_type(
    types: SourceTypes, type_id: str, used: Mapping[str, int], *, force: bool
) -> Revised[SourceType] | Problem:
    """Remove a custom type. One that documents have is removed only by force.

    Args:
        types: The types of the base.
        type_id: The type to remove.
        used: Number of documents by type.
        force: Whether to remove it although documents have it.
    """
    stored = _found(types, type_id)
    if stored is None:
        return type_not_found("source type", type_id)
    if stored.builtin:
        return Problem(
            "BUILTIN_IMMUTABLE", f"{stored.id!r} is a built-in source type and cannot be deleted.", "Disable it."
        )
    if used.get(stored.id) and not force:
        return type_in_use("source type", stored.id, used[stored.id], "document(s)")
    return Revised(_others(types, stored.id))


def replace_source_types(
    types: SourceTypes, changes: Sequence[SourceTypeChange], used: Mapping[str, int]
) -> Revised[SourceType] | Problem:
    """Make the list be what is given: custom types not in it go, built-in ones not in it stay as they are.

    Args:
        types: The types of the base.
        changes: The list; what an entry does not say about a type that exists stays as it is, but that a type in the
            list is enabled unless it says otherwise.
        used: Number of documents by type. A type that documents have cannot go this way.

    Returns:
        Built-in types in their order, custom ones in the order given. Warnings name built-in types that were put back
        and a fallback that was to be disabled.
    """
    by_id: dict[str, SourceType] = {}
    warnings: list[str] = []
    for change in changes:
        type_id = LEGACY_SOURCE_TYPE_IDS.get(change.id, change.id)
        stored = _found(types, type_id)
        listed = replace(change, enabled=given_or(change.enabled, stored=True))
        made = _merged(stored or SourceType(id=type_id, label=""), listed)
        if stored is not None and stored.fallback and change.enabled is False:
            warnings.append(f"FALLBACK_REQUIRED: {type_id!r} takes what no other type takes; it stays enabled.")
        if problem := source_type_problem(made, tuple(by_id.values()), is_new=stored is None):
            return problem
        by_id[type_id] = made
    warnings += [
        f"BUILTIN_RESTORED: {known.id!r} is built in and was put back; disable it instead."
        for known in builtin_source_types()
        if known.id not in by_id
    ]
    builtins = [by_id.get(known.id) or _found(types, known.id) or known for known in builtin_source_types()]
    made_types = (*builtins, *(made for made in by_id.values() if not made.builtin))
    for gone in types:
        if gone.id not in {made.id for made in made_types} and used.get(gone.id):
            return type_in_use("source type", gone.id, used[gone.id], "document(s)")
    return _limit_problem(made_types) or _label_problem(made_types) or Revised(made_types, tuple(warnings))


def _merged(stored: SourceType, change: SourceTypeChange) -> SourceType:
    """The stored type with what was given, cleaned; nothing is refused here."""
    fields = given_or(change.metadata_fields, stored.metadata_fields)
    return stored.model_copy(
        update={
            "label": line_of(given_or(change.label, stored.label)),
            "description": text_of(given_or(change.description, stored.description)),
            "signals": texts_of(given_or(change.signals, stored.signals)),
            "excludes": texts_of(given_or(change.excludes, stored.excludes)),
            "enabled": stored.fallback or given_or(change.enabled, stored.enabled),
            "metadata_fields": read_fields(fields),
        }
    )


def _limit_problem(types: Sequence[SourceType]) -> Problem | None:
    custom = sum(not known.builtin for known in types)
    most = max(0, MAX_SOURCE_TYPES - len(builtin_source_types()))
    if custom <= most:
        return None
    message = f"The base would have {custom} custom source types; at most {most} are allowed."
    return Problem("SOURCE_TYPE_LIMIT", message, "Delete one that is not needed.")


def _label_problem(types: Sequence[SourceType]) -> Problem | None:
    """Two equal labels, one of which is of a built-in type that was put back."""
    problems = (source_type_problem(known, types[:position]) for position, known in enumerate(types))
    return next((problem for problem in problems if problem is not None and problem.code == "DUPLICATE_LABEL"), None)


def _fallback_problem(stored: SourceType) -> Problem:
    message = f"{stored.id!r} takes what no other source type takes and cannot be disabled."
    return Problem("FALLBACK_REQUIRED", message, "Leave it enabled.")


def _found(types: Sequence[SourceType], type_id: str) -> SourceType | None:
    return next((known for known in types if known.id == type_id), None)


def _others(types: SourceTypes, type_id: str) -> SourceTypes:
    return tuple(known for known in types if known.id != type_id)
