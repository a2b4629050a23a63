"""Checks of what keeps things: the object store, the indexes, the database, the local folders."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np

from lorebase.artifacts.lease import require_conditional_writes
from lorebase.artifacts.store import ObjectStore
from lorebase.diagnosis.model import Finding
from lorebase.diagnosis.ports import DiagnosedWorkspace, HttpAnswer, Places, ServiceProbe
from lorebase.diagnosis.running import in_daemon_thread
from lorebase.errors import ConfigurationError, CorruptObjectError
from lorebase.index.ports import EntityFields, Equals, IndexStore, TextEntity, VectorEntity
from lorebase.registry.former_file import left_behind_message

PROBE_PREFIX = "lorebase-doctor"
SKEW_ALLOWED = timedelta(seconds=15)
"""Clocks further apart put runs into a wrong order. No lease depends on them."""

SKEW_NOTED = timedelta(seconds=5)
LEAST_FREE_BYTES = 100 << 20
ENOUGH_FREE_BYTES = 2 << 30
_PROBE_WIDTH = 8


async def check_object_store(store: ObjectStore, probe_id: str, folder: Path | None) -> Sequence[Finding]:
    """Write, read, list and delete a probe object; then whether conditions of writes are kept.

    Args:
        store: The store.
        probe_id: Part of the probe's key that nobody else uses.
        folder: The store's folder, where it is one; nothing is written while that does not exist.
    """
    if folder is not None and not await asyncio.to_thread(folder.exists):
        return [Finding.ok("object store", f"the folder {folder}, made with its first object.")]
    await in_daemon_thread(lambda: _use(store, f"{PROBE_PREFIX}/{probe_id}"))
    await in_daemon_thread(lambda: require_conditional_writes(store, PROBE_PREFIX))
    kind = f"the folder {folder}" if folder is not None else "S3"
    return [
        Finding.ok("object store: permissions", f"{kind}; a probe object was written, read, listed and deleted."),
        Finding.ok("object store: conditional writes", "honoured: only one of two builds gets a lease."),
    ]


def _use(store: ObjectStore, key: str) -> None:
    content = f"probe 探针 {key}".encode()
    try:
        store.put(key, content)
        if store.get(key) != content or key not in store.list(PROBE_PREFIX):
            raise CorruptObjectError(
                f"The object store gives back {key!r} otherwise than it was written.",
                remedy="Look for a proxy or a cache between this machine and the store.",
            )
    finally:
        store.delete([key])


def check_clock(check: str, answer: HttpAnswer, now_seconds_ahead: float) -> Finding:
    """Whether a service's clock and ours agree.

    Args:
        check: What the finding is called.
        answer: The service's answer.
        now_seconds_ahead: Our clock minus the service's, in seconds.
    """
    if answer.sent_at is None:
        return Finding.warning(
            check, "it tells no time.", "Make sure that all machines that build take their time from one source (NTP)."
        )
    apart = abs(now_seconds_ahead)
    said = f"{apart:.0f} seconds {'behind' if now_seconds_ahead > 0 else 'ahead of'} ours"
    if apart >= SKEW_ALLOWED.total_seconds():
        return Finding.misconfigured(
            check,
            f"{said}: times of runs would be wrong, and S3 refuses whoever is 15 minutes off.",
            "Set the clocks of both machines by NTP.",
            seconds=round(now_seconds_ahead, 1),
        )
    if apart >= SKEW_NOTED.total_seconds():
        return Finding.warning(check, f"{said}.", "Set the clocks of both machines by NTP.", seconds=apart)
    return Finding.ok(check, f"within {SKEW_NOTED.total_seconds():.0f} seconds of ours.")


async def check_index(store: IndexStore, probe: ServiceProbe, places: Places, base_name: str) -> Sequence[Finding]:
    """Make an index, write, count and drop it.

    Args:
        store: The store; a server's, or one over a folder of its own for a probe.
        probe: Asks the version.
        places: Where the server is.
        base_name: Name for the probe's collections that nobody else uses.
    """
    version = "embedded"
    if places.vector_store_uri:
        version = await probe.milvus_version(places.vector_store_uri, places.vector_store_token)
    entity = EntityFields(chunk_id="probe", document_id="probe", revision_id="probe", base_id=base_name)
    vectors, words = store.vectors(base_name, "probe", _PROBE_WIDTH), store.lexical(base_name)
    where = (Equals("chunk_id", "probe"),)
    without_words: ConfigurationError | None = None
    try:
        await vectors.upsert([VectorEntity(entity, np.eye(1, _PROBE_WIDTH, dtype=np.float32)[0])])
        counted = [await vectors.count(where)]
        try:
            await words.upsert([TextEntity(entity, "probe 探针")])
            counted.append(await words.count(where))
        except ConfigurationError as error:
            without_words = error
    finally:
        await vectors.drop()
        await words.drop()
        await store.close()
    if set(counted) != {1}:
        return [
            Finding.unavailable(
                "index store", f"Milvus {version} does not count what was just written: {counted}.", "Look at its log."
            )
        ]
    made = "a vector and a text collection were" if without_words is None else "a vector collection was"
    findings = [
        Finding.ok("index store", f"Milvus {version}; {made} made, written, read and dropped.", version=version)
    ]
    if without_words is not None:
        findings.append(Finding.warning("index store: full text", without_words.message, without_words.remedy))
    return findings


async def check_database(probe: ServiceProbe, places: Places, probe_id: str) -> Sequence[Finding]:
    """Make a table, write, read and delete a row, drop the table; an embedded database is not made for it."""
    if not places.database_url:
        return [Finding.ok("database", "embedded SQLite files in the workspace's folder, made when first needed.")]
    table = f"lorebase_doctor_{probe_id}"
    answer = await in_daemon_thread(lambda: probe.try_database(places.database_url, table))
    return [
        Finding.ok(
            "database",
            f"{answer.product} {answer.version}; a probe table was made, written, read and dropped.",
            version=answer.version,
        )
    ]


async def check_registry(workspace: DiagnosedWorkspace) -> Sequence[Finding]:
    """Whether the registry file in the folder holds bases that the registry, which is elsewhere, does not know."""
    former = workspace.former_registry
    left = await in_daemon_thread(workspace.left_behind_bases) if former is not None else ()
    if former is None or not left:
        return [Finding.ok("registry", "no base is left behind in a former registry file.")]
    message, remedy = left_behind_message(former, left)
    return [Finding.warning("registry", message, remedy, left_behind=len(left))]


async def check_governance(workspace: DiagnosedWorkspace) -> Sequence[Finding]:
    """Whether the database file in the folder holds governed topics that the database, which is another, does not."""
    left = await in_daemon_thread(workspace.topics_left_behind)
    if left is None:
        return [Finding.ok("governed knowledge", "no topic is left behind in a former database file.")]
    return [Finding.warning("governed knowledge", left.message, left.remedy, left_behind=left.topics)]


async def check_folder(name: str, folder: Path) -> Sequence[Finding]:
    """Whether a folder, or the one it would be made in, can be written to and has room."""
    return await in_daemon_thread(lambda: [_folder_finding(name, folder)])


def _folder_finding(name: str, folder: Path) -> Finding:
    check = f"folder: {name}"
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding.misconfigured(
            check, f"{there} is no folder that can be written to.", "Change its owner, or name another folder."
        )
    if not _takes_a_file(there):
        return Finding.misconfigured(check, f"{there} takes no files.", "Mount it for writing, or name another folder.")
    free = shutil.disk_usage(there).free
    said = f"{free / (1 << 30):.1f} GiB free in {folder}"
    if free < LEAST_FREE_BYTES:
        return Finding.misconfigured(check, f"{said}.", "Make room: `lorebase gc NAME --apply` frees old snapshots.")
    if free < ENOUGH_FREE_BYTES:
        return Finding.warning(check, f"{said}.", "Make room before a large build.", free_bytes=free)
    return Finding.ok(check, f"{said}.", free_bytes=free)


def _takes_a_file(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=".lorebase-doctor-"):
            return True
    except OSError:
        return False
