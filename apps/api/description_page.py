"""The description of the interface as a page: Swagger UI from an installed package, so a browser asks no other host."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

PAGE: Final = "/docs"
_FILES: Final = "/docs/files"
_ICON: Final = "data:,"  # an empty one: without it browsers ask for one that is not there

_POLICY: Final = "default-src 'self' 'unsafe-inline'; img-src 'self' data:"
"""Holds browsers to this host whatever the scripts name; FastAPI's page starts them by a script within it."""


def add_description_page(app: FastAPI) -> None:
    """Let the app show its description at `/docs`.

    The package's own way would put the page into FastAPI for every app of the process, Prefect's among them.
    """
    folder = str(files("fastapi_standalone_docs") / "static" / "swagger")

    async def page(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "").rstrip("/")
        shown = get_swagger_ui_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=app.title,
            swagger_js_url=f"{root}{_FILES}/swagger-ui-bundle.js",
            swagger_css_url=f"{root}{_FILES}/swagger-ui.css",
            swagger_favicon_url=_ICON,
            swagger_ui_parameters={"validatorUrl": None},  # otherwise descriptions are sent to a public validator
        )
        shown.headers["Content-Security-Policy"] = _POLICY
        return shown

    app.add_route(PAGE, page, include_in_schema=False)
    app.mount(_FILES, StaticFiles(directory=folder), name="description page")
