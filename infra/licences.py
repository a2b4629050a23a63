"""Which licence each package has that Lorebase needs at run time, and whether the project may depend on it.

`python infra/licences.py` prints the table of docs/licences.md; it ends with 1 where a package has no licence that is
allowed. Licences are read from installed metadata by pip-licenses; what the metadata does not say is in `STATED` below,
each with its source.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass

from packaging.utils import canonicalize_name
from unneeded_packages import ROOT, needed_packages

EXTRAS = ("otel", "e5")
ALLOWED = re.compile(
    r"apache|\bMIT\b|MIT-0|MIT-CMU|\b[0-3]?-?(clause )?BSD|BSD-[23]|0BSD|\bISC|MPL|mozilla public|PSF|python software"
    r"|\bLGPL|lesser general public|zlib|CC0|unlicense|CNRI-Python|artistic",
    re.IGNORECASE,
)
"""Permissive licences, and weak copyleft (MPL, LGPL) of packages that are used as they are."""

FORBIDDEN = re.compile(
    r"\bAGPL|affero|(?<!L)\bGPL|(?<!lesser )general public|SSPL|server side public|BUSL|business source|commons clause"
    r"|proprietary|non-?commercial|CC-BY-NC",
    re.IGNORECASE,
)
STATED = {
    "milvus-lite": "Apache-2.0",  # the file LICENSE of its repository; the wheel carries none
    "text-unidecode": "Artistic License",  # its author lets the user choose between this and the GPL
}


@dataclass(frozen=True, slots=True)
class Licence:
    """What one package says."""

    package: str
    version: str
    licence: str

    @property
    def is_allowed(self) -> bool:
        """Whether it is a known licence that is allowed, and no forbidden one beside it."""
        return ALLOWED.search(self.licence) is not None and FORBIDDEN.search(self.licence) is None


def licences() -> list[Licence]:
    """The licence of every package that Lorebase needs at run time, by name."""
    command = [sys.executable, "-m", "piplicenses", "--python", sys.executable, "--format=json", "--from=mixed"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (our own words)
    needed = needed_packages(EXTRAS) - {ROOT}
    found = []
    for line in json.loads(answer.stdout):
        name = canonicalize_name(line["Name"])
        if name in needed:
            found.append(Licence(name, line["Version"], STATED.get(name, line["License"])))
    return sorted(found, key=lambda licence: licence.package)


def table(found: list[Licence]) -> str:
    """The page docs/licences.md."""
    lines = [
        "# Licences of the dependencies",
        "",
        "What Lorebase needs at run time, its extras `otel` and `e5` included; written by `make licences`.",
        "`tests/infra/test_supply_chain.py` refuses licences that are not permissive or weak copyleft.",
        "",
        "| package | version | licence |",
        "|---|---|---|",
        *(f"| {one.package} | {one.version} | {one.licence} |" for one in found),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table; the exit code says whether every licence is allowed."""
    found = licences()
    sys.stdout.write(table(found))
    refused = [one for one in found if not one.is_allowed]
    for one in refused:
        sys.stderr.write(f"{one.package} {one.version} has the licence {one.licence!r}, which is not allowed.\n")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
