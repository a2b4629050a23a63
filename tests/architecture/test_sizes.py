"""A module and a function stay short enough to be read at once, in the code as in its tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("lorebase", "steps", "blocks", "flows", "apps", "tests", "benchmarks")
MOST_LINES, MOST_FUNCTION_LINES = 400, 60


def modules() -> Iterator[Path]:
    return (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))


def test_no_module_is_longer_than_a_reader_takes_in() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}

    assert len(lengths) > 500
    assert {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.name}": lines
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MOST_FUNCTION_LINES
    }

    assert long == {}
