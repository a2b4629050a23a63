"""`lorebase kb` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from apps.cli import exit_codes
from apps.cli.main import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace's folder."""
    monkeypatch.setenv("LOREBASE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "workspace"


def kb(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["kb", *arguments])


def envelope_of(result: Result) -> Any:
    return json.loads(result.stdout)


def test_a_base_with_a_chinese_name_is_created_and_listed(folder: Path) -> None:
    created = kb(
        "create", "handbook", "--name", "员工手册", "--recipe", "handbook.yaml", "--parser", "PDF,docx=docling"
    )
    listed = kb("list")

    assert created.exit_code == exit_codes.DONE
    assert "handbook: 员工手册" in created.stdout
    assert "pdf, docx -> docling" in created.stdout
    assert "员工手册" in listed.stdout
    assert (folder / "knowledge-bases.json").exists()
    assert (folder / "domain_knowledge" / "handbook").is_dir()


def test_an_id_is_derived_from_the_name(folder: Path) -> None:
    english = envelope_of(kb("create", "--name", "Sales handbook", "--json"))
    chinese = envelope_of(kb("create", "--name", "企业知识库", "--json"))

    assert english["data"]["id"] == "sales-handbook"
    assert chinese["data"]["id"].startswith("kb-")


def test_json_is_the_envelope_alone(folder: Path) -> None:
    kb("create", "a")

    listed = envelope_of(kb("list", "--json"))
    missing = kb("show", "b", "--json")

    assert listed["ok"] is True
    assert [base["id"] for base in listed["data"]] == ["a"]
    assert missing.exit_code == exit_codes.USAGE
    assert envelope_of(missing)["error"]["code"] == "BASE_NOT_FOUND"
    assert envelope_of(missing)["error"]["retryable"] is True


def test_an_update_changes_only_what_is_given(folder: Path) -> None:
    kb("create", "a", "--name", "First", "--description", "old", "--top-k", "7")

    kb("update", "a", "--description", "新的说明")

    shown = envelope_of(kb("show", "a", "--json"))["data"]
    assert (shown["name"], shown["description"], shown["index"]["top_k"]) == ("First", "新的说明", 7)


def test_an_update_from_a_file_replaces_types(folder: Path, tmp_path: Path) -> None:
    kb("create", "a")
    (tmp_path / "change.json").write_text('{"source_types": [{"id": "faq", "enabled": false}]}', encoding="utf-8")

    done = kb("update", "a", "--file", str(tmp_path / "change.json"))

    assert done.exit_code == exit_codes.DONE
    assert "faq (disabled)" in done.stdout
    assert "BUILTIN_RESTORED" in done.stderr


def test_a_file_without_a_json_object_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "change.json").write_text("[1]")

    done = kb("update", "a", "--file", str(tmp_path / "change.json"))

    assert "holds no JSON object" in str(done.exception)


def test_a_source_type_is_added_updated_and_deleted(folder: Path) -> None:
    kb("create", "a")
    texts = [
        "--label",
        "合同",
        "--description",
        "双方签署的合同、协议和补充条款。",
        "--signal",
        "合同",
        "--exclude",
        "发票",
    ]

    added = kb("source-type", "add", "a", "contract", *texts, "--field", "甲方 | 甲方 | string | 必填")
    updated = envelope_of(kb("source-type", "update", "a", "contract", "--label", "契约", "--disabled", "--json"))
    deleted = kb("source-type", "delete", "a", "contract")

    assert added.exit_code == exit_codes.DONE
    assert "甲方 (string, required)" in added.stdout
    assert (updated["data"]["label"], updated["data"]["enabled"]) == ("契约", False)
    assert updated["data"]["metadata_fields"][0]["key"] == "甲方"
    assert "Deleted contract." in deleted.stdout


