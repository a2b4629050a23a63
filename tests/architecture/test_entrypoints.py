"""What others load by name can be loaded."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS = [
    *PROJECT["scripts"].values(),
    *(entry for group in PROJECT["entry-points"].values() for entry in group.values()),
]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_every_entry_point_of_the_package_can_be_imported(entry: str) -> None:
    module, _, name = entry.partition(":")

    found = import_module(module)

    assert not name or hasattr(found, name)


def test_every_public_name_of_the_library_can_be_imported_without_prefect() -> None:
    code = (
        "import sys, lorebase\n"
        "assert len(sys.modules.keys() & {'pydantic', 'numpy', 'prefect'}) == 0, 'importing costs nothing'\n"
        "found = [getattr(lorebase, name) for name in lorebase.__all__]\n"
        "assert len(found) == 10, found\n"
        "assert 'prefect' not in sys.modules\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
