"""Looks up known vulnerabilities of the locked packages with pip-audit, and says plainly when it could not.

Ends with 0 where none is known, 1 where one is, 4 where the service that knows them could not be asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

LOCK = "requirements.lock"


def report_of(dependencies: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """Exit code and lines for what pip-audit says of each package."""
    vulnerable = [one for one in dependencies if one.get("vulns")]
    skipped = [one["name"] for one in dependencies if "skip_reason" in one]
    lines = [
        f"{one['name']} {one['version']}: {vulnerability['id']}, mended in {_versions(vulnerability)}"
        for one in vulnerable
        for vulnerability in one["vulns"]
    ]
    audited = len(dependencies) - len(skipped)
    lines.append(
        f"{audited} of {len(dependencies)} packages were audited, {len(vulnerable)} have known vulnerabilities."
    )
    if vulnerable:
        return 1, lines
    if skipped:
        shown = ", ".join(skipped[:5])
        lines.append(f"NOT AUDITED: {shown}{' ...' if len(skipped) > 5 else ''}. Run it where pypi.org can be reached.")  # noqa: PLR2004 (examples)
        return 4, lines
    return 0, lines


def _versions(vulnerability: dict[str, Any]) -> str:
    return ", ".join(vulnerability["fix_versions"]) or "no version"


def main() -> int:
    """Run pip-audit over the lock file."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", LOCK, "--disable-pip", "--require-hashes"]
    done = subprocess.run([*command, "--format=json"], capture_output=True, text=True, check=False)  # noqa: S603 (our own words)
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        sys.stderr.write(f"NOT AUDITED: pip-audit gave no answer.\n{done.stderr[-500:]}\n")
        return 4
    code, lines = report_of(dependencies)
    sys.stdout.write("\n".join(lines) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
