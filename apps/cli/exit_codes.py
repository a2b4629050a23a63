"""Exit codes of the command line, as a table over the error tree."""

from __future__ import annotations

from lorebase import errors

DONE = 0
FAILED = 1
USAGE = 2
CONFLICT = 3
UNAVAILABLE = 4
GATE = 5
INTERRUPTED = 130

_BY_CLASS: tuple[tuple[type[errors.LorebaseError], int], ...] = (
    (errors.RecipeError, USAGE),
    (errors.UsageError, USAGE),
    (errors.ConfigurationError, USAGE),
    (errors.GateNotMetError, GATE),
    (errors.ConflictError, CONFLICT),
    (errors.StateConflictError, CONFLICT),
    (errors.CommandError, USAGE),
    (errors.DependencyError, UNAVAILABLE),
    (errors.LorebaseError, FAILED),
)


def exit_code_of(error: errors.LorebaseError) -> int:
    """The exit code for an error: the first row of the table that fits."""
    return next(code for kind, code in _BY_CLASS if isinstance(error, kind))


def exit_code_of_error_code(error_code: str) -> int:
    """The exit code for the error that a run's record names; codes that are not of the tree are failures."""
    return _exit_code_of_kind(next((kind for kind in _kinds() if kind.code == error_code), errors.LorebaseError))


def exit_code_of_class_name(name: str) -> int:
    """The exit code for an error that is only known by the name of its class; names outside the tree are failures."""
    return _exit_code_of_kind(next((kind for kind in _kinds() if kind.__name__ == name), errors.LorebaseError))


def _kinds() -> list[type[errors.LorebaseError]]:
    kinds = [errors.LorebaseError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return kinds


def _exit_code_of_kind(kind: type[errors.LorebaseError]) -> int:
    return next(code for known, code in _BY_CLASS if issubclass(kind, known))
