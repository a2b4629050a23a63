"""What a chaos trial needs: processes that can be killed, a counting model, and what an undisturbed build leaves."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random
from typing import Any

from lorebase import KnowledgeBase, Workspace
from lorebase.artifacts.kinds import CHUNKS, FULL_TEXT_INDEX, VECTOR_INDEX
from lorebase.artifacts.lease import read_lease
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout
from lorebase.fingerprint import sha256_of
from lorebase.index.ports import Equals
from tests.chaos.build_once import BuildOrder, run_order
from tests.chaos.corpus import BASE_NAME, BATCH_TEXTS, MAX_CONCURRENCY, QUERIES
from tests.fakes.openai_server import OpenAIServer

LAYOUT = BaseLayout(BASE_NAME)
MODES = ("vector_search", "full_text_search", "hybrid_search")

TEXTS_A_KILL_MAY_COST = MAX_CONCURRENCY * BATCH_TEXTS + BATCH_TEXTS
"""Requests under way, and one answered request whose segment is not written."""

HANGING_SECONDS = 600.0
"""A store that is gone keeps a client trying for about 20 seconds a call."""

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.chaos.build_once"])


@contextmanager
def started(order: BuildOrder) -> Iterator[ForkServerProcess]:
    """A build in a process of its own, forked from one that has everything imported and no thread; gone at the end."""
    process = _PROCESSES.Process(target=run_order, args=(order,))
    process.start()
    try:
        yield process
    finally:
        process.kill()  # also one that stands still, which would keep this process from ending
        process.join()
        process.close()


def run(order: BuildOrder, *, kill_after_seconds: float | None = None) -> int:
    """Build in a process of its own; returns its exit code, -9 where it was killed."""
    with started(order) as process:
        process.join(kill_after_seconds)
        if process.is_alive() and kill_after_seconds is not None:
            process.kill()
        return exit_code_of(process, str(order))


def exit_code_of(process: ForkServerProcess, what: str) -> int:
    """The exit code of a process that must end by itself."""
    process.join(HANGING_SECONDS)
    assert process.exitcode is not None, f"it hangs: {what}"
    return process.exitcode


@dataclass(frozen=True)
class Model:
    """The fake endpoint, in a process of its own, so that it goes on counting whoever is killed."""

    base_url: str

    def seen(self) -> Counter[str]:
        """How often each text was sent since it was started, by digest."""
        with urllib.request.urlopen(self.base_url.removesuffix("/v1") + "/_stats") as answer:  # noqa: S310 (our own server)
            return Counter(json.load(answer)["seen"])


@contextmanager
def running_model() -> Iterator[Model]:
    """A model endpoint; ends with the context."""
    ours, theirs = _PROCESSES.Pipe()
    process = _PROCESSES.Process(target=_serve, args=(theirs,))
    process.start()
    theirs.close()
    try:
        yield Model(ours.recv())
    finally:
        ours.close()
        process.kill()
        process.join()
        process.close()


def _serve(pipe: Connection) -> None:
    with OpenAIServer(latency_seconds=0.01, dimensions=32) as server:
        server._state.keep_bodies = False  # thousands of them, which nobody reads
        pipe.send(server.base_url)
        server.wait()


@dataclass(frozen=True)
class BuiltBase:
    """What a build left, in a form that two builds can be compared in.

    Attributes:
        manifests: Bytes of the manifest of each artifact.
        found: For each mode and query the chunk ids that a search gives, best first.
        chunk_ids: All chunks of the snapshot.
    """

    manifests: dict[str, bytes]
    found: dict[tuple[str, str], list[str]]
    chunk_ids: frozenset[str]


@dataclass(frozen=True)
class Edition:
    """One state of the documents with what an undisturbed build of it costs and leaves."""

    recipe: Path
    workspace: Path
    base: BuiltBase
    writes: int
    seconds: float
    sent: Counter[str]
    copies: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Switching:
    """A workspace whose next build only switches, with the writes which that takes, one line each."""

    workspace: Path
    writes: tuple[str, ...]


async def examine(workspace: Workspace) -> BuiltBase:
    """Read a finished base from end to end, and hold it to everything that must be true of one.

    Every manifest and object has the digest that its name says, nothing half written is an object, both indexes have
    exactly the chunks of the manifest searchable, and nobody holds the lease.
    """
    store = workspace.object_store
    snapshot = SnapshotStore(store, LAYOUT).require_live()
    manifests = {name: read_manifest(store, reference) for name, reference in snapshot.artifacts.items()}
    for name, manifest in manifests.items():
        assert manifest.fingerprint == snapshot.artifacts[name].fingerprint
        for entry in manifest.partitions:
            content = store.get(LAYOUT.object(entry.sha256))
            assert (sha256_of(content), len(content)) == (entry.sha256, entry.size_bytes), f"{name} {entry.index}"
    for key in store.list(LAYOUT.prefix):
        _check_whole(key, store.get(key))
    lease = read_lease(store, LAYOUT.lease)
    assert lease is not None
    assert lease.expires_at <= lease.acquired_at, f"the lease is still held: {lease}"
    try:
        await _check_indexes(workspace, snapshot, manifests)
    finally:
        await workspace.index_store.close()
    chunks = [
        chunk.chunk_id
        for entry in manifests[CHUNKS.name].partitions
        for chunk in read_partition(store, LAYOUT, CHUNKS, entry)
    ]
    async with KnowledgeBase.load(BASE_NAME, workspace) as base:
        found = {
            (mode, query): [one.chunk_id for one in (await base.query(query, mode=mode, top_k=8)).results]
            for mode in MODES
            for query in QUERIES
        }
    contents = {name: store.get(reference.manifest_key) for name, reference in snapshot.artifacts.items()}
    return BuiltBase(contents, found, frozenset(chunks))


def _check_whole(key: str, content: bytes) -> None:
    assert ".writing-" not in key
    name = key.rpartition("/")[2]
    if key.startswith(LAYOUT.objects):
        assert sha256_of(content) == name.removesuffix(".parquet"), key
    elif name.endswith(".json"):
        json.loads(content)
    elif name.endswith(".parquet"):
        assert (content[:4], content[-4:]) == (b"PAR1", b"PAR1"), key


async def _check_indexes(workspace: Workspace, snapshot: Any, manifests: dict[str, Any]) -> None:
    indexes = workspace.index_store
    vectors = indexes.vectors(BASE_NAME, snapshot.embedding_profile_id, snapshot.embedding_dimensions)
    for index, kind in ((vectors, VECTOR_INDEX), (indexes.lexical(BASE_NAME), FULL_TEXT_INDEX)):
        searchable = await index.count((Equals("searchable", value=True),))
        assert searchable == manifests[kind.name].rows, kind.name


@dataclass
class Trial:
    """One base that is built by processes which are killed, until one of them gets through.

    Attributes:
        seed: Decides every point at which a process dies; it stands in every failure message.
        first_kill: The write and the moment at which the first process dies; None draws them.
        killed_at: What each killed process was about to write.
    """

    seed: int
    order: BuildOrder
    edition: Edition
    kills: int = 0
    killed_at: list[str] = field(default_factory=list)

    def run(self, *, most_kills: int, first: BuildOrder | None = None, after_kill: Any = None) -> None:
        """Kill up to `most_kills` processes, then let one finish."""
        chance = Random(self.seed)
        while True:
            order = self._next_order(chance) if self.kills < most_kills else self.order
            if self.kills == 0 and first is not None:
                order = first
            by_clock = chance.uniform(0.05, self.edition.seconds) if order.kill_at < 0 else None
            code = run(replace(order, kill_at=max(order.kill_at, 0)), kill_after_seconds=by_clock)
            if code == 0:
                return
            assert code == -signal.SIGKILL, f"{self}: exit code {code}"
            self.kills += 1
            self.killed_at.append(_last_line(order.log))
            if after_kill is not None:
                after_kill()

    def _next_order(self, chance: Random) -> BuildOrder:
        """Three in four die at a write, the others by the clock (-1)."""
        at = chance.randint(1, self.edition.writes) if chance.random() < 0.75 else -1
        moment = chance.choice(("before", "half", "after"))
        return replace(self.order, kill_at=at, moment=moment, with_index_server=chance.random() < 0.3)

    def __str__(self) -> str:
        return f"seed {self.seed}, killed at {self.killed_at}, in {self.order.workspace}"


def _last_line(log: Path) -> str:
    lines = log.read_text().splitlines() if log.exists() else []
    return lines[-1] if lines else "nothing written yet"


def check_model_calls(trial: Trial, sent: Counter[str]) -> int:
    """Hold what was sent to its bound; returns how many texts were sent more often than an undisturbed build does.

    A text that stands in several documents may be sent once for each task run that works on a copy at that moment.
    """
    for text, times in sent.items():
        most = trial.edition.copies[text] * (1 + trial.kills)
        assert times <= most, f"{trial}: a text was sent {times} times, at most {most} may be"
    repeated = sent.total() - len(sent)
    copies = sum(count - 1 for count in trial.edition.copies.values())
    most = trial.kills * TEXTS_A_KILL_MAY_COST + copies * (1 + trial.kills)
    assert repeated <= most, f"{trial}: {repeated} texts were sent again, at most {most} may be"
    return max(0, repeated - copies)


def wait_until(condition: Any, *, seconds: float = 60.0) -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)


def is_stopped(pid: int) -> bool:
    """Whether a process stands still after SIGSTOP."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T" if os.name == "posix" else False
