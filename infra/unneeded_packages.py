"""Lists the installed packages that Lorebase does not need at run time, one a line: what an image leaves out.

The lock file resolves the tools of developers too. Walks the installed metadata from `lorebase` along what each package
requires on this machine; extras named with `--extra` belong to it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "lorebase"
_KEPT = frozenset({"pip"})
"""Uninstalls the others, and goes with the base image."""


def needed_packages(extras: Iterable[str]) -> set[str]:
    """Normal names of everything that Lorebase needs, itself included."""
    needed: set[str] = set()
    waiting = [(ROOT, frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            required = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:
            continue  # an optional part that is not installed
        needed.add(name)
        for text in required:
            requirement = Requirement(text)
            if _applies(requirement, wanted):
                waiting.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return needed


def unneeded_packages(extras: Iterable[str]) -> list[str]:
    """Normal names of the installed packages that are not needed, sorted."""
    installed = {canonicalize_name(found.name) for found in metadata.distributions()}
    return sorted(installed - needed_packages(extras) - _KEPT)


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", action="append", default=[], help="Extra of lorebase that is kept.")
    sys.stdout.writelines(f"{name}\n" for name in unneeded_packages(parser.parse_args().extra))
