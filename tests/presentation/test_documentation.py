"""The page about the kit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "kits" / "presentation.md"


def test_the_example_of_the_page_prints_what_the_page_says() -> None:
    blocks = dict(
        re.findall(r"^```(python|text)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )

    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", "-c", blocks["python"]],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=PAGE.parents[2],
        timeout=60,
    )

    assert run.stderr == ""
    assert run.stdout == blocks["text"]
