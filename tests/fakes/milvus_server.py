"""A Milvus server on loopback that can be killed, and started again over the same folder and port.

Milvus listens on all interfaces. So it runs in a network namespace of its own, where there is none but loopback. The
socket that clients connect to is made outside: it stays in the namespace it was made in, whoever accepts from it.
"""

from __future__ import annotations

import importlib.util
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

IN_NAMESPACE = Path(__file__).with_name("milvus_in_namespace.py")
NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork")
START_SECONDS = 200.0
VERSION = "2.3.5"


class MilvusServer:
    """One server, 2.3.5; nothing runs until `start`. Skips the test where it cannot run, and says why.

    Args:
        folder: Keeps its programs, its data and its logs: about 450 MB.
    """

    def __init__(self, folder: Path) -> None:
        if importlib.util.find_spec("milvus") is None:
            pytest.skip(f"the package milvus is not installed; it has no {VERSION} for this platform or was left out")
        _require_namespaces()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        # Bound and never listening: nobody else gets the port while the server is away, and clients are refused.
        self._reserved = _bound(0)
        self._port: int = self._reserved.getsockname()[1]

    @property
    def uri(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it says that it is healthy."""
        ready, to_us = os.pipe()
        with _bound(self._port) as listening, (self._folder / "log").open("ab") as log:
            listening.listen(64)
            fds = (listening.fileno(), to_us)
            command = [*NAMESPACES, sys.executable, "-I", IN_NAMESPACE, *map(str, fds), self._folder]
            self._process = subprocess.Popen(command, pass_fds=fds, stdin=subprocess.PIPE, stdout=log, stderr=log)
        os.close(to_us)
        with os.fdopen(ready, "rb", buffering=0) as answer:
            answered, _, _ = select.select([answer], [], [], START_SECONDS)
            if not answered or not answer.read(1):
                self.kill()
                pytest.fail(f"Milvus did not start: {(self._folder / 'log').read_text(errors='replace')[-2000:]}")

    def kill(self) -> None:
        """Kill it as a machine that is lost does; its data stay."""
        if self._process is None:
            return
        for pid in self.pids():
            with suppress(ProcessLookupError):  # a test killed it just now
                os.kill(pid, signal.SIGKILL)
        process, self._process = self._process, None
        assert process.stdin is not None
        process.stdin.close()
        process.wait(START_SECONDS)

    def pids(self) -> list[int]:
        """The first process of its namespace, which takes all others along and is gone only when they are."""
        if self._process is None or self._process.poll() is not None:
            return []
        parent = self._process.pid
        try:
            return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):  # it ended just now
            return []

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    def close(self) -> None:
        """Kill it and remove what it kept."""
        self.kill()
        self._reserved.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


def _require_namespaces() -> None:
    if shutil.which("unshare") is None:
        pytest.skip("the command unshare, with which Milvus gets a network of its own, is not installed")
    tried = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no namespace for Milvus can be made here: {tried.stderr.strip()}")
