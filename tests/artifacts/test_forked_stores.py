"""Object stores that a parent opened are used by its forked children: each of them opens what it needs anew."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore, S3ObjectStore
from lorebase.artifacts.store import ObjectStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

CHILDREN = 3
OBJECTS = 20


def _use(store: ObjectStore, number: int) -> None:
    """Every kind of request, many times; an error ends the child with another exit code than 0."""
    for place in range(OBJECTS):
        assert store.get("shared/of-parent") == b"parent"
        store.put(f"child-{number}/{place}", b"%d" % place)
        assert store.put_if(f"claimed-{number}/{place}", b"1", None)
    assert len(store.list(f"child-{number}")) == OBJECTS


def _exit_codes(store: ObjectStore, way: str) -> list[int | None]:
    processes = multiprocessing.get_context(way)
    children = [processes.Process(target=_use, args=(store, number)) for number in range(CHILDREN)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, which is what is tried here
        for child in children:
            child.start()
    for child in children:
        child.join(60)
        if child.exitcode is None:
            child.kill()
    return [child.exitcode for child in children]


def _opened(store: ObjectStore) -> ObjectStore:
    store.put("shared/of-parent", b"parent")
    assert store.put_if("shared/claimed", b"parent", None)
    return store


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_local_folder_serves_children_however_they_are_started(tmp_path: Path, way: str) -> None:
    assert _exit_codes(_opened(LocalObjectStore(tmp_path)), way) == [0] * CHILDREN


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_bucket_serves_children_however_they_are_started(s3_store: S3ObjectStore, way: str) -> None:
    """C120."""
    store = _opened(s3_store)

    codes = _exit_codes(store, way)

    assert codes == [0] * CHILDREN
    assert store.get("shared/of-parent") == b"parent"
    assert len(store.list("child-0")) == OBJECTS
