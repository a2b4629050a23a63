"""The description of the interface: FastAPI's, with problems in place of its own errors, and who may call."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from apps.api.principals import CAPABILITIES_HEADER, ORGAN_HEADER, SECRET_HEADER, USER_HEADER
from apps.api.problems import MEDIA_TYPE, Problem

_DESCRIPTION: Final = f"""Builds, governs and serves knowledge bases.

Who calls is said by a gateway (`{SECRET_HEADER}` with `{ORGAN_HEADER}`, `{USER_HEADER}` and `{CAPABILITIES_HEADER}`) or
by a signed token (`Authorization: Bearer`, claims `sub`, `organ_id`, `capabilities`); never by a body or a query.
Another organisation's ids are not found. Ids are 64-bit numbers and come as text. Every error is a problem document
with a stable `code`; `X-Request-ID` names the request in it and in the logs."""

_PROBLEMS: Final = {
    "400": "A value is missing, of the wrong form, or out of range.",
    "401": "Nobody trusted says who calls.",
    "403": "The caller lacks the capability.",
    "404": "There is no such thing in the caller's organisation.",
    "409": "The thing is not, or no longer, in a state in which this is allowed.",
    "413": "The body is too large.",
    "415": "The body is of a type that is not taken in.",
    "500": "A defect, or something that the operator has to mend.",
    "503": "A service that this request needs did not answer.",
}


def describe(app: FastAPI) -> None:
    """Let the app describe itself, once, when it is first asked."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to change the description


def _described(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title="Lorebase", version=app.version, description=_DESCRIPTION, routes=app.routes)
    components = schema.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = _problem_schema(components["schemas"])
    components["securitySchemes"] = {
        "gateway": {"type": "apiKey", "in": "header", "name": SECRET_HEADER},
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    }
    for unused in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(unused, None)
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            if path.startswith("/v1/"):
                operation["security"] = [{"gateway": []}, {"token": []}]
                operation["responses"].update(_problem_responses())
    return schema


def _problem_schema(schemas: dict[str, Any]) -> dict[str, Any]:
    own = Problem.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    schemas.update(own.pop("$defs", {}))
    return own


def _problem_responses() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": text, "content": content} for status, text in _PROBLEMS.items()}
