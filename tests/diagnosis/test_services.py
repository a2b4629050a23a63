"""What the checks of services make of their answers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import SecretStr

from lorebase.diagnosis.ports import PrefectAddress
from lorebase.diagnosis.services import check_docling, check_endpoint, check_prefect, check_store_clock
from lorebase.errors import UnavailableError
from lorebase.models.settings import EndpointConfig
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.service_probe import ScriptedProbe

CLOCK = FixedClock()
ADDRESS = PrefectAddress("http://127.0.0.1:4200/api", {"Authorization": "Bearer k"}, "3.9.1")
ENDPOINT = EndpointConfig(base_url="http://127.0.0.1:1/v1", api_key=SecretStr("never-shown"))


def probe(**answers: tuple[int, str]) -> ScriptedProbe:
    return ScriptedProbe(CLOCK.now(), **answers)


@pytest.mark.parametrize(
    ("status", "expected", "cause"),
    [(200, "ok", ""), (404, "ok", ""), (401, "failed", "configuration"), (503, "failed", "unavailable")],
)
async def test_an_endpoint_is_judged_by_what_it_says_to_its_key(status: int, expected: str, cause: str) -> None:
    asked = probe(models=(status, "{}"))

    (finding,) = await check_endpoint(asked, "openai", ENDPOINT)

    assert (finding.status, finding.cause) == (expected, cause)
    assert asked.headers == [{"Authorization": "Bearer never-shown"}]
    assert "never-shown" not in finding.model_dump_json()


async def test_prefect_that_is_set_up_is_well() -> None:
    asked = probe(version=(200, '"3.9.4"'), lorebase_workspace=(200, "{}"), lorebase=(200, "{}"))

    findings = await check_prefect(asked, ADDRESS, CLOCK)

    assert [finding.status for finding in findings] == ["ok", "ok", "ok", "ok"]
    assert all(headers == ADDRESS.headers for headers in asked.headers)


async def test_a_prefect_server_without_our_blocks_says_how_they_come_there() -> None:
    asked = probe(version=(200, '"3.8.0"'), lorebase_workspace=(404, "{}"), lorebase=(404, "{}"))

    findings = await check_prefect(asked, ADDRESS, CLOCK)

    assert [finding.status for finding in findings] == ["warning", "ok", "warning", "warning"]
    assert findings[2].remedy == "Run `lorebase blocks register`."


async def test_the_page_of_a_ui_is_no_api() -> None:
    (finding,) = await check_prefect(probe(version=(200, "<!doctype html>")), ADDRESS, CLOCK)

    assert (finding.status, finding.cause) == ("failed", "unavailable")
    assert "/api" in finding.remedy


async def test_prefect_that_refuses_us_is_a_fault_of_the_configuration() -> None:
    (finding,) = await check_prefect(probe(version=(401, "")), ADDRESS, CLOCK)

    assert (finding.status, finding.cause) == ("failed", "configuration")


async def test_without_an_address_builds_have_a_server_of_their_own() -> None:
    (finding,) = await check_prefect(probe(), None, CLOCK)

    assert finding.status == "ok"


async def test_the_stores_clock_is_read_from_its_date() -> None:
    asked = ScriptedProbe(CLOCK.now() - timedelta(seconds=40), store=(403, ""))

    reached, clock = await check_store_clock(asked, "http://127.0.0.1:1/store", CLOCK)

    assert (reached.status, clock.status) == ("ok", "failed")
    assert "40 seconds behind" in clock.message


async def test_docling_that_is_gone_raises_for_the_runner() -> None:
    with pytest.raises(UnavailableError):
        await check_docling(probe(), "http://127.0.0.1:1")
