"""What `lorebase trigger` makes of its arguments, and what it says where nobody answers."""

from __future__ import annotations

import pytest

from apps.cli.triggering import DeploymentTrigger, PrefectApi, merged, parsed_parameters
from lorebase.errors import ConfigurationError, UnavailableError, UsageError


def test_dotted_parameters_become_one_object_and_json_stays_what_it_is() -> None:
    given = ["options.mode=rebuild", "options.wait_seconds=30", 'tags=["a", "b"]', "note=1=2", "title=手册"]

    parsed = parsed_parameters(given)

    assert parsed == {
        "options": {"mode": "rebuild", "wait_seconds": 30},
        "tags": ["a", "b"],
        "note": "1=2",
        "title": "手册",
    }


@pytest.mark.parametrize("given", ["mode", "=rebuild", "options.=rebuild", ".mode=rebuild"])
def test_a_parameter_without_a_name_or_a_value_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="NAME=VALUE"):
        parsed_parameters([given])


def test_parameters_are_laid_over_those_of_the_deployment_object_by_object() -> None:
    own = {"options": {"recipe": "a.yaml", "mode": "resume"}, "other": [1]}

    laid = merged(own, {"options": {"mode": "rebuild"}, "other": [2]})

    assert laid == {"options": {"recipe": "a.yaml", "mode": "rebuild"}, "other": [2]}
    assert own["options"] == {"recipe": "a.yaml", "mode": "resume"}


def test_the_address_of_the_api_is_asked_for_by_name() -> None:
    with pytest.raises(ConfigurationError, match="PREFECT_API_URL is not set"):
        PrefectApi.of({})


@pytest.mark.parametrize(
    ("variables", "header"),
    [
        ({"PREFECT_API_KEY": "pnu_key"}, "Bearer pnu_key"),
        ({"PREFECT_API_AUTH_STRING": "admin:pass"}, "Basic YWRtaW46cGFzcw=="),
    ],
)
def test_the_api_is_asked_with_the_credentials_that_prefect_itself_would_use(
    variables: dict[str, str], header: str
) -> None:
    api = PrefectApi.of({"PREFECT_API_URL": "http://host/api/", **variables})

    assert (api.url, dict(api.headers)) == ("http://host/api", {"Authorization": header})


def test_an_api_that_does_not_answer_is_asked_again_a_bounded_number_of_times() -> None:
    slept: list[float] = []
    trigger = DeploymentTrigger(PrefectApi("http://127.0.0.1:9/api", {}), tell=print, sleep=slept.append)

    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9/api does not answer"):
        trigger.run("flow/deployment", {}, idempotency_key=None, wait_seconds=None)

    assert len(slept) == 19
    assert max(slept) <= 10
