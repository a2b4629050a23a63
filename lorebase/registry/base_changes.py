"""What a change makes of the record of a base, or why it is refused. Pure: nothing is stored here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from lorebase.recipes.model import ParserRuleSpec
from lorebase.registry.card_type_changes import replace_card_types
from lorebase.registry.card_types import builtin_card_types
from lorebase.registry.changes import NOT_GIVEN, CardTypeChange, NotGiven, SourceTypeChange, given_or
from lorebase.registry.problems import Problem
from lorebase.registry.reading import first_given, line_of, members_of, object_of, text_of
from lorebase.registry.record import (
    BaseModels,
    IndexSettings,
    KnowledgeBaseRecord,
    RecipeReference,
    read_index,
    read_models,
    read_parsers,
    read_recipe,
)
from lorebase.registry.source_type_changes import replace_source_types


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseChange:
    """What is to change in a base; what is not given stays.

    Attributes:
        name: What people read, in any language; a blank one becomes the id.
        description: Any text.
        root_dir: Folder of its tree; empty for its place below the agent's root.
        recipe: Its recipe; None takes the reference away.
        parsers: Parser rules; the first match wins.
        index: What is searched.
        models: Its models.
        source_types: The whole list of source types.
        card_types: The whole list of card types.
        reset_card_types: Whether the card types become the built-in ones; `card_types` is then passed over.
    """

    name: str | NotGiven = NOT_GIVEN
    description: str | NotGiven = NOT_GIVEN
    root_dir: str | NotGiven = NOT_GIVEN
    recipe: RecipeReference | NotGiven | None = NOT_GIVEN
    parsers: tuple[ParserRuleSpec, ...] | NotGiven = NOT_GIVEN
    index: IndexSettings | NotGiven = NOT_GIVEN
    models: BaseModels | NotGiven = NOT_GIVEN
    source_types: Sequence[SourceTypeChange] | NotGiven = NOT_GIVEN
    card_types: Sequence[CardTypeChange] | NotGiven = NOT_GIVEN
    reset_card_types: bool = False

    @classmethod
    def from_json(cls, value: object) -> Self:
        """The change that a JSON object asks for; null is the same as not given, and nothing raises."""
        data = object_of(value)
        source_types = first_given(data, "source_types", "sourceTypes")
        card_types = first_given(data, "card_types", "wiki_types", "wikiTypes")
        name, description = data.get("name"), data.get("description")
        recipe, parsers, index, models = (data.get(key) for key in ("recipe", "parsers", "index", "models"))
        return cls(
            name=line_of(name) if name is not None else NOT_GIVEN,
            description=text_of(description) if description is not None else NOT_GIVEN,
            recipe=read_recipe(recipe) if recipe is not None else NOT_GIVEN,
            parsers=read_parsers(parsers) if parsers is not None else NOT_GIVEN,
            index=read_index(index) if index is not None else NOT_GIVEN,
            models=read_models(models) if models is not None else NOT_GIVEN,
            source_types=[SourceTypeChange.from_json(member) for member in members_of(source_types)]
            if source_types is not None
            else NOT_GIVEN,
            card_types=[CardTypeChange.from_json(member) for member in members_of(card_types)]
            if card_types is not None
            else NOT_GIVEN,
            reset_card_types=first_given(data, "reset_card_types", "resetWikiTypes") is True,
        )


@dataclass(frozen=True, slots=True)
class Applied:
    """A record after a change.

    Attributes:
        record: The record.
        warnings: What was done otherwise than asked, each sentence beginning with its code.
    """

    record: KnowledgeBaseRecord
    warnings: tuple[str, ...] = ()


def apply_change(record: KnowledgeBaseRecord, change: BaseChange, now: datetime) -> Applied | Problem:
    """The record with what was given.

    Args:
        record: The stored record.
        change: What is to change.
        now: Becomes `updated_at`.
    """
    source_types, card_types = record.source_types, record.card_types
    warnings: tuple[str, ...] = ()
    if not isinstance(change.source_types, NotGiven):
        revised = replace_source_types(source_types, change.source_types, record.statistics.sources_by_type)
        if isinstance(revised, Problem):
            return revised
        source_types, warnings = revised.types, revised.warnings
    if change.reset_card_types:
        card_types = builtin_card_types()
    elif not isinstance(change.card_types, NotGiven):
        revised_cards = replace_card_types(card_types, change.card_types, record.statistics.cards_by_type)
        if isinstance(revised_cards, Problem):
            return revised_cards
        card_types, warnings = revised_cards.types, (*warnings, *revised_cards.warnings)
    changed = record.model_copy(
        update={
            "name": line_of(given_or(change.name, record.name)) or record.id,
            "description": text_of(given_or(change.description, record.description)),
            "root_dir": given_or(change.root_dir, record.root_dir),
            "recipe": given_or(change.recipe, record.recipe),
            "parsers": given_or(change.parsers, record.parsers),
            "index": given_or(change.index, record.index),
            "models": given_or(change.models, record.models),
            "source_types": source_types,
            "card_types": card_types,
            "updated_at": now,
        }
    )
    return Applied(changed, warnings)
