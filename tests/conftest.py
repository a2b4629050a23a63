"""What all tests share: real input, and servers on loopback that start when a test first asks for them."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from pydantic import SecretStr

from lorebase.adapters.object_stores import S3ObjectStore
from lorebase.workspace_config import VectorStoreConfig
from tests.fakes.milvus_server import MilvusServer
from tests.fakes.seaweedfs import S3_KEY, S3_SECRET, SeaweedServer, free_port

__all__ = ["S3_KEY", "S3_SECRET", "free_port"]  # other suites take them from here

# No test judges time: on a busy machine an example may take as long as it takes.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell lets what it runs in the background ignore SIGINT, and so would all processes that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let Prefect's background clients leave their connections to the garbage collector, whichever test it runs in."""
    if "prefect" in sys.modules:
        warnings.filterwarnings("ignore", message="unclosed", category=ResourceWarning)


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a SeaweedFS S3 endpoint on loopback."""
    server = SeaweedServer(tmp_path_factory.mktemp("seaweedfs"))
    try:
        server.start()
        yield server.url
    finally:
        server.kill()


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """A Milvus server on loopback that a test may kill, if it starts it again."""
    server = MilvusServer(tmp_path_factory.mktemp("milvus"))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def milvus(request: pytest.FixtureRequest) -> VectorStoreConfig:
    """Where a Milvus server is: the one that the environment names, or else one of ours."""
    uri = os.environ.get("LOREBASE_TEST_MILVUS_URI")
    if uri:
        return VectorStoreConfig(uri=uri, token=SecretStr(os.environ.get("LOREBASE_TEST_MILVUS_TOKEN", "")))
    return VectorStoreConfig(uri=request.getfixturevalue("milvus_server").uri)


@pytest.fixture
def s3_store(seaweedfs: str) -> Iterator[S3ObjectStore]:
    """An empty bucket of SeaweedFS."""
    store = S3ObjectStore(f"b{uuid4().hex[:12]}", "root", endpoint_url=seaweedfs, key=S3_KEY, secret=S3_SECRET)
    store.make_bucket()
    yield store
    store.close()
