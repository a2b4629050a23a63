"""The HTTP interface of a workspace, ready for a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TypedDict
from uuid import uuid4

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from apps.api.admission import Admission
from apps.api.description_page import add_description_page
from apps.api.frame import RequestFrame
from apps.api.handlers import register_handlers
from apps.api.openapi import describe
from apps.api.principals import Authenticator
from apps.api.routes import (
    asking,
    base_types,
    bases,
    feedback,
    health,
    items,
    releases,
    retrieval,
    revisions,
    tags,
    tasks,
    uploads,
)
from apps.api.services import Services, opened_services
from apps.api.settings import ApiSettings
from lorebase.workspace import Workspace

_ROUTERS = (
    items.router,
    uploads.router,
    releases.router,  # before revisions, whose path for work takes any last word
    revisions.router,
    tasks.router,
    feedback.router,
    tags.router,
    retrieval.router,
    asking.router,
    bases.router,
    base_types.router,
    health.router,
)
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]", "::1")


class _State(TypedDict):
    services: Services


def create_app(
    workspace: Workspace, settings: ApiSettings, *, new_request_id: Callable[[], str] = lambda: uuid4().hex
) -> FastAPI:
    """The interface. It opens nothing before the server starts it, and closes everything when the server stops.

    Args:
        workspace: Where things are.
        settings: Who may call, and the limits.
        new_request_id: Makes ids for requests that bring none.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[_State]:
        async with opened_services(workspace, settings) as services:
            yield {"services": services}

    middleware = [
        Middleware(RequestFrame, new_id=new_request_id, clock=workspace.clock),
        Middleware(Admission, authenticator=Authenticator(settings), max_body_bytes=settings.max_body_bytes),
    ]
    if settings.insecure_development:
        # A page of another site that has its name point to this machine is refused.
        middleware.insert(1, Middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK_NAMES)))
    app = FastAPI(
        title="Lorebase",
        version=version("lorebase"),
        lifespan=lifespan,
        middleware=middleware,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    register_handlers(app)
    for router in _ROUTERS:
        app.include_router(router)
    describe(app)
    add_description_page(app)
    return app
