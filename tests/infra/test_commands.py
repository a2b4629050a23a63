"""Every command of ours that infra calls exists with the options used, and every variable is explained."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from apps.cli.main import app

INFRA = Path(__file__).parents[2] / "infra"
COMPOSE: dict[str, Any] = yaml.safe_load((INFRA / "compose.yaml").read_text(encoding="utf-8"))
README = (INFRA / "README.md").read_text(encoding="utf-8")


def calls_of_lorebase() -> list[list[str]]:
    """Every call of `lorebase` in Dockerfile, compose file and manifests, as words."""
    calls = [service["command"] for service in COMPOSE["services"].values() if "command" in service]
    calls += [json.loads(found) for found in re.findall(r"^CMD (\[.*\])$", _read("Dockerfile"), re.MULTILINE)]
    for manifest in (INFRA / "kubernetes" / "base").glob("*.yaml"):
        calls += [json.loads(found) for found in re.findall(r"command: (\[.*\])", manifest.read_text(encoding="utf-8"))]
    scripts = [shlex.split(line) for words in calls if words[0] == "sh" for line in words[-1].splitlines()]
    return [words for words in (*calls, *scripts) if words and words[0] == "lorebase"]


def _read(name: str) -> str:
    return (INFRA / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("words", calls_of_lorebase(), ids=" ".join)
def test_a_call_names_a_command_and_options_that_there_are(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    rest = words[1:]
    while hasattr(command, "commands"):
        assert rest[0] in command.commands
        command = command.commands[rest.pop(0)]
    options = {option for parameter in command.params for option in parameter.opts}

    assert {word for word in rest if word.startswith("--")} <= options


def test_calls_were_found() -> None:
    assert {words[1] for words in calls_of_lorebase()} == {"serve", "doctor", "blocks"}


def test_every_variable_is_explained() -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", _read("compose.yaml")))
    for service in COMPOSE["services"].values():
        used |= set(service.get("environment", {}))
    used |= set(re.findall(r"(?:ENV |^ {4})([A-Z_]+)=", _read("Dockerfile"), re.MULTILINE))

    explained = set(re.findall(r"`([A-Z_]+)`", README))

    assert used - explained == set()


@pytest.mark.parametrize("name", ["process", "docker", "kubernetes"])
def test_every_placeholder_of_a_work_pool_has_a_variable(name: str) -> None:
    template = json.loads(_read(f"work-pools/{name}.json"))

    placeholders = set(re.findall(r"\{\{ (\w+) \}\}", json.dumps(template["job_configuration"])))

    assert placeholders == set(template["variables"]["properties"])


def test_the_api_answers_where_it_is_probed() -> None:
    from apps.api.routes.health import router

    probed = set(re.findall(r"path: (/health\S*),", _read("kubernetes/base/api.yaml")))
    asked = set(re.findall(r":8000(/\S*)", _read("Dockerfile")))

    assert probed | asked <= {route.path for route in router.routes}  # type: ignore[attr-defined]  # routes of a router have paths
    assert asked == {"/health/ready"}
