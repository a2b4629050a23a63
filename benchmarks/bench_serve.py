"""What `lorebase serve` bears: many clients that retrieve while a build and publishes go on.

    python -m benchmarks.bench_serve [--seconds 30] [--clients 50] [--items 40]

Makes a governed base of FAQ items with the embedded local model and the embedded index, publishes them, and starts a
server as a process of its own. Clients ask it for evidence without a pause; meanwhile one item is taken offline and
published again without end, and another base is built again and again by `lorebase build`. Prints requests a second,
percentiles of the time to the answer, answers by status, and the server's memory over time. All of them share the
machine: read the figures beside each other.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import socket
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import BinaryIO

import httpx

from lorebase.governance.context import ALL_CAPABILITIES, PrincipalContext
from lorebase.governance.drafts import DraftFields
from lorebase.governance.model import FaqEntry, Revision
from lorebase.governed_knowledge import GovernedKnowledge
from lorebase.workspace import Workspace

BASE = "served"
SECRET = "a-secret-of-the-benchmark"  # noqa: S105 (of a server that lives for a minute)
AUTHOR = PrincipalContext(organ_id=1, user_id="author", capabilities=ALL_CAPABILITIES)
REVIEWER = AUTHOR.model_copy(update={"user_id": "reviewer"})
HEADERS = {
    "X-API-SECRET": SECRET,
    "X-ORGAN-ID": "1",
    "X-USER-ID": "bench",
    "X-CAPABILITIES": "knowledge.read knowledge.publish",
}
RECIPE = """
name: built
sources: [{folder: documents}]
models: {embedding: {provider: local}}
procedures: [{use: hybrid_index, with: {max_tokens: 120}}]
"""
_FAULT = re.compile(r"request \S+: (.+)")
TOPICS = ("travel", "parking", "training", "laptops", "holidays", "visitors", "phones", "expenses")
THINGS = ("form", "deadline", "manager", "budget", "request", "receipt", "exception", "report")


@dataclass
class Measured:
    """What the clients saw.

    Attributes:
        seconds: Time to each answer.
        statuses: Answers by status; failures of the connection by name.
        faults: What the server's log says of requests that it could not serve.
        memory_bytes: Resident memory of the server and its children, once a second.
    """

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    memory_bytes: list[int] = field(default_factory=list)
    switches: int = 0
    builds: int = 0


async def published(workspace: Workspace, items: int) -> list[Revision]:
    """A governed base of so many live items."""
    async with await GovernedKnowledge.open(workspace) as knowledge:
        governance = knowledge.governance
        for number in range(items):
            item = governance.items.create(
                AUTHOR, base_id=BASE, knowledge_key=f"k{number}", title=f"{TOPICS[number % 8]} {number}"
            )
            draft = governance.drafts.create(AUTHOR, item.id, DraftFields(tags=[TOPICS[number % 8]]))
            filled = governance.drafts.set_faq(AUTHOR, draft.id, _entries(number), version=draft.version)
            asked = governance.review.submit(AUTHOR, draft.id, version=filled.version)
            passed = governance.review.approve(REVIEWER, draft.id, version=asked.version)
            governance.processing.start(AUTHOR, draft.id, version=passed.version, idempotency_key=f"p{number}")
        await knowledge.worker("bench").run_due(items)
        revisions = governance.revisions.list(AUTHOR, page_size=100).records
        for revision in revisions:
            await knowledge.publishing.publish(AUTHOR, revision.id, expected_version=0)
        return list(revisions)


def _entries(number: int) -> list[FaqEntry]:
    topic = TOPICS[number % 8]
    return [
        FaqEntry(
            question=f"What is the {thing} for {topic} in case {number}?",
            answer=f"The {thing} for {topic} number {number} is kept by office {number} for {place + 1} days.",
        )
        for place, thing in enumerate(THINGS)
    ]


async def ask_without_pause(client: httpx.AsyncClient, until: float, measured: Measured, seed: int) -> None:
    """One client."""
    source = random.Random(seed)
    while time.perf_counter() < until:
        query = f"What is the {source.choice(THINGS)} for {source.choice(TOPICS)}?"
        begun = time.perf_counter()
        try:
            answer = await client.post("/v1/retrieval", json={"base_id": BASE, "query": query}, headers=HEADERS)
        except httpx.TransportError as error:
            measured.statuses[type(error).__name__] += 1
            continue
        measured.seconds.append(time.perf_counter() - begun)
        measured.statuses[f"{answer.status_code} {answer.json().get('code', '')}".strip()] += 1


async def switch_without_end(client: httpx.AsyncClient, revision: Revision, until: float, measured: Measured) -> None:
    """Take an item offline and roll it back, again and again."""
    version = 1
    for turn in count():
        if time.perf_counter() > until:
            return
        path = f"/v1/revisions/{revision.id}/rollback" if turn % 2 else f"/v1/items/{revision.item_id}/offline"
        answer = await client.post(path, json={"expected_version": version}, headers=HEADERS)
        answer.raise_for_status()
        version = answer.json()["release"]["version"]
        measured.switches += 1


async def build_without_end(folder: Path, until: float, measured: Measured) -> None:
    """Build another base of the workspace in processes of their own."""
    (folder / "documents").mkdir()
    for number in range(20):
        text = "\n\n".join(f"## {thing}\n\n{'office hours and rules ' * 12}{number}" for thing in THINGS)
        (folder / "documents" / f"{number}.md").write_text(text)
    (folder / "recipe.yaml").write_text(RECIPE)
    while time.perf_counter() < until:
        process = await _lorebase(
            "build", str(folder / "recipe.yaml"), "--executor", "inline", "--rebuild", "-w", str(folder / "workspace")
        )
        if await process.wait():
            measured.statuses["build failed"] += 1
        measured.builds += 1


async def watch_memory(server: Process, until: float, measured: Measured) -> None:
    """Resident memory of the server and of the embedded index below it."""
    while time.perf_counter() < until:
        measured.memory_bytes.append(sum(_resident_bytes(pid) for pid in _family(server.pid)))
        await asyncio.sleep(1)


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return [pid]
    return [pid, *(member for child in children for member in _family(int(child)))]


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


async def _lorebase(*arguments: str, log: BinaryIO | None = None) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "apps.cli.main", *arguments,
        env=os.environ | {"LOREBASE_API_SECRET": SECRET}, stdout=DEVNULL, stderr=log or DEVNULL,
    )  # fmt: skip


async def run(folder: Path, *, seconds: float, clients: int, items: int) -> None:
    """Prepare, serve, ask, print."""
    revisions = await published(Workspace.load(folder / "workspace"), items)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (folder / "log").open("wb") as log:
        server = await _lorebase("serve", "--port", str(port), "-w", str(folder / "workspace"), log=log)
    limits = httpx.Limits(max_connections=clients + 2)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits) as client:
            await _until_ready(client)
            measured = Measured()
            until = time.perf_counter() + seconds
            await asyncio.gather(
                *(ask_without_pause(client, until, measured, seed) for seed in range(clients)),
                switch_without_end(client, revisions[0], until, measured),
                build_without_end(folder, until, measured),
                watch_memory(server, until, measured),
            )
    finally:
        server.send_signal(signal.SIGTERM)
        await server.wait()
    measured.faults.update(_FAULT.findall((folder / "log").read_text()))
    show(measured, seconds, clients)


async def _until_ready(client: httpx.AsyncClient) -> None:
    for _try in range(300):
        try:
            await client.post("/v1/retrieval", json={"base_id": BASE, "query": "warm up"}, headers=HEADERS)
        except httpx.TransportError:
            await asyncio.sleep(0.2)
        else:
            return
    raise TimeoutError


def show(measured: Measured, seconds: float, clients: int) -> None:
    """Print."""
    cuts = statistics.quantiles(measured.seconds, n=100)
    memory = [round(taken / (1 << 20)) for taken in measured.memory_bytes]
    print(f"{clients} clients for {seconds:g} s: {len(measured.seconds) / seconds:.0f} answers/s")
    print(f"p50 {cuts[49] * 1000:.0f} ms, p95 {cuts[94] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms")
    print(f"answers: {dict(measured.statuses)}; {measured.switches} switches, {measured.builds} builds beside them")
    for said, times in measured.faults.most_common():
        print(f"  {times} times {said}")
    print(f"memory MB, once a second: {memory}")


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--items", type=int, default=40, help="At most 100.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder), seconds=options.seconds, clients=options.clients, items=options.items))


if __name__ == "__main__":
    main()
