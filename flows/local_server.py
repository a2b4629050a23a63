"""A workspace's own Prefect server: started when first needed, shared by its users, ended with the last of them."""

from __future__ import annotations

import atexit
import fcntl
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

import httpx

from flows.server_process import NOTE, SERVER_LOCK, USERS_LOCK, locked_alone
from lorebase.errors import UnavailableError

ResultT = TypeVar("ResultT")

START_SECONDS = 120.0
RECORD_SECONDS = 20.0
STOP_SECONDS = 20.0
_POLL_SECONDS = 0.25
_QUIET_POLLS = 4
_REQUEST_SECONDS = 5.0
_END_OF_CERTIFICATE = "-----END CERTIFICATE-----\n"

_SERVER_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # A task run costs the server a sixth of its time when recorded in batches.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_LEVEL": "WARNING",
}


@contextmanager
def workspace_server(folder: Path, *, port: int | None = None) -> Iterator[str]:
    """The API address of a workspace's own Prefect server, for as long as the context is open.

    The server keeps everything below `folder/prefect` and listens on the loopback interface. A server of the same
    workspace that runs already is used as it is. At the end, what task runs have reported is waited for, at most
    20 seconds; the last user's end is the server's end, whoever started it and however the user ends.

    Args:
        folder: The workspace's folder; made where it does not exist.
        port: Port of a server that has to be started; by default a free one.

    Raises:
        UnavailableError: The server did not start.
    """
    home = (folder / "prefect").resolve()
    home.mkdir(parents=True, exist_ok=True)
    entered = datetime.now(UTC)
    with (home / USERS_LOCK).open("ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        url, process = _running_or_started(home, port)
        try:
            try:
                yield url
            finally:
                _wait_for_records(url, entered)
        finally:
            if process is not None:
                _see_off(process, users)


async def with_prefect(url: str, act: Callable[[], Awaitable[ResultT]], *, log_level: str = "WARNING") -> ResultT:
    """Run a coroutine function against a Prefect server, quietly.

    Args:
        url: Address of the server's API; where it is the one that Prefect is configured for, its settings stay.
        act: What to run; everything it calls sees the server.
        log_level: Level of Prefect's own lines on the console. Lines go to the server whatever it is.
    """
    from prefect import settings  # noqa: PLC0415 (prefect takes a second to import)

    updates: dict[Any, Any] = {settings.PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False}
    if settings.PREFECT_API_URL.value() != url:
        # What is configured belongs to another server: its credentials, and heartbeats for runs that nobody watches,
        # whose thread takes a second to end.
        updates |= {
            settings.PREFECT_API_URL: url,
            settings.PREFECT_API_KEY: None,
            settings.PREFECT_API_AUTH_STRING: None,
            settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        }
        if url.startswith("http://"):
            updates[settings.PREFECT_API_SSL_CERT_FILE] = _one_authority()
    with settings.temporary_settings(updates=updates), _console_level(log_level):
        try:
            return await act()
        finally:
            await _send_the_rest()


@cache
def _one_authority() -> str:
    """A file with one certificate authority, for clients of a server that is reached without TLS.

    Prefect makes a client, and reads all authorities for it, several times a build and once for every kind of task run:
    25 ms each, for connections that need none. The file is the same for the whole process because Prefect begins its
    services anew where a setting differs.
    """
    import certifi  # noqa: PLC0415 (only where Prefect is used)

    authorities = Path(certifi.where()).read_text()
    first = authorities[: authorities.index(_END_OF_CERTIFICATE)] + _END_OF_CERTIFICATE
    descriptor, name = tempfile.mkstemp(prefix="lorebase-", suffix=".pem")
    with os.fdopen(descriptor, "w") as file:
        file.write(first)
    atexit.register(_remove, name, os.getpid())
    return name


def _remove(name: str, process_id: int) -> None:
    if os.getpid() == process_id:  # a forked child leaves it to its parent
        Path(name).unlink(missing_ok=True)


async def _send_the_rest() -> None:
    """Hand over states and log lines that wait in this process; they belong to the server of this context."""
    from prefect.events.worker import EventsWorker  # noqa: PLC0415 (as above)
    from prefect.logging.handlers import APILogHandler  # noqa: PLC0415 (as above)

    await APILogHandler.aflush()
    sent: Any = EventsWorker.drain_all(timeout=RECORD_SECONDS, at_exit=False)
    await sent


@contextmanager
def _console_level(level: str) -> Iterator[None]:
    """Keep Prefect's own lines below a level off the console."""
    from prefect.logging.configuration import ensure_logging_setup  # noqa: PLC0415 (as above)

    ensure_logging_setup()  # later on Prefect would set its handlers up by itself, without the filter
    least = logging.getLevelNamesMapping()[level]

    def is_shown(record: logging.LogRecord) -> bool:
        return record.levelno >= least or not record.name.startswith("prefect")

    # Prefect's lines reach the console by the root logger alone; to its server they go by handlers of their own.
    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(is_shown)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_shown)


