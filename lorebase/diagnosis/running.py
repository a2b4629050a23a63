"""Runs checks side by side, each with a deadline, and keeps secrets out of what they found."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from lorebase.diagnosis.model import Diagnosis, Finding
from lorebase.diagnosis.ports import Check
from lorebase.errors import DependencyError, LorebaseError, RefusedError

T = TypeVar("T")

DEADLINE_SECONDS = 20.0
_LEAST_SECRET_CHARS = 4
"""A shorter text would be cut out of words that are no secret."""

_MASK = "***"


async def diagnose(
    checks: Sequence[Check], *, secrets: Iterable[str] = (), deadline_seconds: float = DEADLINE_SECONDS
) -> Diagnosis:
    """What all checks found, in their order.

    Args:
        checks: Run side by side; one that fails leaves the others alone.
        secrets: Texts that are replaced by asterisks wherever a finding holds them.
        deadline_seconds: Longest time of each.
    """
    found = await asyncio.gather(*(_looked(check, deadline_seconds) for check in checks))
    hidden = sorted({text for text in secrets if len(text) >= _LEAST_SECRET_CHARS}, key=len, reverse=True)
    return Diagnosis.of([_without(finding, hidden) for findings in found for finding in findings])


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """The result of blocking work. Who stops waiting for it, or ends the process, is not held up by it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # without an error there is a result of that type

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 (goes to who waits, whatever it is)
            _tell(loop, settle, None, error)
        else:
            _tell(loop, settle, result, None)

    threading.Thread(target=run, name="diagnosis", daemon=True).start()
    return await future


def _tell(
    loop: asyncio.AbstractEventLoop,
    settle: Callable[[T | None, BaseException | None], None],
    result: T | None,
    error: BaseException | None,
) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(settle, result, error)


async def _looked(check: Check, deadline_seconds: float) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(deadline_seconds):
            return await check.look()
    except TimeoutError:
        return [
            Finding.unavailable(
                check.name,
                f"no answer within {deadline_seconds:g} seconds.",
                "Check that it runs, and that this machine reaches it.",
            )
        ]
    except LorebaseError as error:
        return [finding_of(check.name, error)]


def finding_of(check: str, error: LorebaseError) -> Finding:
    """The finding for an error: a service that refuses us is a fault of the configuration."""
    is_absent = isinstance(error, DependencyError) and not isinstance(error, RefusedError)
    make = Finding.unavailable if is_absent else Finding.misconfigured
    return make(check, error.message, error.remedy, code=error.code)


def _without(finding: Finding, secrets: Sequence[str]) -> Finding:
    return finding.model_copy(
        update={
            "message": _masked(finding.message, secrets),
            "remedy": _masked(finding.remedy, secrets),
            "facts": {
                name: _masked(value, secrets) if isinstance(value, str) else value
                for name, value in finding.facts.items()
            },
        }
    )


def _masked(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _MASK)
    return text
