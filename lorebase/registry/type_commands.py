"""Commands on the source types and on the card types of a base. Each answers with an envelope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from lorebase.registry.base_changes import Applied
from lorebase.registry.card_type_changes import add_card_type, delete_card_type, replace_card_types, update_card_type
from lorebase.registry.card_types import CardType
from lorebase.registry.changes import CardTypeChange, SourceTypeChange
from lorebase.registry.envelope import Deleted, Envelope, NoData, failure, success
from lorebase.registry.keeping import BASE_NOT_FOUND, RecordKeeper, not_found_message
from lorebase.registry.problems import Problem
from lorebase.registry.record import KnowledgeBaseRecord
from lorebase.registry.revision import Revised
from lorebase.registry.source_type_changes import (
    add_source_type,
    delete_source_type,
    replace_source_types,
    update_source_type,
)
from lorebase.registry.source_types import SourceType
from lorebase.registry.views import counted_card_types, counted_source_types

_Data = TypeVar("_Data")


class SourceTypeCommands:
    """Commands on source types.

    Args:
        keeper: Reads and revises records.
    """

    def __init__(self, keeper: RecordKeeper) -> None:
        self._keeper = keeper

    def list(self, base_id: str) -> Envelope[tuple[SourceType, ...]]:
        """The source types of a base, each with the number of its documents."""
        read = self._keeper.read(base_id)
        if read is None:
            return failure((), BASE_NOT_FOUND, not_found_message(base_id), retryable=True)
        return success(counted_source_types(read.record.source_types, read.record.statistics), read.warnings)

    def add(self, base_id: str, change: SourceTypeChange) -> Envelope[SourceType | NoData]:
        """Add a custom type. Codes: those of `source_type_problem`, `SOURCE_TYPE_LIMIT`, `BASE_NOT_FOUND`."""
        return self._one(base_id, change.id, lambda record: add_source_type(record.source_types, change))

    def update(self, base_id: str, change: SourceTypeChange) -> Envelope[SourceType | NoData]:
        """Change a type; what is not given stays. Codes: as `add`, `TYPE_NOT_FOUND`, `FALLBACK_REQUIRED`."""
        return self._one(base_id, change.id, lambda record: update_source_type(record.source_types, change))

    def delete(self, base_id: str, type_id: str, *, force: bool = False) -> Envelope[Deleted | NoData]:
        """Remove a custom type. Codes: `BUILTIN_IMMUTABLE`, `TYPE_IN_USE`, `TYPE_NOT_FOUND`, `BASE_NOT_FOUND`."""

        def step(record: KnowledgeBaseRecord) -> Revised[SourceType] | Problem:
            return delete_source_type(record.source_types, type_id, record.statistics.sources_by_type, force=force)

        return _answered(base_id, self._revised(base_id, step), lambda _: Deleted(deleted=True), NoData())

    def replace(self, base_id: str, changes: Sequence[SourceTypeChange]) -> Envelope[tuple[SourceType, ...]]:
        """Make the whole list be what is given; see `replace_source_types`."""

        def step(record: KnowledgeBaseRecord) -> Revised[SourceType] | Problem:
            return replace_source_types(record.source_types, changes, record.statistics.sources_by_type)

        return _answered(base_id, self._revised(base_id, step), _counted_source_types, ())

    def _one(
        self, base_id: str, type_id: str, step: Callable[[KnowledgeBaseRecord], Revised[SourceType] | Problem]
    ) -> Envelope[SourceType | NoData]:
        def chosen(record: KnowledgeBaseRecord) -> SourceType:
            return next(known for known in _counted_source_types(record) if known.id == type_id.strip())

        return _answered(base_id, self._revised(base_id, step), chosen, NoData())

    def _revised(
        self, base_id: str, step: Callable[[KnowledgeBaseRecord], Revised[SourceType] | Problem]
    ) -> Applied | Problem | None:
        def revise(record: KnowledgeBaseRecord) -> Applied | Problem:
            revised = step(record)
            if isinstance(revised, Problem):
                return revised
            return _applied(record, "source_types", revised.types, revised.warnings, self._keeper.clock.now())

        return self._keeper.revise(base_id, revise)


class CardTypeCommands:
    """Commands on card types.

    Args:
        keeper: Reads and revises records.
    """

    def __init__(self, keeper: RecordKeeper) -> None:
        self._keeper = keeper

    def list(self, base_id: str) -> Envelope[tuple[CardType, ...]]:
        """The card types of a base, each with the number of its cards."""
        read = self._keeper.read(base_id)
        if read is None:
            return failure((), BASE_NOT_FOUND, not_found_message(base_id), retryable=True)
        return success(counted_card_types(read.record.card_types, read.record.statistics), read.warnings)

    def add(self, base_id: str, change: CardTypeChange) -> Envelope[CardType | NoData]:
        """Add a custom type. Codes: those of `card_type_problem`, `BASE_NOT_FOUND`."""
        return self._one(base_id, change.id, lambda record: add_card_type(record.card_types, change))

    def update(self, base_id: str, change: CardTypeChange) -> Envelope[CardType | NoData]:
        """Change a type; what is not given stays. Codes: as `add`, `TYPE_NOT_FOUND`."""
        return self._one(base_id, change.id, lambda record: update_card_type(record.card_types, change))

    def delete(self, base_id: str, type_id: str, *, force: bool = False) -> Envelope[Deleted | NoData]:
        """Remove a custom type. Codes: `BUILTIN_IMMUTABLE`, `TYPE_IN_USE`, `TYPE_NOT_FOUND`, `BASE_NOT_FOUND`."""

        def step(record: KnowledgeBaseRecord) -> Revised[CardType] | Problem:
            return delete_card_type(record.card_types, type_id, record.statistics.cards_by_type, force=force)

        return _answered(base_id, self._revised(base_id, step), lambda _: Deleted(deleted=True), NoData())

    def replace(self, base_id: str, changes: Sequence[CardTypeChange]) -> Envelope[tuple[CardType, ...]]:
        """Make the whole list be what is given; see `replace_card_types`."""

        def step(record: KnowledgeBaseRecord) -> Revised[CardType] | Problem:
            return replace_card_types(record.card_types, changes, record.statistics.cards_by_type)

        return _answered(base_id, self._revised(base_id, step), _counted_card_types, ())

    def _one(
        self, base_id: str, type_id: str, step: Callable[[KnowledgeBaseRecord], Revised[CardType] | Problem]
    ) -> Envelope[CardType | NoData]:
        def chosen(record: KnowledgeBaseRecord) -> CardType:
            return next(known for known in _counted_card_types(record) if known.id == type_id.strip())

        return _answered(base_id, self._revised(base_id, step), chosen, NoData())

    def _revised(
        self, base_id: str, step: Callable[[KnowledgeBaseRecord], Revised[CardType] | Problem]
    ) -> Applied | Problem | None:
        def revise(record: KnowledgeBaseRecord) -> Applied | Problem:
            revised = step(record)
            if isinstance(revised, Problem):
                return revised
            return _applied(record, "card_types", revised.types, revised.warnings, self._keeper.clock.now())

        return self._keeper.revise(base_id, revise)


def _applied(
    record: KnowledgeBaseRecord,
    name: str,
    types: tuple[SourceType, ...] | tuple[CardType, ...],
    warnings: tuple[str, ...],
    now: datetime,
) -> Applied:
    return Applied(record.model_copy(update={name: types, "updated_at": now}), warnings)


def _answered(
    base_id: str,
    outcome: Applied | Problem | None,
    data_of: Callable[[KnowledgeBaseRecord], _Data],
    nothing: _Data,
) -> Envelope[_Data]:
    match outcome:
        case None:
            return failure(nothing, BASE_NOT_FOUND, not_found_message(base_id), retryable=True)
        case Problem():
            return failure(nothing, outcome.code, outcome.message, retryable=False, suggestion=outcome.suggestion)
        case Applied():
            return success(data_of(outcome.record), outcome.warnings)


def _counted_source_types(record: KnowledgeBaseRecord) -> tuple[SourceType, ...]:
    return counted_source_types(record.source_types, record.statistics)


def _counted_card_types(record: KnowledgeBaseRecord) -> tuple[CardType, ...]:
    return counted_card_types(record.card_types, record.statistics)
