"""What the project depends on is known, and may be depended on."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script(name: str, patch: pytest.MonkeyPatch) -> ModuleType:
    """A script of infra, loaded as a module; scripts find each other as when they run."""
    patch.syspath_prepend(str(ROOT / "infra"))
    spec = importlib.util.spec_from_file_location(f"infra_{name}", ROOT / "infra" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_no_dependency_has_a_licence_that_is_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = script("licences", monkeypatch).licences()

    assert len(found) > 100
    assert [f"{one.package}: {one.licence}" for one in found if not one.is_allowed] == []


@pytest.mark.parametrize(
    ("licence", "is_allowed"),
    [
        ("MIT", True),
        ("LGPL-3.0-only", True),
        ("GNU Lesser General Public License v3", True),
        ("MPL-2.0 AND MIT", True),
        ("GPL-3.0-or-later", False),
        ("GNU General Public License v3 (GPLv3)", False),
        ("MIT; GNU Affero General Public License v3", False),
        ("SSPL-1.0", False),
        ("BUSL-1.1", False),
        ("UNKNOWN", False),
    ],
)
def test_a_licence_is_allowed_only_where_it_is_known_to_be(
    monkeypatch: pytest.MonkeyPatch, licence: str, is_allowed: bool
) -> None:
    assert script("licences", monkeypatch).Licence("p", "1", licence).is_allowed is is_allowed


def test_the_page_of_licences_names_every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")

    missing = [one.package for one in script("licences", monkeypatch).licences() if f"| {one.package} |" not in page]

    assert missing == [], "run `make licences`"


def test_an_audit_says_what_is_vulnerable_and_what_it_could_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = script("audit", monkeypatch)
    known = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}
    clean = {"name": "b", "version": "1", "vulns": []}
    skipped = {"name": "c", "skip_reason": "not found"}

    assert audit.report_of([clean])[0] == 0
    assert audit.report_of([known, clean, skipped])[0] == 1
    assert audit.report_of([clean, skipped])[0] == 4
    assert "a 1: PYSEC-1, mended in 2" in audit.report_of([known])[1]
