"""`lorebase release`: what is live of each topic, and the commands that change it."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from apps.cli.governed import (
    DEFAULT_ORGAN,
    Organ,
    Reason,
    User,
    desk,
    service_desk,
    show,
)
from apps.cli.options import DEFAULT_WORKSPACE, AsJson, BaseName, WorkspaceFolder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apps.cli.governed import ServiceDesk
    from lorebase.governance.publishing import Publication
    from lorebase.governance.reconciling import ReconcileReport

release_app = typer.Typer(help="What is live of each topic.", no_args_is_help=True)

ResultT = TypeVar("ResultT")

ItemId = Annotated[int, typer.Argument(help="Id of the item.", show_default=False)]
RevisionId = Annotated[int, typer.Argument(help="Id of the revision.", show_default=False)]
ReleaseVersion = Annotated[
    int,
    typer.Option("--version", min=0, help="Version of the release that `release show` printed.", show_default=False),
]
RequestId = Annotated[str, typer.Option(help="Identity of this command; given again it is a repeat, not a conflict.")]


@release_app.command("show")
def show_release(
    item: ItemId,
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Which revision of a topic is live, and the version that a switch must name."""
    with desk(workspace, organ, user, dict(os.environ)) as at:
        found = at.governance.releases.get(at.caller, item)
    show(found, as_json=as_json)


@release_app.command("publish")
def publish(
    revision: RevisionId,
    version: ReleaseVersion,
    reason: Reason = "",
    request_id: RequestId = "",
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Make a revision that is READY_TO_PUBLISH what is live of its topic."""

    async def act(at: ServiceDesk) -> Publication:
        return await at.knowledge.publishing.publish(at.caller, revision, expected_version=version, reason=reason)

    _show_publication(asyncio.run(_at_desk(act, workspace, organ, user, request_id)), as_json=as_json)


@release_app.command("rollback")
def roll_back(
    revision: RevisionId,
    version: ReleaseVersion,
    reason: Reason = "",
    request_id: RequestId = "",
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Make a revision that was live before what is live again."""

    async def act(at: ServiceDesk) -> Publication:
        return await at.knowledge.publishing.roll_back(at.caller, revision, expected_version=version, reason=reason)

    _show_publication(asyncio.run(_at_desk(act, workspace, organ, user, request_id)), as_json=as_json)


@release_app.command("offline")
def take_offline(
    item: ItemId,
    version: ReleaseVersion,
    reason: Reason = "",
    request_id: RequestId = "",
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Make nothing of a topic live."""

    async def act(at: ServiceDesk) -> Publication:
        return await at.knowledge.publishing.take_offline(at.caller, item, expected_version=version, reason=reason)

    _show_publication(asyncio.run(_at_desk(act, workspace, organ, user, request_id)), as_json=as_json)


@release_app.command("reconcile")
def reconcile(
    base: BaseName,
    item: Annotated[int | None, typer.Option(help="Only this topic.")] = None,
    reason: Reason = "",
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Bring the index of a base in line with what is live, whatever a killed process left."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)

    async def act(at: ServiceDesk) -> ReconcileReport:
        if item is not None:
            return await at.knowledge.reconciling.reconcile_item(at.caller, item, reason=reason)
        return await at.knowledge.reconciling.reconcile_base(at.caller, base, reason=reason)

    report = asyncio.run(_at_desk(act, workspace, organ, user, ""))
    if as_json:
        print_json(report)
    else:
        for repair in report.repairs:
            console().print(f"{repair.revision_id}  {repair.kind}", markup=False)
        console().print(f"{report.revisions} revisions, {len(report.repairs)} repairs.")
    if not report.is_clean:
        raise typer.Exit(1)


async def _at_desk(
    act: Callable[[ServiceDesk], Awaitable[ResultT]], workspace: WorkspaceFolder, organ: int, user: str, request_id: str
) -> ResultT:
    async with service_desk(workspace, organ, user, dict(os.environ), request_id=request_id) as at:
        return await act(at)


def _show_publication(done: Publication, *, as_json: bool) -> None:
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)

    if as_json:
        print_json(done)
        return
    show(done.release, as_json=False)
    if done.replaced_revision_id is not None:
        console().print(f"{'replaced_revision_id':>24}  {done.replaced_revision_id}", markup=False)
    if done.needs_reconcile:
        console(stderr=True).print("The index was not brought in line: run `lorebase release reconcile`.")
