"""What a change makes of the card types of a base, or why it is refused. Pure: nothing is stored here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from lorebase.registry.card_lines import read_card_fields, read_sections
from lorebase.registry.card_types import LEGACY_CARD_TYPE_IDS, CardType, builtin_card_types, derived_template
from lorebase.registry.changes import CardTypeChange, given_or
from lorebase.registry.problems import Problem, card_type_problem
from lorebase.registry.reading import line_of, text_of, texts_of
from lorebase.registry.revision import Revised, type_in_use, type_not_found

CardTypes: TypeAlias = tuple[CardType, ...]


def add_card_type(types: CardTypes, change: CardTypeChange) -> Revised[CardType] | Problem:
    """Append a custom type, which needs label, description and sections; its template is derived."""
    made = _merged(CardType(id=line_of(change.id), label=""), change)
    return _problem(made, made, types, change, is_new=True) or Revised((*types, made))


def update_card_type(types: CardTypes, change: CardTypeChange) -> Revised[CardType] | Problem:
    """Merge a change into the stored type; what is not given stays, the template is derived again."""
    stored = _found(types, change.id)
    if stored is None:
        return type_not_found("card type", change.id)
    made = _merged(stored, change)
    if problem := _problem(made, stored, _others(types, made.id), change):
        return problem
    return Revised(tuple(made if known.id == made.id else known for known in types))


def delete_card_type(
    types: CardTypes, type_id: str, used: Mapping[str, int], *, force: bool
) -> Revised[CardType] | Problem:
    """Remove a custom type. One that cards have is removed only by force; see `delete_source_type`."""
    stored = _found(types, type_id)
    if stored is None:
        return type_not_found("card type", type_id)
    if stored.builtin:
        return Problem(
            "BUILTIN_IMMUTABLE", f"{stored.id!r} is a built-in card type and cannot be deleted.", "Disable it."
        )
    if used.get(stored.id) and not force:
        return type_in_use("card type", stored.id, used[stored.id], "card(s)")
    return Revised(_others(types, stored.id))


def replace_card_types(
    types: CardTypes, changes: Sequence[CardTypeChange], used: Mapping[str, int]
) -> Revised[CardType] | Problem:
    """Make the list be what is given; see `replace_source_types`."""
    by_id: dict[str, CardType] = {}
    for change in changes:
        type_id = LEGACY_CARD_TYPE_IDS.get(change.id, change.id)
        stored = _found(types, type_id)
        before = stored or CardType(id=type_id, label="")
        made = _merged(before, change)
        if problem := _problem(made, before, tuple(by_id.values()), change, is_new=stored is None):
            return problem
        by_id[type_id] = made
    warnings = tuple(
        f"BUILTIN_RESTORED: {known.id!r} is built in and was put back; disable it instead."
        for known in builtin_card_types()
        if known.id not in by_id
    )
    builtins = [by_id.get(known.id) or _found(types, known.id) or known for known in builtin_card_types()]
    made_types = (*builtins, *(made for made in by_id.values() if not made.builtin))
    for gone in types:
        if gone.id not in {made.id for made in made_types} and used.get(gone.id):
            return type_in_use("card type", gone.id, used[gone.id], "card(s)")
    return _label_problem(made_types) or Revised(made_types, warnings)


def _merged(stored: CardType, change: CardTypeChange) -> CardType:
    """The stored type with what was given, cleaned; nothing is refused here."""
    sections = read_sections(given_or(change.sections, stored.sections))
    fields = read_card_fields(given_or(change.fields, stored.fields))
    layer = given_or(change.layer, stored.layer)
    return stored.model_copy(
        update={
            "label": line_of(given_or(change.label, stored.label)),
            "description": text_of(given_or(change.description, stored.description)),
            "layer": "instance" if layer == "instance" else "type",
            "sections": sections,
            "fields": fields,
            "examples": texts_of(given_or(change.examples, stored.examples)),
            "template": derived_template(stored.id, sections, fields),
            "enabled": given_or(change.enabled, stored.enabled),
        }
    )


def _problem(
    made: CardType, stored: CardType, others: CardTypes, change: CardTypeChange, *, is_new: bool = False
) -> Problem | None:
    return card_type_problem(
        made,
        others,
        section_lines=given_or(change.sections, stored.sections if not is_new else ()),
        field_lines=given_or(change.fields, stored.fields if not is_new else ()),
        is_new=is_new,
    )


def _label_problem(types: Sequence[CardType]) -> Problem | None:
    """Two equal labels, one of which is of a built-in type that was put back."""
    for position, known in enumerate(types):
        rival = next((other for other in types[:position] if other.label.casefold() == known.label.casefold()), None)
        if rival is not None:
            message = f"{known.id!r} has the label {known.label!r}, which is that of {rival.id!r}."
            return Problem("DUPLICATE_LABEL", message, "Take another label.")
    return None


def _found(types: Sequence[CardType], type_id: str) -> CardType | None:
    return next((known for known in types if known.id == type_id), None)


def _others(types: CardTypes, type_id: str) -> CardTypes:
    return tuple(known for known in types if known.id != type_id)
