"""Checks of services over HTTP: the object store's clock, model endpoints, document conversion, Prefect's API."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lorebase.clock import Clock
from lorebase.diagnosis.model import Finding
from lorebase.diagnosis.ports import HttpAnswer, PrefectAddress, ServiceProbe
from lorebase.diagnosis.stores import check_clock
from lorebase.models.settings import EndpointConfig

FETCH_SECONDS = 10.0
WORK_POOL = "lorebase"
_REGISTER = "Run `lorebase blocks register`."


async def check_store_clock(probe: ServiceProbe, url: str, clock: Clock) -> Sequence[Finding]:
    """Whether the object store's clock, by its `Date`, agrees with ours."""
    answer = await probe.fetch(url, {}, FETCH_SECONDS)
    reached = Finding.ok("object store: reachable", f"{answer.server or 'a server'} at {url}.", server=answer.server)
    return [reached, check_clock("object store: clock", answer, _seconds_ahead(clock, answer))]


async def check_endpoint(probe: ServiceProbe, name: str, config: EndpointConfig) -> Sequence[Finding]:
    """Whether a model endpoint answers and takes its key. Nothing is spent: it is asked for its list of models."""
    key = config.api_key.get_secret_value() if config.api_key else ""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    answer = await probe.fetch(f"{config.base_url}/models", headers, FETCH_SECONDS)
    return [_endpoint_finding(f"endpoint {name}", config.base_url, answer)]


def _endpoint_finding(check: str, base_url: str, answer: HttpAnswer) -> Finding:
    if answer.status in {401, 403}:
        return Finding.misconfigured(
            check, f"{base_url} refused the key ({answer.status}).", "Set the endpoint's api_key in the workspace file."
        )
    if answer.status in {404, 405}:  # many servers have no list of models
        return Finding.ok(check, f"{base_url} answers; it lists no models.", status=answer.status)
    if answer.status >= 400:  # noqa: PLR2004 (HTTP's first error)
        return Finding.unavailable(
            check, f"{base_url} answers {answer.status}.", "Look at the endpoint's log, then try again."
        )
    return Finding.ok(check, f"{base_url} answers.", status=answer.status)


async def check_docling(probe: ServiceProbe, url: str) -> Sequence[Finding]:
    """Whether docling-serve answers."""
    answer = await probe.fetch(f"{url.rstrip('/')}/health", {}, FETCH_SECONDS)
    if answer.status >= 400:  # noqa: PLR2004 (as above)
        return [Finding.unavailable("docling", f"{url} answers {answer.status}.", "Look at the log of docling-serve.")]
    return [Finding.ok("docling", f"{url} answers.")]


async def check_prefect(probe: ServiceProbe, address: PrefectAddress | None, clock: Clock) -> Sequence[Finding]:
    """Whether Prefect's API answers and fits the installed version, and whether `lorebase blocks register` ran."""
    if address is None:
        said = "PREFECT_API_URL is not set: builds start the workspace's own server."
        return [Finding.ok("Prefect API", said)]
    answer = await probe.fetch(f"{address.url}/admin/version", address.headers, FETCH_SECONDS)
    if answer.status in {401, 403}:
        remedy = "Set PREFECT_API_KEY or PREFECT_API_AUTH_STRING."
        return [Finding.misconfigured("Prefect API", f"{address.url} refused us ({answer.status}).", remedy)]
    version = _text_of(answer)
    if answer.status >= 400 or not version:  # noqa: PLR2004 (as above)
        remedy = "PREFECT_API_URL is the address that ends in /api; look whether the server runs."
        return [Finding.unavailable("Prefect API", f"{address.url} answers {answer.status}.", remedy)]
    return [
        _version_finding(version, address.installed_version),
        check_clock("Prefect API: clock", answer, _seconds_ahead(clock, answer)),
        await _registered(probe, address, "Prefect API: block types", "block_types/slug/lorebase-workspace"),
        await _registered(probe, address, "Prefect API: work pool", f"work_pools/{WORK_POOL}"),
    ]


def _version_finding(version: str, installed: str) -> Finding:
    if version.split(".")[:2] != installed.split(".")[:2]:
        return Finding.warning(
            "Prefect API",
            f"the server is {version}, here is {installed}.",
            "Run the same minor version on the server, the workers and here.",
            version=version,
        )
    return Finding.ok("Prefect API", f"Prefect {version}.", version=version)


async def _registered(probe: ServiceProbe, address: PrefectAddress, check: str, path: str) -> Finding:
    answer = await probe.fetch(f"{address.url}/{path}", address.headers, FETCH_SECONDS)
    if answer.status == 404:  # noqa: PLR2004 (HTTP: not found)
        return Finding.warning(check, "not registered on this server.", _REGISTER)
    if answer.status >= 400:  # noqa: PLR2004 (as above)
        return Finding.unavailable(check, f"the API answers {answer.status}.", "Look at the server's log.")
    return Finding.ok(check, "registered.")


def _text_of(answer: HttpAnswer) -> str:
    """A JSON text; empty for anything else, such as the page of a UI."""
    try:
        value = json.loads(answer.text)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _seconds_ahead(clock: Clock, answer: HttpAnswer) -> float:
    return (clock.now() - answer.sent_at).total_seconds() if answer.sent_at else 0.0
