"""What is live of each topic, and the commands that change it: publish, roll back, take offline, reconcile."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from apps.api.inputs import Body, PathId, Reason, Version
from apps.api.services import Caller, ServicesOf
from lorebase.governance.model import Release
from lorebase.governance.publishing import Publication
from lorebase.governance.reconciling import ReconcileReport

router = APIRouter(prefix="/v1", tags=["releases"])


class Switch(Body):
    """Another version of the release, with what is live changed."""

    expected_version: Version
    reason: Reason = ""


class Reconciliation(Body):
    """The index is brought in line with what is live."""

    reason: Reason = ""
    reindex: bool = Field(default=False, description="Make tasks that index again what only that can mend.")


@router.get("/items/{item_id}/release")
def show_release(item_id: PathId, caller: Caller, services: ServicesOf) -> Release:
    """Which revision is live, and the version that a switch must name."""
    return services.governance.releases.get(caller, item_id)


@router.post("/revisions/{revision_id}/publish")
async def publish(revision_id: PathId, body: Switch, caller: Caller, services: ServicesOf) -> Publication:
    """Make a READY_TO_PUBLISH revision live. Repeated with the same X-Request-ID it is found done."""
    async with services.indexes.used():
        return await services.knowledge.publishing.publish(
            caller, revision_id, expected_version=body.expected_version, reason=body.reason
        )


@router.post("/revisions/{revision_id}/rollback")
async def roll_back(revision_id: PathId, body: Switch, caller: Caller, services: ServicesOf) -> Publication:
    """Make a DEPRECATED revision live again; as publish."""
    async with services.indexes.used():
        return await services.knowledge.publishing.roll_back(
            caller, revision_id, expected_version=body.expected_version, reason=body.reason
        )


@router.post("/items/{item_id}/offline")
async def take_offline(item_id: PathId, body: Switch, caller: Caller, services: ServicesOf) -> Publication:
    """Make nothing of an item live. Whatever the index does then, retrieval returns nothing of it."""
    async with services.indexes.used():
        return await services.knowledge.publishing.take_offline(
            caller, item_id, expected_version=body.expected_version, reason=body.reason
        )


@router.post("/items/{item_id}/reconcile")
async def reconcile(item_id: PathId, body: Reconciliation, caller: Caller, services: ServicesOf) -> ReconcileReport:
    """Bring the index entities of an item in line with its rows; may run at any time, and again."""
    async with services.indexes.used():
        return await services.knowledge.reconciling.reconcile_item(
            caller, item_id, reason=body.reason, reindex=body.reindex
        )
