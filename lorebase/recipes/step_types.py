"""The step types and built-in procedures that recipes can name: whatever installed packages declare as entry points."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

from lorebase.errors import ConfigurationError
from lorebase.runs.step import Step

STEP_GROUP = "lorebase.steps"
PROCEDURE_GROUP = "lorebase.procedures"


@lru_cache(maxsize=1)
def step_types() -> dict[str, type[Step]]:
    """Every installed step class by its name, in alphabetical order.

    Raises:
        ConfigurationError: A declared step cannot be loaded, or answers to another name than declared.
    """
    found: dict[str, type[Step]] = {}
    for entry in sorted(entry_points(group=STEP_GROUP), key=lambda entry: entry.name):
        try:
            kind = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigurationError(
                f"The step {entry.name!r} declared as {entry.value} cannot be loaded: {error}.",
                remedy="Reinstall the package that declares it.",
            ) from error
        if kind.type_name != entry.name:
            raise ConfigurationError(
                f"{entry.value} is declared as {entry.name!r} but names itself {kind.type_name!r}."
            )
        found[entry.name] = kind
    return found


@lru_cache(maxsize=1)
def procedures() -> dict[str, list[dict[str, Any]]]:
    """The steps of every installed built-in procedure, as a recipe would write them, by the procedure's name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in sorted(entry_points(group=PROCEDURE_GROUP), key=lambda entry: entry.name):
        found.update(entry.load())
    return found
