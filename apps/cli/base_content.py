"""What is in a registered base, and how it is derived again, from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from apps.cli.building import prefect_api
from apps.cli.output import console
from apps.cli.progress import ConsoleProgress
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import BuildFailedError
from lorebase.ids import new_run_id
from lorebase.registered_bases import open_bases, rebuild_base, rebuild_config
from lorebase.registry.document_lists import DocumentDetail, DocumentLine, document_of, documents_of
from lorebase.registry.envelope import Envelope, failure, success
from lorebase.registry.layout import checked_base_id
from lorebase.registry.rebuilding import RebuildReport
from lorebase.runs.journal import RunJournal
from lorebase.workspace import Workspace

_SHOWN_DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """What the command line was asked for.

    Attributes:
        base_id: The base.
        workspace: Folder of the workspace.
        resume: Whether it goes on from what is finished.
        wait_seconds: How long to wait for another build.
        api_url: Address of a Prefect server; None starts the workspace's own.
    """

    base_id: str
    workspace: Path
    resume: bool
    wait_seconds: float
    api_url: str | None


def listed_documents(base_id: str, folder: Path, variables: Mapping[str, str]) -> Envelope[tuple[DocumentLine, ...]]:
    """The documents of the live snapshot."""
    store = Workspace.load(folder, variables).object_store
    return success(documents_of(store, BaseLayout(checked_base_id(base_id))))


def shown_document(base_id: str, wanted: str, folder: Path, variables: Mapping[str, str]) -> Envelope[DocumentDetail]:
    """One document with its history."""
    store = Workspace.load(folder, variables).object_store
    return success(document_of(store, BaseLayout(checked_base_id(base_id)), wanted))


def rebuilt(request: RebuildRequest, variables: Mapping[str, str], *, with_prefect: bool) -> Envelope[RebuildReport]:
    """Rebuild, show progress on stderr, and tell how it went; what failed is in the report."""
    workspace = Workspace.load(request.workspace, variables)
    progress = ConsoleProgress(console(stderr=True))
    run = _rebuilt_with_prefect if with_prefect else _rebuilt_inline
    report = run(request, workspace, progress)
    if report.status == "succeeded":
        return success(report, report.warnings)
    suggestion = "Mend it and rebuild again: what is paid for stays paid for."
    return failure(
        report, "BUILD_FAILED", report.error or report.status, retryable=False, suggestion=suggestion,
        warnings=report.warnings,
    )  # fmt: skip


def _rebuilt_inline(request: RebuildRequest, workspace: Workspace, progress: ConsoleProgress) -> RebuildReport:
    async def run() -> RebuildReport:
        async with open_bases(workspace).runtime_of(request.base_id) as base:
            config = rebuild_config(resume=request.resume, wait_seconds=request.wait_seconds)
            return await rebuild_base(base, config=config, progress=progress)

    with progress.shown():
        return asyncio.run(run())


def _rebuilt_with_prefect(request: RebuildRequest, workspace: Workspace, progress: ConsoleProgress) -> RebuildReport:
    """Run the deployable flow in this process, so that its task runs and artifacts are those of a deployment."""
    screen = console(stderr=True)
    screen.print("Starting Prefect ...")
    from flows.local_server import with_prefect  # noqa: PLC0415 (Prefect takes seconds to import)
    from flows.rebuild_knowledge import RebuildOptions, rebuild_knowledge  # noqa: PLC0415 (as above)
    from flows.watching import watched_by  # noqa: PLC0415 (as above)

    run_id = new_run_id(workspace.clock.now(), workspace.random)
    options = RebuildOptions(
        base=request.base_id,
        workspace=str(request.workspace),
        mode="resume" if request.resume else "rebuild",
        wait_seconds=request.wait_seconds,
        run_id=run_id,
    )

    async def run() -> None:
        await rebuild_knowledge(options)

    with prefect_api(request.workspace, request.api_url) as url, progress.shown(), watched_by(progress):
        screen.print(f"Prefect is at {url.removesuffix('/api')}")
        # A failed step is reported from the record.
        with suppress(BuildFailedError):
            asyncio.run(with_prefect(url, run, log_level="CRITICAL"))
    return RebuildReport.of(RunJournal(workspace.object_store, BaseLayout(request.base_id)).read(run_id))


def document_lines(documents: tuple[DocumentLine, ...]) -> Iterator[str]:
    """The documents as a list."""
    if not documents:
        yield "No documents."
    for one in documents:
        tags = f"  [{', '.join(one.tags)}]" if one.tags else ""
        yield f"{one.name}  {one.source_type or '-'}  {one.versions} versions  {one.size_bytes:,} bytes{tags}"


def detail_lines(document: DocumentDetail, *, history: bool) -> Iterator[str]:
    """One document; its history where it is asked for."""
    yield f"{document.name} ({document.source}){'' if document.live else ', gone'}"
    yield f"  id           {document.document_id}"
    if document.source_type:
        yield f"  source type  {document.source_type} by {document.method} ({document.score:g}): {document.reason}"
    if document.tags:
        yield f"  tags         {', '.join(document.tags)}"
    for key, value in document.metadata.items():
        yield f"  {key:<12} {value}"
    for version in document.history if history else ():
        mark = "*" if version.live else " "
        digest = version.revision_id[:_SHOWN_DIGEST_CHARS] or "-"
        what = version.change.replace("_", " ")
        yield f"{mark} {version.snapshot_id}  {what}  {digest}  {version.source_type or '-'}"


def rebuild_lines(report: RebuildReport) -> Iterator[str]:
    """How a rebuild went, layer by layer."""
    for layer in report.layers:
        left = ", ".join(f"{name} {rows:,}" for name, rows in layer.artifacts.items())
        yield f"{layer.layer:<16} {left or 'nothing'}"
    if report.published:
        yield f"{report.base_id} shows snapshot {report.snapshot_id}."
    else:
        yield f"{report.base_id} shows what it showed: it is published by people."
