"""Source types and card types of a knowledge base."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from apps.api.envelopes import answered
from apps.api.inputs import BaseName, Body, TypeId
from apps.api.problems import Problem
from apps.api.routes.bases import require_base
from apps.api.services import Caller, ServicesOf
from lorebase.governance.context import Capability
from lorebase.registry.card_types import CardType
from lorebase.registry.changes import CardTypeChange, SourceTypeChange
from lorebase.registry.envelope import Deleted, Envelope
from lorebase.registry.source_types import SourceType

router = APIRouter(prefix="/v1/bases", tags=["types"], responses={409: {"model": Problem}})

Force = Annotated[bool, Query(description="Delete it although it is used.")]


class _TypeFields(Body):
    label: str | None = Field(None, max_length=200, examples=["合同"])
    description: str | None = Field(None, max_length=2000, examples=["双方签署的合同、协议和补充条款"])
    enabled: bool | None = None

    def given(self) -> dict[str, Any]:
        """What was given, as the registry reads it."""
        return self.model_dump(exclude_none=True, exclude={"id"})


class SourceTypeFields(_TypeFields):
    """What is to change in a source type; what is not given, or null, stays."""

    signals: tuple[str, ...] | None = Field(None, max_length=100, examples=[["合同", "contract"]])
    excludes: tuple[str, ...] | None = Field(None, max_length=100, examples=[["发票"]])
    metadata_fields: tuple[dict[str, Any], ...] | None = Field(None, max_length=100)


class NewSourceType(SourceTypeFields):
    """A source type to add."""

    id: str = Field(max_length=63, examples=["contract"])


class CardTypeFields(_TypeFields):
    """What is to change in a card type; what is not given, or null, stays."""

    layer: str | None = Field(None, max_length=63, description="`instance` for single cases, anything else is `type`.")
    sections: tuple[str | dict[str, Any], ...] | None = Field(
        None, max_length=100, examples=[["Situation | what may happen | required", "Remedy"]]
    )
    fields: tuple[str | dict[str, Any], ...] | None = Field(None, max_length=100)
    examples: tuple[str, ...] | None = Field(None, max_length=100)


class NewCardType(CardTypeFields):
    """A card type to add."""

    id: str = Field(max_length=63, examples=["risk"])


@router.get("/{name}/source-types", response_model=Envelope[tuple[SourceType, ...]])
def list_source_types(
    request: Request, name: BaseName, caller: Caller, services: ServicesOf
) -> Envelope[tuple[SourceType, ...]] | Response:
    """The source types of a base, each with the number of its documents."""
    require_base(caller, services, Capability.READ, name)
    return answered(services.registry.source_types.list(name), request, name)


@router.post("/{name}/source-types", status_code=201, response_model=Envelope[SourceType])
def add_source_type(
    request: Request, name: BaseName, body: NewSourceType, caller: Caller, services: ServicesOf
) -> Envelope[Any] | Response:
    """Add a source type; it needs label, description, signals and excludes."""
    require_base(caller, services, Capability.EDIT, name)
    change = SourceTypeChange.from_json(body.given(), type_id=body.id)
    return answered(services.registry.source_types.add(name, change), request, name)


@router.patch("/{name}/source-types/{type_id}", response_model=Envelope[SourceType])
def update_source_type(
    request: Request, name: BaseName, type_id: TypeId, body: SourceTypeFields, caller: Caller, services: ServicesOf
) -> Envelope[Any] | Response:
    """Change a source type."""
    require_base(caller, services, Capability.EDIT, name)
    change = SourceTypeChange.from_json(body.given(), type_id=type_id)
    return answered(services.registry.source_types.update(name, change), request, name)


@router.delete("/{name}/source-types/{type_id}", response_model=Envelope[Deleted])
def delete_source_type(
    request: Request,
    name: BaseName,
    type_id: TypeId,
    caller: Caller,
    services: ServicesOf,
    force: Force = False,  # noqa: FBT002 (a query parameter)
) -> Envelope[Any] | Response:
    """Remove a custom source type."""
    require_base(caller, services, Capability.EDIT, name)
    return answered(services.registry.source_types.delete(name, type_id, force=force), request, name)


@router.get("/{name}/card-types", response_model=Envelope[tuple[CardType, ...]])
def list_card_types(
    request: Request, name: BaseName, caller: Caller, services: ServicesOf
) -> Envelope[tuple[CardType, ...]] | Response:
    """The card types of a base, each with the number of its cards."""
    require_base(caller, services, Capability.READ, name)
    return answered(services.registry.card_types.list(name), request, name)


@router.post("/{name}/card-types", status_code=201, response_model=Envelope[CardType])
def add_card_type(
    request: Request, name: BaseName, body: NewCardType, caller: Caller, services: ServicesOf
) -> Envelope[Any] | Response:
    """Add a card type; it needs label, description and sections."""
    require_base(caller, services, Capability.EDIT, name)
    change = CardTypeChange.from_json(body.given(), type_id=body.id)
    return answered(services.registry.card_types.add(name, change), request, name)


@router.patch("/{name}/card-types/{type_id}", response_model=Envelope[CardType])
def update_card_type(
    request: Request, name: BaseName, type_id: TypeId, body: CardTypeFields, caller: Caller, services: ServicesOf
) -> Envelope[Any] | Response:
    """Change a card type."""
    require_base(caller, services, Capability.EDIT, name)
    change = CardTypeChange.from_json(body.given(), type_id=type_id)
    return answered(services.registry.card_types.update(name, change), request, name)


@router.delete("/{name}/card-types/{type_id}", response_model=Envelope[Deleted])
def delete_card_type(
    request: Request,
    name: BaseName,
    type_id: TypeId,
    caller: Caller,
    services: ServicesOf,
    force: Force = False,  # noqa: FBT002 (a query parameter)
) -> Envelope[Any] | Response:
    """Remove a custom card type."""
    require_base(caller, services, Capability.EDIT, name)
    return answered(services.registry.card_types.delete(name, type_id, force=force), request, name)
