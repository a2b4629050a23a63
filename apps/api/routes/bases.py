"""The registry of knowledge bases. What runs on the operator's machine (recipe, parsers, models) is not set here."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from apps.api.envelopes import answered
from apps.api.inputs import BaseName, Body
from apps.api.problems import Problem
from apps.api.services import Caller, Services, ServicesOf
from lorebase.errors import NotFoundError
from lorebase.governance.context import Capability, PrincipalContext
from lorebase.registry.base_changes import BaseChange
from lorebase.registry.envelope import Deleted, Envelope
from lorebase.registry.keeping import not_found_message
from lorebase.registry.record import IndexSettings
from lorebase.registry.views import BaseSummary, KnowledgeBaseView

router = APIRouter(prefix="/v1/bases", tags=["bases"], responses={409: {"model": Problem}})

View = TypeVar("View", bound=BaseSummary)


class BaseFields(Body):
    """What is to change in a base; what is not given, or null, stays."""

    name: str | None = Field(None, max_length=200, examples=["员工手册"])
    description: str | None = Field(None, max_length=10_000)
    index: IndexSettings | None = None

    def as_change(self) -> BaseChange:
        """The change as the registry takes it."""
        given: dict[str, Any] = self.model_dump(include={"name", "description", "index"}, exclude_none=True)
        return BaseChange.from_json(given)


class NewBase(BaseFields):
    """A base to make."""

    id: str = Field("", max_length=63, examples=["handbook"], description="Without one it is made of the name.")


def require_base(caller: PrincipalContext, services: Services, capability: Capability, name: str) -> None:
    """Go on only with a capability, and where the workspace's bases are the caller's.

    Raises:
        ForbiddenError: The caller lacks the capability.
        NotFoundError: They are not; told as for a base that there is not.
    """
    caller.require(capability)
    if not services.bases.sees_bases(caller):
        raise NotFoundError(not_found_message(name))


@router.get("")
def list_bases(caller: Caller, services: ServicesOf) -> Envelope[tuple[BaseSummary, ...]]:
    """Every base, the default one first; none for an organisation that the workspace's bases do not belong to."""
    caller.require(Capability.READ)
    if not services.bases.sees_bases(caller):
        return Envelope(ok=True, data=())
    found = services.registry.list()
    return found.model_copy(update={"data": tuple(_without_folder(base) for base in found.data)})


@router.post("", status_code=201, response_model=Envelope[KnowledgeBaseView])
def create_base(
    request: Request, body: NewBase, caller: Caller, services: ServicesOf
) -> Envelope[KnowledgeBaseView] | Response:
    """Make a base with the built-in types."""
    require_base(caller, services, Capability.EDIT, body.id)
    return _shown(answered(services.registry.create(body.id, body.as_change()), request, body.id))


@router.get("/{name}", response_model=Envelope[KnowledgeBaseView])
def show_base(
    request: Request, name: BaseName, caller: Caller, services: ServicesOf
) -> Envelope[KnowledgeBaseView] | Response:
    """One base with everything that is configured."""
    require_base(caller, services, Capability.READ, name)
    return _shown(answered(services.registry.show(name), request, name))


@router.patch("/{name}", response_model=Envelope[KnowledgeBaseView])
def update_base(
    request: Request, name: BaseName, body: BaseFields, caller: Caller, services: ServicesOf
) -> Envelope[KnowledgeBaseView] | Response:
    """Change what is given and nothing else."""
    require_base(caller, services, Capability.EDIT, name)
    return _shown(answered(services.registry.update(name, body.as_change()), request, name))


@router.delete("/{name}", response_model=Envelope[Deleted])
def delete_base(request: Request, name: BaseName, caller: Caller, services: ServicesOf) -> Envelope[Deleted] | Response:
    """Take a base out of the registry; its documents, cards and memory stay."""
    require_base(caller, services, Capability.EDIT, name)
    return answered(services.registry.delete(name), request, name)


@router.post("/{name}/reset-card-types", response_model=Envelope[KnowledgeBaseView])
def reset_card_types(
    request: Request, name: BaseName, caller: Caller, services: ServicesOf
) -> Envelope[KnowledgeBaseView] | Response:
    """Make the card types the built-in ones."""
    require_base(caller, services, Capability.EDIT, name)
    return _shown(answered(services.registry.reset_card_types(name), request, name))


def _shown(answer: Envelope[KnowledgeBaseView] | Response) -> Envelope[KnowledgeBaseView] | Response:
    if isinstance(answer, Response):
        return answer
    return answer.model_copy(update={"data": _without_folder(answer.data)})


def _without_folder(base: View) -> View:
    """The base without its place on the server's disk, which is nobody's business but the operator's."""
    return base.model_copy(update={"root_dir": ""})
