"""Checks run side by side, within a deadline, and tell no secret."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from lorebase.diagnosis.model import Finding
from lorebase.diagnosis.ports import Check
from lorebase.diagnosis.running import diagnose, in_daemon_thread
from lorebase.errors import ConfigurationError, LorebaseError, RefusedError, UnavailableError


def _raising(error: LorebaseError) -> Check:
    async def look() -> Sequence[Finding]:
        raise error

    return Check("it", look)


async def test_a_check_that_never_ends_fails_alone() -> None:
    release = threading.Event()

    async def hang() -> Sequence[Finding]:
        await in_daemon_thread(lambda: release.wait(60))
        return []

    async def answer() -> Sequence[Finding]:
        return [Finding.ok("quick", "here.")]

    found = await diagnose([Check("slow", hang), Check("quick", answer)], deadline_seconds=0.05)
    release.set()

    assert [(finding.check, finding.status, finding.cause) for finding in found.findings] == [
        ("slow", "failed", "unavailable"),
        ("quick", "ok", ""),
    ]
    assert "0.05 seconds" in found.findings[0].message


async def test_checks_run_side_by_side() -> None:
    met = asyncio.Barrier(2)

    async def meet() -> Sequence[Finding]:
        await met.wait()
        return [Finding.ok("met", "both were there.")]

    found = await diagnose([Check("one", meet), Check("other", meet)], deadline_seconds=20)

    assert found.status == "ok"


async def test_an_absent_service_is_unavailable_and_one_that_refuses_is_misconfigured() -> None:
    absent = await diagnose([_raising(UnavailableError("It is gone.", remedy="Start it."))])
    refusing = await diagnose([_raising(RefusedError("It wants a key.")), _raising(UnavailableError("It is gone."))])
    faulty = await diagnose([_raising(ConfigurationError("It is no address."))])

    assert (absent.cause, absent.findings[0].remedy) == ("unavailable", "Start it.")
    assert refusing.cause == "configuration"
    assert faulty.cause == "configuration"


async def test_a_secret_never_leaves_a_diagnosis() -> None:
    error = UnavailableError("postgresql://user:p%40ss-密码@host failed.", remedy="Try p%40ss-密码 again.")

    found = await diagnose([_raising(error)], secrets=["p%40ss-密码", "", "a"])

    assert "p%40ss-密码" not in found.model_dump_json()
    assert found.findings[0].message == "postgresql://user:***@host failed."


async def test_the_error_of_blocking_work_reaches_who_waits() -> None:
    def fail() -> None:
        raise UnavailableError("It is gone.")

    found = await asyncio.gather(in_daemon_thread(fail), return_exceptions=True)

    assert [type(error) for error in found] == [UnavailableError]


async def test_the_last_line_counts_what_is_wrong() -> None:
    well = await diagnose([])
    ill = await diagnose([_raising(UnavailableError("It is gone."))])

    assert list(well.lines()) == ["0 checks: all is well."]
    assert list(ill.lines())[-1] == "1 checks: 1 failed, 0 to look at."
