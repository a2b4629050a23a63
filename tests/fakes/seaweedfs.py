"""A SeaweedFS S3 endpoint on loopback that can be killed, and started again over the same folder and ports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import S3ObjectStore

S3_KEY, S3_SECRET = "test-key", "test-secret"
START_SECONDS = 60.0


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class SeaweedServer:
    """One server; nothing runs until `start`. Skips the test where SeaweedFS is not installed.

    Args:
        folder: Keeps its data and its log.
    """

    def __init__(self, folder: Path) -> None:
        weed = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        if weed is None:
            pytest.skip("SeaweedFS is not installed")
        self._log = folder / "log"
        self._port = free_port()
        ports = [f"-{name}.port={free_port()}" for name in ("master", "volume", "filer")]
        grpc_ports = [f"-{name}.port.grpc={free_port()}" for name in ("master", "volume", "filer", "s3")]
        self._command = [
            weed, "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.port={self._port}",
            f"-s3.port.iceberg={free_port()}", "-webdav=false", "-admin.ui=false", f"-admin.port={free_port()}",
            *ports, *grpc_ports,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address of the S3 endpoint."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it takes an object."""
        credentials = {"AWS_ACCESS_KEY_ID": S3_KEY, "AWS_SECRET_ACCESS_KEY": S3_SECRET}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=os.environ | credentials)
        probe = S3ObjectStore("probe", endpoint_url=self.url, key=S3_KEY, secret=S3_SECRET)
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"SeaweedFS did not start: {self._log.read_text(errors='replace')[-2000:]}")
            try:
                probe.make_bucket()
                probe.put("alive", b"1")
            except Exception:  # noqa: BLE001 (whatever it is, it is not ready)
                time.sleep(0.3)
            else:
                probe.close()
                return

    def kill(self) -> None:
        """Kill it as a machine that is lost does; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
