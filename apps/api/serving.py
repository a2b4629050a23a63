"""A server for the HTTP interface: one process, or several workers that each open the workspace for themselves."""

from __future__ import annotations

import ipaddress
import logging
import os
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import FastAPI

from apps.api.app import LOOPBACK_NAMES, create_app
from apps.api.frame import access_log
from apps.api.settings import ApiSettings
from lorebase.errors import ConfigurationError
from lorebase.workspace import Workspace

_WORKSPACE: Final = "LOREBASE_WORKSPACE"
_INSECURE: Final = "LOREBASE_API_INSECURE_DEVELOPMENT"
"""How the first process tells its workers; set by it and by nobody else."""

STOP_SECONDS: Final = 30
"""How long requests under way may take once the server is told to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Where the server listens.

    Attributes:
        host: Address.
        port: Port, 1 to 65535.
        workers: Processes, at least 1.
        insecure_development: Whether callers need no proof.
        workspace: Folder of the workspace.
    """

    host: str
    port: int
    workers: int
    insecure_development: bool
    workspace: Path


def run_server(options: ServeOptions, variables: MutableMapping[str, str]) -> None:
    """Serve until the process is told to stop; requests under way are answered first.

    Args:
        options: Where.
        variables: The environment; workers are told through it.

    Raises:
        ConfigurationError: Callers cannot be known, or the workspace cannot be served this way.
    """
    workspace, settings = _checked(options, variables)
    app: FastAPI | str
    if options.workers == 1:
        configure_logging()
        app = create_app(workspace, settings)
    else:
        variables[_WORKSPACE] = str(options.workspace.absolute())
        if options.insecure_development:
            variables[_INSECURE] = "1"
        app = "apps.api.serving:worker_app"
    uvicorn.run(
        app,
        factory=isinstance(app, str),
        host=options.host,
        port=options.port,
        workers=options.workers,
        access_log=False,
        log_level="info",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


def worker_app() -> FastAPI:
    """The interface in a worker process, as the first process described it."""
    configure_logging()
    settings = ApiSettings.from_environment(os.environ, insecure_development=_INSECURE in os.environ)
    return create_app(Workspace.load(Path(os.environ[_WORKSPACE]), os.environ), settings)


def configure_logging() -> None:
    """Write the access log to stdout, one JSON object a line, and nothing else there."""
    access_log.handlers[:] = [logging.StreamHandler(sys.stdout)]
    access_log.setLevel(logging.INFO)
    access_log.propagate = False


def _checked(options: ServeOptions, variables: Mapping[str, str]) -> tuple[Workspace, ApiSettings]:
    if options.insecure_development and not _is_loopback(options.host):
        raise ConfigurationError(
            f"--insecure-development was asked for on {options.host}.",
            remedy="Listen on 127.0.0.1, or set LOREBASE_API_SECRET.",
        )
    settings = ApiSettings.from_environment(variables, insecure_development=options.insecure_development)
    workspace = Workspace.load(options.workspace, variables)
    if options.workers > 1 and not workspace.has_index_server:
        raise ConfigurationError(
            f"{options.workers} workers cannot share an embedded index, which belongs to one process at a time.",
            remedy="Use one worker, or name a Milvus server as `vector_store` in lorebase.yaml.",
        )
    return workspace, settings


def _is_loopback(host: str) -> bool:
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