def _running_or_started(home: Path, port: int | None) -> tuple[str, subprocess.Popen[bytes] | None]:
    """The server of a workspace, and its process where this one has started it. One at a time looks for it."""
    with (home / "start.lock").open("ab") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        url = _running(home)
        if url is not None:
            _wait_until_healthy(None, url, home)
            return url, None
        process, url = _start(home, port or _free_port())
        try:
            _wait_until_healthy(process, url, home)
        except BaseException:
            _stop(process)
            raise
        return url, process


def _running(home: Path) -> str | None:
    """The address of the server that runs, None where none does."""
    with (home / SERVER_LOCK).open("ab") as lock:
        if locked_alone(lock):
            return None
    return str(json.loads((home / NOTE).read_text(encoding="utf-8"))["url"])


def _start(home: Path, port: int) -> tuple[subprocess.Popen[bytes], str]:
    # Prefect's settings of this process are of another server: none of them may reach this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    url = f"http://127.0.0.1:{port}/api"
    environment |= _SERVER_SETTINGS | {
        "PREFECT_HOME": str(home),
        "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home / 'prefect.db'}",
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_API_URL": url,
    }
    command = [
        sys.executable,
        "-P",
        "-m",
        "flows.server_process",
        "--home",
        str(home),
        "--port",
        str(port),
    ]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 (our own module)
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C in a terminal is for the build; the server has to stay until the end is recorded.
            start_new_session=True,
        )
    return process, url


def _wait_until_healthy(process: subprocess.Popen[bytes] | None, url: str, home: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _is_healthy(url):
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            what = "ended at its start" if ended else f"did not answer in {START_SECONDS:.0f} s"
            raise UnavailableError(
                f"The workspace's Prefect server {what}; its last lines are in {home / 'server.log'}.",
                remedy="Read them, or build without Prefect: --executor inline.",
                dependency="prefect",
            )
        time.sleep(_POLL_SECONDS)


def _wait_for_records(url: str, since: datetime) -> None:
    """Wait until the server has written the task runs since then: a flow run ends before they are all recorded."""
    deadline = time.monotonic() + RECORD_SECONDS
    known: tuple[int, int] | None = None
    quiet = 0
    while time.monotonic() < deadline and quiet < _QUIET_POLLS:
        counts = _task_run_counts(url, since)
        if counts is None:
            return
        quiet = quiet + 1 if counts == known else 0
        known = counts
        # Once everything is final two looks are enough; a task run of a cancelled build may never become final.
        if counts[1] == 0 and quiet >= _QUIET_POLLS // 2:
            return
        time.sleep(_POLL_SECONDS * (2 if counts[1] else 1))


def _task_run_counts(url: str, since: datetime) -> tuple[int, int] | None:
    """How many task runs there are since a time, and how many of them are not final; None where nobody answers."""
    recent: dict[str, Any] = {"expected_start_time": {"after_": since.isoformat()}}
    open_types = {"type": {"any_": ["PENDING", "RUNNING", "SCHEDULED"]}}
    try:
        found = [
            httpx.post(f"{url}/task_runs/count", json={"task_runs": selected}, timeout=_REQUEST_SECONDS)
            .raise_for_status()
            .json()
            for selected in ({**recent}, {**recent, "state": open_types})
        ]
    except httpx.HTTPError:
        return None
    return int(found[0]), int(found[1])


def _see_off(process: subprocess.Popen[bytes], users: IO[bytes]) -> None:
    """End the server that this process has started, unless somebody else uses it: then it ends with them."""
    if locked_alone(users):
        _stop(process)
        return
    try:
        # Locks can be shared with other users, but not with a server that is ending already.
        fcntl.flock(users, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        process.wait(timeout=STOP_SECONDS)
    else:
        _LEFT_TO_OTHERS.append(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_LEFT_TO_OTHERS: list[subprocess.Popen[bytes]] = []
"""Servers that other processes still use; kept, because a process object that is dropped complains about its child."""


def _is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=_REQUEST_SECONDS).is_success
    except httpx.HTTPError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
