"""Settings of the HTTP interface, and what a server refuses to start with."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.api.serving import ServeOptions, run_server
from apps.api.settings import ApiSettings
from lorebase.errors import ConfigurationError

SECRET = {"LOREBASE_API_SECRET": "a-secret-of-16-chars"}
TOKENS = {"LOREBASE_API_JWT_KEY": "k" * 32, "LOREBASE_API_JWT_AUDIENCE": "lorebase"}


def test_everything_comes_from_the_environment() -> None:
    settings = ApiSettings.from_environment(
        {**SECRET, **TOKENS, "LOREBASE_API_BASE_ORGANS": "1, 7", "LOREBASE_API_THREADS": "4"}
    )

    assert [secret.get_secret_value() for secret in settings.secrets] == ["a-secret-of-16-chars"]
    assert settings.jwt is not None
    assert settings.jwt.audience == "lorebase"
    assert settings.base_organ_ids == {1, 7}
    assert settings.threads == 4
    assert "a-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("variables", "insecure", "named"),
    [
        ({}, False, "LOREBASE_API_SECRET"),
        ({"LOREBASE_API_SECRET": "short"}, False, "16"),
        ({"LOREBASE_API_SECRET": ""}, False, "LOREBASE_API_SECRET"),
        ({**TOKENS, "LOREBASE_API_JWT_KEY": "short"}, False, "32"),
        ({**TOKENS, "LOREBASE_API_JWT_ALGORITHM": "RS256"}, False, "PEM"),
        ({**TOKENS, "LOREBASE_API_JWT_ALGORITHM": "none"}, False, "algorithm"),
        ({"LOREBASE_API_JWT_KEY": "k" * 32}, False, "audience"),
        ({**SECRET, "LOREBASE_API_THREADS": "many"}, False, "threads"),
        (SECRET, True, "--insecure-development"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_what_to_mend(
    variables: dict[str, str], insecure: bool, named: str
) -> None:
    with pytest.raises(ConfigurationError, match=named) as raised:
        ApiSettings.from_environment(variables, insecure_development=insecure)

    assert not any(value in str(raised.value) for value in variables.values() if len(value) > 15)


@pytest.mark.parametrize(
    ("options", "variables", "named"),
    [
        ({"host": "192.0.2.7", "insecure_development": True}, {}, "192.0.2.7"),
        ({"host": "example.com", "insecure_development": True}, {}, "example.com"),
        ({"workers": 2}, SECRET, "embedded index"),
        ({}, {}, "LOREBASE_API_SECRET"),
    ],
)
def test_a_server_that_would_be_unsafe_does_not_start(
    tmp_path: Path, options: dict[str, object], variables: dict[str, str], named: str
) -> None:
    whole = {"host": "127.0.0.1", "port": 8080, "workers": 1, "insecure_development": False, **options}

    with pytest.raises(ConfigurationError, match=named):
        run_server(ServeOptions(**whole, workspace=tmp_path), dict(variables))
