"""What all tests share: real input, and servers on loopback that start when a test first asks for them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from lorebase.adapters.object_stores import S3ObjectStore

S3_KEY, S3_SECRET = "test-key", "test-secret"


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Folder of the real input."""
    folder = os.environ.get("LOREBASE_TEST_DATA")
    if not folder:
        pytest.skip("LOREBASE_TEST_DATA is not set: no real input here")
    return Path(folder)


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a SeaweedFS S3 endpoint on loopback."""
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if weed is None:
        pytest.skip("SeaweedFS is not installed")
    folder = tmp_path_factory.mktemp("seaweedfs")
    port = free_port()
    ports = [f"-{name}.port={free_port()}" for name in ("master", "volume", "filer")]
    grpc_ports = [f"-{name}.port.grpc={free_port()}" for name in ("master", "volume", "filer", "s3")]
    command = [
        weed, "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.port={port}",
        f"-s3.port.iceberg={free_port()}", "-webdav=false", "-admin.ui=false", f"-admin.port={free_port()}",
        *ports, *grpc_ports,
    ]  # fmt: skip
    credentials = {"AWS_ACCESS_KEY_ID": S3_KEY, "AWS_SECRET_ACCESS_KEY": S3_SECRET}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | credentials)
    try:
        _wait_until_s3_answers(port, server, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _wait_until_s3_answers(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    probe = S3ObjectStore("probe", endpoint_url=f"http://127.0.0.1:{port}", key=S3_KEY, secret=S3_SECRET)
    deadline = time.monotonic() + 60
    while True:
        if server.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"SeaweedFS did not start: {log.read_text(errors='replace')[-2000:]}")
        try:
            probe.make_bucket()
            probe.put("alive", b"1")
        except Exception:  # noqa: BLE001 (whatever it is, it is not ready)
            time.sleep(0.3)
        else:
            return


@pytest.fixture
def s3_store(seaweedfs: str) -> S3ObjectStore:
    """An empty bucket of SeaweedFS."""
    store = S3ObjectStore(f"b{uuid4().hex[:12]}", "root", endpoint_url=seaweedfs, key=S3_KEY, secret=S3_SECRET)
    store.make_bucket()
    return store
