"""Real processes that do the same thing at the same moment, each with its own connection."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lorebase.adapters.databases import open_database
from lorebase.errors import LorebaseError
from lorebase.governance.context import PrincipalContext
from lorebase.governance.drafts import DraftFields
from lorebase.governance.migrating import migrate
from lorebase.governance.service import Governance
from lorebase.governance.states import Command
from lorebase.governance.store import revision_of
from tests.governance.world import HandClock, caller, services

Action = Callable[[Governance, PrincipalContext, Any], Any]


def approve(governance: Governance, context: PrincipalContext, given: Any) -> str:
    revision_id, version = given
    return governance.review.approve(context, revision_id, version=version).reviewed_by


def create_draft(governance: Governance, context: PrincipalContext, item_id: Any) -> str:
    return str(governance.drafts.create(context, item_id, DraftFields(description=context.user_id)).id)


def create_item(governance: Governance, context: PrincipalContext, key: Any) -> str:
    return str(governance.items.create(context, base_id="handbook", knowledge_key=key, title=context.user_id).id)


def start_processing(governance: Governance, context: PrincipalContext, given: Any) -> str:
    revision_ids, version, key = given
    target = revision_ids[int(context.user_id[-1]) % len(revision_ids)]
    return str(governance.processing.start(context, target, version=version, idempotency_key=key).id)


def publish(governance: Governance, context: PrincipalContext, given: Any) -> str:
    revision_ids, version = given
    target = revision_ids[int(context.user_id[-1]) % len(revision_ids)]
    done = governance.releases.switch(context, target, Command.PUBLISH, expected_version=version)
    return str(done.release.active_revision_id)


def claim_all(governance: Governance, context: PrincipalContext, count: Any) -> str:
    """Claim until there is nothing left; the ids of what was claimed."""
    del count
    claimed = []
    while (task := governance.tasks.claim(context.user_id)) is not None:
        claimed.append(f"{task.id}")
    return " ".join(claimed)


def race(url: str, folder: Path, action: Action, given: object, *, runners: int = 4) -> list[tuple[str, str]]:
    """What each process got: ("done", result) or (error code, message), in the order of their numbers."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # what all of them import is imported once
    barrier, answers = context.Barrier(runners), context.Queue()
    started = [
        context.Process(target=_run, args=(url, folder, action, given, number, barrier, answers))
        for number in range(runners)
    ]
    for process in started:
        process.start()
    found = dict(answers.get(timeout=120) for _ in started)
    for process in started:
        process.join()
    return [found[number] for number in range(runners)]


def _run(url: str, folder: Path, action: Action, given: object, number: int, barrier: Any, answers: Any) -> None:
    database = open_database(url)
    governance = services(database, folder, HandClock(), worker=10 + number)
    governance.items.list(caller())  # the connection is open before the start
    barrier.wait(timeout=100)
    try:
        answers.put((number, ("done", action(governance, caller(f"runner-{number}"), given))))
    except LorebaseError as error:
        answers.put((number, (error.code, error.message)))
    finally:
        database.close()


def race_to_migrate(url: str, *, runners: int = 4) -> list[str]:
    """What each process got when all of them opened an empty database at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    barrier, answers = context.Barrier(runners), context.Queue()
    started = [context.Process(target=_migrate, args=(url, barrier, answers)) for _ in range(runners)]
    for process in started:
        process.start()
    found = [answers.get(timeout=120) for _ in started]
    for process in started:
        process.join()
    return sorted(found)


def _migrate(url: str, barrier: Any, answers: Any) -> None:
    database = open_database(url)
    barrier.wait(timeout=100)
    try:
        answers.put(str(migrate(database)))
    except Exception as error:  # noqa: BLE001 (whatever it is, the test shall see it)
        answers.put(repr(error))
    finally:
        database.close()


def hold_transaction(url: str, folder: Path, revision_id: int, connection: Any) -> None:
    """Approve a revision, tell so before the commit, and stand still."""
    governance = services(open_database(url), folder, HandClock(), worker=99)
    context = caller("doomed")
    with governance.store.database.transaction() as transaction:
        revision = revision_of(transaction, context, revision_id, lock=True)
        governance.store.change_revision(transaction, context, revision, Command.APPROVE, reason="never")
        connection.send("changed")
        time.sleep(600)


def kill_in_transaction(url: str, folder: Path, revision_id: int) -> None:
    """Run `hold_transaction` in a process and kill it there."""
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=hold_transaction, args=(url, folder, revision_id, theirs))
    process.start()
    assert ours.poll(120)
    process.kill()
    process.join()