def test_a_card_type_is_added_updated_and_reset(folder: Path) -> None:
    kb("create", "a")
    texts = ["--label", "Risk", "--description", "Something that may go wrong."]

    added = kb(
        "card-type", "add", "a", "risk", *texts, "--section", "What | the risk | required", "--section", "Remedy"
    )
    updated = envelope_of(kb("card-type", "update", "a", "risk", "--layer", "instance", "--json"))
    reset = envelope_of(kb("reset-cards", "a", "--json"))

    assert added.exit_code == exit_codes.DONE
    assert "## What" in added.stdout
    assert (updated["data"]["layer"], len(updated["data"]["sections"])) == ("instance", 2)
    assert len(reset["data"]["card_types"]) == 8


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("create", "../x"), exit_codes.USAGE, "INVALID_BASE_ID"),
        (("create", "a"), exit_codes.CONFLICT, "DUPLICATE_BASE_ID"),
        (("delete", "default"), exit_codes.USAGE, "DEFAULT_BASE_IMMUTABLE"),
        (("source-type", "delete", "a", "faq"), exit_codes.USAGE, "BUILTIN_IMMUTABLE"),
        (("source-type", "add", "a", "contract"), exit_codes.USAGE, "LABEL_REQUIRED"),
        (("card-type", "add", "a", "faq", "--label", "x"), exit_codes.CONFLICT, "DUPLICATE_TYPE_ID"),
        (("card-type", "delete", "a", "nothing"), exit_codes.USAGE, "TYPE_NOT_FOUND"),
        (("source-type", "update", "a", "faq", "--field", "e | E | enum"), exit_codes.USAGE, "is no field"),
        (("update", "a", "--parser", "docling"), exit_codes.USAGE, "is no parser rule"),
    ],
)
def test_a_refusal_has_its_exit_code_and_says_why(
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    kb("create", "a")
    kb("create", "default")

    done = kb(*arguments)

    assert done.exit_code == code
    assert said in done.stderr


def test_a_purge_deletes_the_tree(folder: Path) -> None:
    kb("create", "a")
    kb("create", "b")

    kept = kb("delete", "a")
    purged = kb("delete", "b", "--purge")

    assert (kept.exit_code, purged.exit_code) == (exit_codes.DONE, exit_codes.DONE)
    assert (folder / "domain_knowledge" / "a").exists()
    assert not (folder / "domain_knowledge" / "b").exists()
    assert "No knowledge bases." in kb("list").stdout


def test_a_configured_database_keeps_the_registry(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (folder / "lorebase.yaml").write_text(f"database: {{url: 'sqlite:///{tmp_path}/kb.db'}}\n")

    kb("create", "a", "--name", "甲")

    assert envelope_of(kb("list", "--json"))["data"][0]["name"] == "甲"
    assert not (folder / "knowledge-bases.json").exists()


def test_an_error_of_the_store_is_an_envelope_too(folder: Path) -> None:
    """X-07."""
    folder.mkdir()
    (folder / "knowledge-bases.json").write_text('{"format": 99, "bases": []}')

    done = kb("list", "--json")

    assert done.exit_code == exit_codes.FAILED
    assert envelope_of(done)["error"]["code"] == "NEWER_FORMAT"
    assert envelope_of(done)["data"] == {}


def test_bases_of_a_workspace_that_is_given_a_database_later_are_told_and_taken_over(folder: Path) -> None:
    kb("create", "handbook", "--name", "员工手册")
    (folder / "lorebase.yaml").write_text(f"database: {{url: 'sqlite:///{folder}/all.db'}}\n", encoding="utf-8")

    listed, shown = kb("list"), kb("show", "handbook")
    diagnosed = CliRunner().invoke(app, ["doctor", "--json"])
    imported = kb("import")
    after = kb("list")

    assert "BASES_LEFT_BEHIND: 1 knowledge base(s)" in listed.stderr
    assert "`lorebase kb import`" in listed.stderr
    assert (shown.exit_code, "kb import" in str(shown.exception)) == (1, True)
    (finding,) = [found for found in json.loads(diagnosed.stdout)["findings"] if found["check"] == "registry"]
    assert (finding["status"], finding["facts"]) == ("warning", {"left_behind": 1})
    assert "`lorebase kb import`" in finding["remedy"]
    assert "1 knowledge base(s) taken over" in imported.stdout
    assert "员工手册" in after.stdout
    assert after.stderr == ""
