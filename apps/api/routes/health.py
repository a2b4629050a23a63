"""Whether the server lives, and whether it can serve."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from sqlalchemy import text
from starlette.responses import JSONResponse

from apps.api.services import Services, ServicesOf
from lorebase.errors import LorebaseError

logger = logging.getLogger(__name__)
router = APIRouter(prefix="/health", tags=["health"])

_CHECK_SECONDS: Final = 5.0
_PROBED_BASE: Final = "lorebase-readiness"
"""No base of this name is ever made: the index answers that it has no collection, which shows that it answers."""


class Liveness(BaseModel):
    """The process answers."""

    model_config = ConfigDict(frozen=True)

    status: Literal["alive"] = "alive"


class Readiness(BaseModel):
    """Whether everything that requests need answers. Names only: what is wrong stands in the log."""

    model_config = ConfigDict(frozen=True)

    status: Literal["ready", "unavailable"]
    checks: dict[str, bool]


@router.get("/live")
async def liveness() -> Liveness:
    """The process answers; nothing else is looked at."""
    return Liveness()


@router.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}})
async def readiness(services: ServicesOf) -> JSONResponse:
    """Whether database, object store and index answer."""
    checks: dict[str, Awaitable[object]] = {
        "database": asyncio.to_thread(_ask_database, services),
        "object_store": asyncio.to_thread(services.workspace.object_store.exists, "readiness"),
    }
    if services.workspace.has_index_server:  # an embedded one may be held by a build, and searches wait for it
        checks["index"] = services.workspace.index_store.lexical(_PROBED_BASE).count(())
    outcomes = await asyncio.gather(*(_passes(name, work) for name, work in checks.items()))
    found = Readiness(
        status="ready" if all(outcomes) else "unavailable", checks=dict(zip(checks, outcomes, strict=True))
    )
    return JSONResponse(found.model_dump(), status_code=200 if all(outcomes) else 503)


async def _passes(name: str, work: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await work
    except (LorebaseError, OSError, TimeoutError) as error:
        logger.warning("not ready: %s: %s", name, error)
        return False
    return True


def _ask_database(services: Services) -> None:
    with services.governance.store.database.reading() as connection:
        connection.execute(text("SELECT 1"))
