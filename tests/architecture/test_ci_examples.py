"""The CI examples of infra/ci are YAML and call commands and options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml

from apps.cli.main import app

CI = Path(__file__).parents[2] / "infra" / "ci"
EXAMPLES = sorted(CI.glob("*.yml"))


def scripts_of(example: Path) -> list[str]:
    content = yaml.safe_load(example.read_text(encoding="utf-8"))
    if "jobs" in content:
        return [step["run"] for job in content["jobs"].values() for step in job["steps"] if "run" in step]
    return [line for job in content.values() for line in job["script"]]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_triggers_with_options_that_the_command_has(example: Path) -> None:
    commands = [shlex.split(script) for script in scripts_of(example) if "lorebase" in script]
    options = {
        option
        for parameter in typer.main.get_command(app).commands["trigger"].params  # type: ignore[attr-defined]
        for option in parameter.opts
    }

    used = {word for words in commands for word in words if re.match(r"--[a-z]", word)}

    assert commands
    assert all(words[1] == "trigger" for words in commands)
    assert used <= options


def test_there_is_an_example_for_each_service() -> None:
    assert [path.name for path in EXAMPLES] == ["github-actions.yml", "gitlab-ci.yml"]
