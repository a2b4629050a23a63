"""The pages of the knowledge and answering kits: their examples run, and their lists of names are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import lorebase.answering
import lorebase.operation
from lorebase.answering import ready_checks

ROOT = Path(__file__).parents[2]
KITS = ROOT / "docs" / "kits"


def block(page: str, language: str) -> str:
    """The only block of that language on a page."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", (KITS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("page", ["knowledge.md", "answering.md"])
def test_the_example_of_a_page_prints_what_the_page_says(page: str) -> None:
    example, printed = block(page, "python"), block(page, "text")

    ran = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", "-c", example],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == printed


def test_the_pages_list_every_public_name() -> None:
    """A-002."""
    pages = "\n".join((KITS / page).read_text("utf-8") for page in ("knowledge.md", "answering.md"))
    listed = set(re.findall(r"`(\w+)`", pages[pages.index("## Names") :]))

    names = {*lorebase.answering.__all__, *lorebase.operation.__all__, *ready_checks.__all__}

    assert names <= listed
