"""Many processes on one registry file: nothing is lost, and killing one never leaves it unreadable."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lorebase.registry.file_store import FileRegistryStore

UPDATE = """
import os, sys
from pathlib import Path
from lorebase.registry.file_store import FileRegistryStore
from tests.registry.opening import counted_up

store = FileRegistryStore(Path(sys.argv[1]))
for wave in range(4):
    for number in range(50 * wave, 50 * wave + 50):
        if os.fork() == 0:
            if number % 2:
                store.change("shared", counted_up)
            else:
                store.insert(f"base-{number}", {"id": f"base-{number}"})
            os._exit(0)
    if any([os.wait()[1] for _ in range(50)]):
        sys.exit("a process failed")
"""

DYING = """
import json, os, signal, sys
from pathlib import Path
from lorebase.registry.file_store import FileRegistryStore
from tests.registry.opening import counted_up

OPERATIONS = ("open", "os.rename", "os.link", "os.remove", "shutil.copyfile")

def die(event, arguments):
    global left
    if event in OPERATIONS and "knowledge-bases" in str(arguments):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

store, seen = FileRegistryStore(Path(sys.argv[1])), []
for left in range(40):
    child = os.fork()
    if child == 0:
        sys.addaudithook(die)
        store.change("shared", counted_up)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    read = store.read_all()
    seen.append({"status": status, "ids": sorted(read.by_id), "warnings": read.warnings})
    if status == 0:
        break
print(json.dumps(seen))
"""

FOREVER = """
import sys
from pathlib import Path
from lorebase.registry.file_store import FileRegistryStore
from tests.registry.opening import counted_up

store = FileRegistryStore(Path(sys.argv[1]))
while True:
    print(store.change("shared", counted_up), flush=True)
"""


def test_two_hundred_processes_update_one_registry_and_nothing_is_lost(store: FileRegistryStore) -> None:
    store.insert("shared", {"id": "shared"})

    done = subprocess.run([sys.executable, "-c", UPDATE, str(store.path)], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    read = store.read_all().by_id
    assert read["shared"]["description"] == "100"
    assert set(read) == {"shared", *(f"base-{number}" for number in range(0, 200, 2))}
    assert not store.read_all().warnings


def test_a_writer_killed_before_any_of_its_file_operations_leaves_a_complete_registry(
    store: FileRegistryStore,
) -> None:
    """DQ-19."""
    ids = ["base-1", "base-2", "shared"]
    for base_id in ids:
        store.insert(base_id, {"id": base_id})

    done = subprocess.run([sys.executable, "-c", DYING, str(store.path)], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    deaths = [moment["status"] for moment in seen[:-1]]
    counted = int(str(store.read_all().by_id["shared"]["description"]))
    assert seen[-1]["status"] == 0
    assert deaths == [-signal.SIGKILL] * len(deaths)
    assert len(deaths) >= 5
    assert all(moment["ids"] == ids and not moment["warnings"] for moment in seen)
    assert 1 <= counted <= len(seen)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_writer_killed_at_any_moment_loses_nothing_that_it_had_reported(
    store: FileRegistryStore, tmp_path: Path, seed: int
) -> None:
    """DQ-19."""
    store.insert("shared", {"id": "shared", "padding": "知识" * 200_000})
    with (tmp_path / "reported").open("w+") as reported:
        writer = subprocess.Popen([sys.executable, "-c", FOREVER, str(store.path)], stdout=reported)
        while not (tmp_path / "reported").read_text():
            time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0.0, 0.2))
        writer.kill()
        writer.wait()

    acknowledged = int((tmp_path / "reported").read_text().split()[-1])
    shared = store.read_all().by_id["shared"]
    assert acknowledged <= int(str(shared["description"])) <= acknowledged + 1
    assert len(str(shared["padding"])) == 400_000
    assert json.loads(store.backup.read_text())["bases"][0]["id"] == "shared"
    assert os.path.lexists(store.path)
