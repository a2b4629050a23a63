"""Searches take turns."""

from __future__ import annotations

import asyncio
from pathlib import Path

from apps.api.services import opened_services
from apps.api.settings import ApiSettings
from tests.fakes.workspace import FakeWorkspace


async def test_no_more_searches_run_at_once_than_the_operator_says(tmp_path: Path) -> None:
    now, most = 0, 0

    async def search() -> None:
        nonlocal now, most
        async with services.searching():
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

    settings = ApiSettings(insecure_development=True, searches_at_once=2)
    async with opened_services(FakeWorkspace(tmp_path), settings) as services:
        await asyncio.gather(*(search() for _ in range(9)))

    assert most == 2
