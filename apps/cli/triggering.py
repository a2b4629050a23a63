"""Starting a deployment's run over Prefect's REST API and following it to its end: what CI does. Imports no Prefect."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

import httpx
import tenacity
from pydantic import BaseModel, ConfigDict

from apps.cli import exit_codes
from lorebase.errors import ConfigurationError, NotFoundError, RefusedError, UnavailableError, UsageError
from lorebase.runs.report import BuildReport

_CALL_SECONDS = 30.0
_ATTEMPTS = 20
"""How often a server that does not answer is asked: for a minute or two, longer than its restart takes."""

_POLL_SECONDS = 2.0
_RAISED = re.compile(r"exception: (\w+Error):")
"""Where the message of a failed state names what the flow raised: `... an exception: ConflictError: ...`."""

_FINAL = frozenset({"COMPLETED", "FAILED", "CRASHED", "CANCELLED"})
REPORT_SUFFIX = "-report"
"""End of the key of the artifact that holds a build's report; `flows.reporting` writes it."""


@dataclass(frozen=True, slots=True)
class PrefectApi:
    """Where the API is, and what it asks for.

    Attributes:
        url: Its address, ending in `/api`.
        headers: What every request carries.
    """

    url: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> PrefectApi:
        """The API that Prefect's own variables name.

        Raises:
            ConfigurationError: PREFECT_API_URL is not set.
        """
        url = variables.get("PREFECT_API_URL", "")
        if not url:
            raise ConfigurationError(
                "PREFECT_API_URL is not set.", remedy="Set it to the server's address, such as http://host:4200/api."
            )
        if key := variables.get("PREFECT_API_KEY"):
            return cls(url.rstrip("/"), {"Authorization": f"Bearer {key}"})
        if login := variables.get("PREFECT_API_AUTH_STRING"):
            return cls(url.rstrip("/"), {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"})
        return cls(url.rstrip("/"), {})


class TriggeredRun(BaseModel):
    """What became of a run.

    `outcome` is the name of Prefect's state, `report` is there for builds that came so far as to write one, and
    `exit_code` is that of the command.
    """

    model_config = ConfigDict(frozen=True)

    deployment: str
    flow_run_id: str
    flow_run_name: str
    url: str
    outcome: str
    message: str
    is_new: bool
    report: BuildReport | None = None
    exit_code: int


class DeploymentTrigger:
    """Starts runs of deployments and follows them.

    Args:
        api: The API.
        tell: Gets a line of text whenever a run's state changes.
        sleep: Waits for some seconds.
        monotonic: Seconds that only grow.
    """

    def __init__(
        self,
        api: PrefectApi,
        *,
        tell: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._tell = tell
        self._sleep = sleep
        self._monotonic = monotonic

    def run(
        self,
        deployment: str,
        parameters: Mapping[str, Any],
        *,
        idempotency_key: str | None,
        wait_seconds: float | None,
    ) -> TriggeredRun:
        """Start a run and follow it.

        Args:
            deployment: `flow name/deployment name`.
            parameters: Laid over the deployment's own, object by object.
            idempotency_key: A second run with the same key is not started; the first one is followed.
            wait_seconds: How long to follow it; None does not wait.

        Raises:
            NotFoundError: There is no such deployment.
            UsageError: Prefect refuses the parameters.
            UnavailableError: The API does not answer.
        """
        with httpx.Client(base_url=self._api.url, headers=self._api.headers, timeout=_CALL_SECONDS) as client:
            found = self._deployment(client, deployment)
            body: dict[str, Any] = {"parameters": merged(found["parameters"], parameters)}
            if idempotency_key:
                body["idempotency_key"] = idempotency_key
            answer = self._call(client, "POST", f"/deployments/{found['id']}/create_flow_run", body)
            run = answer.json()
            is_new = answer.status_code == httpx.codes.CREATED
            self._tell(f"{'Started' if is_new else 'Following the run of this key:'} {run['name']} ({run['id']})")
            if wait_seconds is not None:
                run = self._followed(client, run, wait_seconds)
            return self._result(client, deployment, run, is_new=is_new, waited=wait_seconds is not None)

    def _deployment(self, client: httpx.Client, name: str) -> dict[str, Any]:
        flow, _, deployment = name.partition("/")
        if not flow or not deployment:
            raise UsageError(
                f"{name!r} names no deployment.", remedy="Write FLOW/DEPLOYMENT, as `prefect deployment ls`."
            )
        path = f"/deployments/name/{quote(flow, safe='')}/{quote(deployment, safe='')}"
        answer = self._call(client, "GET", path, None, missing=f"There is no deployment {name!r} at {self._api.url}.")
        return dict(answer.json())

    def _followed(self, client: httpx.Client, run: dict[str, Any], wait_seconds: float) -> dict[str, Any]:
        deadline = self._monotonic() + wait_seconds
        told = ""
        while True:
            state = run["state_name"] or "Pending"
            if state != told:
                self._tell(f"{run['name']}: {state}")
                told = state
            left = deadline - self._monotonic()
            if run["state_type"] in _FINAL or left <= 0:
                return run
            self._sleep(min(_POLL_SECONDS, left))
            run = self._call(client, "GET", f"/flow_runs/{run['id']}", None).json()

    def _result(
        self, client: httpx.Client, deployment: str, run: dict[str, Any], *, is_new: bool, waited: bool
    ) -> TriggeredRun:
        report = self._report(client, run["id"]) if run["state_type"] in _FINAL else None
        state = run.get("state") or {}
        return TriggeredRun(
            deployment=deployment,
            flow_run_id=run["id"],
            flow_run_name=run["name"],
            url=f"{self._api.url.removesuffix('/api')}/runs/flow-run/{run['id']}",
            outcome=run["state_name"] or "Pending",
            message=state.get("message") or "",
            is_new=is_new,
            report=report,
            exit_code=_exit_code(run["state_type"], state.get("message") or "", report, waited=waited),
        )

    def _report(self, client: httpx.Client, flow_run_id: str) -> BuildReport | None:
        selected = {"flow_runs": {"id": {"any_": [flow_run_id]}}, "artifacts": {"key": {"like_": f"%{REPORT_SUFFIX}"}}}
        found = self._call(client, "POST", "/artifacts/filter", selected).json()
        return BuildReport.model_validate_json(found[-1]["data"]) if found else None

    def _call(
        self,
        client: httpx.Client,
        method: Literal["GET", "POST"],
        path: str,
        body: Any,  # noqa: ANN401 (JSON)
        *,
        missing: str = "",
    ) -> httpx.Response:
        """An answer; a server that is being restarted is asked again. Starting a run without a key is asked once."""
        is_repeatable = method == "GET" or path.endswith("/filter") or "idempotency_key" in body
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(UnavailableError),
            stop=tenacity.stop_after_attempt(_ATTEMPTS if is_repeatable else 1),
            wait=tenacity.wait_random_exponential(multiplier=0.5, max=10),
            sleep=self._sleep,
            reraise=True,
        )
        return attempts(self._ask, client, method, path, body, missing)

    def _ask(
        self,
        client: httpx.Client,
        method: str,
        path: str,
        body: Any,  # noqa: ANN401 (JSON)
        missing: str,
    ) -> httpx.Response:
        try:
            answer = client.request(method, path, json=body)
        except httpx.TransportError as error:
            raise UnavailableError(
                f"The Prefect API at {self._api.url} does not answer ({type(error).__name__}: {error}).",
                remedy="Check PREFECT_API_URL and that the server runs.",
                dependency="prefect",
            ) from error
        _raise_for(answer, self._api.url, missing)
        return answer


def _raise_for(answer: httpx.Response, url: str, missing: str) -> None:
    if answer.is_success:
        return
    status = answer.status_code
    if status == httpx.codes.NOT_FOUND and missing:
        raise NotFoundError(missing, remedy="`prefect deployment ls` lists those there are.")
    if status in {httpx.codes.CONFLICT, httpx.codes.UNPROCESSABLE_ENTITY}:
        raise UsageError(f"Prefect refused the parameters: {_detail(answer)}", remedy="Look at the deployment's form.")
    if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        raise RefusedError(
            f"The Prefect API at {url} refused the call ({status}).",
            remedy="Check PREFECT_API_KEY or PREFECT_API_AUTH_STRING.",
            dependency="prefect",
        )
    if answer.is_server_error or status == httpx.codes.TOO_MANY_REQUESTS:
        raise UnavailableError(f"The Prefect API at {url} answered {status}.", dependency="prefect")
    raise RefusedError(f"The Prefect API at {url} answered {status}: {_detail(answer)}", dependency="prefect")


def _detail(answer: httpx.Response) -> str:
    try:
        body = answer.json()
    except json.JSONDecodeError:
        return answer.text[:300]
    found = body.get("detail") or body.get("exception_detail") if isinstance(body, dict) else body
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _exit_code(state_type: str, message: str, report: BuildReport | None, *, waited: bool) -> int:
    match state_type:
        case "COMPLETED":
            return exit_codes.DONE
        case "CANCELLED":
            return exit_codes.INTERRUPTED
        case "FAILED" | "CRASHED":
            if report and report.record.error:
                return exit_codes.exit_code_of_error_code(report.record.error.code)
            raised = _RAISED.search(message)
            return exit_codes.exit_code_of_class_name(raised[1]) if raised else exit_codes.FAILED
        case _:
            return exit_codes.UNAVAILABLE if waited else exit_codes.DONE


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over` in it; objects are merged, everything else is replaced."""
    result = dict(base)
    for name, value in over.items():
        before = result.get(name)
        nested = isinstance(before, Mapping) and isinstance(value, Mapping)
        result[name] = merged(before, value) if nested and isinstance(before, Mapping) else value
    return result


def parsed_parameters(given: Sequence[str]) -> dict[str, Any]:
    """`options.mode=rebuild` and the like as an object; a value that is JSON is taken as that, otherwise as text.

    Raises:
        UsageError: One of them has no `=` or no name.
    """
    parameters: dict[str, Any] = {}
    for text in given:
        path, equals, value = text.partition("=")
        names = path.strip().split(".")
        if not equals or not all(names):
            raise UsageError(f"{text!r} is no parameter.", remedy="Write NAME=VALUE, for example options.mode=rebuild.")
        nested: Any = _value(value)
        for name in reversed(names):
            nested = {name: nested}
        parameters = merged(parameters, nested)
    return parameters


def _value(text: str) -> Any:  # noqa: ANN401 (JSON)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
