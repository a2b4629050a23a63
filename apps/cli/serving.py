"""`lorebase serve`: the HTTP interface of a workspace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from apps.cli.options import DEFAULT_WORKSPACE, WorkspaceFolder


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8080,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes; more than one needs a Milvus server and a database.")
    ] = 1,
    insecure_development: Annotated[
        bool,
        typer.Option("--insecure-development", help="Believe who callers say they are; on loopback only."),
    ] = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Serve the workspace over HTTP. Callers prove themselves by LOREBASE_API_SECRET or a signed token."""
    from apps.api.serving import ServeOptions, run_server  # noqa: PLC0415 (so that --help answers at once)

    options = ServeOptions(
        host=host,
        port=port,
        workers=workers,
        insecure_development=insecure_development,
        workspace=Path(workspace),
    )
    run_server(options, os.environ)
