"""`lorebase release`: what is live of each topic, and the commands that change it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from apps.cli.governed import Acting, Reason, acts, show
from apps.cli.options import BaseName

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
@acts
def show_release(item: ItemId, *, acting: Acting) -> None:
    """Which revision of a topic is live, and the version that a switch must name."""
    with acting.desk() as at:
        found = at.governance.releases.get(at.caller, item)
    acting.show(found)


@release_app.command("publish")
@acts
def publish(
    revision: RevisionId,
    version: ReleaseVersion,
    reason: Reason = "",
    request_id: RequestId = "",
    *,
    acting: Acting,
) -> None:
    """Make a revision that is READY_TO_PUBLISH what is live of its topic."""
    _switch(
        lambda at: at.knowledge.publishing.publish(at.caller, revision, expected_version=version, reason=reason),
        acting,
        request_id,
    )


@release_app.command("rollback")
@acts
def roll_back(
    revision: RevisionId,
    version: ReleaseVersion,
    reason: Reason = "",
    request_id: RequestId = "",
    *,
    acting: Acting,
) -> None:
    """Make a revision that was live before what is live again."""
    _switch(
        lambda at: at.knowledge.publishing.roll_back(at.caller, revision, expected_version=version, reason=reason),
        acting,
        request_id,
    )


@release_app.command("offline")
@acts
def take_offline(
    item: ItemId,
    version: ReleaseVersion,
    reason: Reason = "",
    request_id: RequestId = "",
    *,
    acting: Acting,
) -> None:
    """Make nothing of a topic live."""
    _switch(
        lambda at: at.knowledge.publishing.take_offline(at.caller, item, expected_version=version, reason=reason),
        acting,
        request_id,
    )


@release_app.command("reconcile")
@acts
def reconcile(
    base: BaseName,
    item: Annotated[int | None, typer.Option(help="Only this topic.")] = None,
    reason: Reason = "",
    *,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Make tasks that index again what only that mends; they may call models.")
    ] = False,
    acting: Acting,
) -> None:
    """Bring the index of a base in line with what is live, whatever a killed process left."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (commands import late)
    from lorebase.governance.reconciling import RepairKind  # noqa: PLC0415 (as above)

    async def act(at: ServiceDesk) -> ReconcileReport:
        if item is not None:
            return await at.knowledge.reconciling.reconcile_item(at.caller, item, reason=reason, reindex=reindex)
        return await at.knowledge.reconciling.reconcile_base(at.caller, base, reason=reason, reindex=reindex)

    report = asyncio.run(_at_desk(act, acting))
    kinds = {repair.kind for repair in report.repairs}
    if acting.as_json:
        print_json(report)
    else:
        for repair in report.repairs:
            console().print(f"{repair.revision_id}  {repair.kind}", markup=False)
        console().print(f"{report.revisions} revisions, {len(report.repairs)} repairs.")
        if RepairKind.REINDEX_REQUESTED in kinds:
            console(stderr=True).print("The dispatcher, or `lorebase task run`, indexes again what was requested.")
        if RepairKind.NEEDS_REINDEX in kinds and not reindex:
            console(stderr=True).print("Repeat it with --reindex to index again what it cannot mend.")
    if RepairKind.NEEDS_REINDEX in kinds:
        raise typer.Exit(1)


async def _at_desk(act: Callable[[ServiceDesk], Awaitable[ResultT]], acting: Acting, request_id: str = "") -> ResultT:
    async with acting.service_desk(request_id) as at:
        return await act(at)


def _switch(command: Callable[[ServiceDesk], Awaitable[Publication]], acting: Acting, request_id: str) -> None:
    """Change what is live of a topic, and show what is live then."""
    _show_publication(asyncio.run(_at_desk(command, acting, request_id)), as_json=acting.as_json)


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
