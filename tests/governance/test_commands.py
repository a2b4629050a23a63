"""Governed knowledge from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from apps.cli.main import app
from lorebase.errors import ForbiddenError, LorebaseError, UsageError


class Desk:
    """A command line in a workspace of its own."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def run(self, *arguments: str, user: str = "ann") -> str:
        command = [*arguments, "--workspace", str(self.workspace), "--user", user]
        result = CliRunner().invoke(app, command, catch_exceptions=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    def json(self, *arguments: str, user: str = "ann") -> Any:
        return json.loads(self.run(*arguments, "--json", user=user))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "workspace")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "差旅.txt"
    file.write_text("报销须在 30 天内。", encoding="utf-8")
    return file


def test_a_file_goes_from_upload_to_a_task_and_its_history_says_who_did_what(desk: Desk, policy: Path) -> None:
    """K-030."""
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]
    draft = desk.json("revision", "upload", item, str(policy))
    tagged = desk.json("revision", "edit", draft["id"], "--version", "0", "--tag", "差旅")
    asked = desk.json("revision", "decide", draft["id"], "submit", "--version", str(tagged["version"]))
    passed = desk.json("revision", "decide", draft["id"], "approve", "--version", str(asked["version"]), user="ben")
    task = desk.json("revision", "request", draft["id"], "process", "--version", str(passed["version"]))

    shown = desk.json("revision", "show", draft["id"])
    history = desk.json("item", "history", item)
    tasks = desk.json("task", "list", "--status", "PENDING")
    assert (shown["status"], shown["tags"], shown["reviewed_by"]) == ("PROCESSING", ["差旅"], "ben")
    assert [entry["command"] for entry in history["records"]][:3] == ["START_PROCESSING", "APPROVE", "SUBMIT"]
    assert [found["id"] for found in tasks["records"]] == [task["id"]]
    assert desk.json("release", "show", item)["active_revision_id"] is None


def test_topics_are_taken_along_when_the_workspace_is_given_a_database(desk: Desk, tmp_path: Path) -> None:
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]
    (desk.workspace / "lorebase.yaml").write_text(f"database: {{url: 'sqlite:///{tmp_path}/all.db'}}\n", "utf-8")

    diagnosed = CliRunner().invoke(app, ["doctor", "--json", "--workspace", str(desk.workspace)])
    imported = CliRunner().invoke(app, ["item", "import", "--workspace", str(desk.workspace)])
    shown = desk.json("item", "show", item)

    (finding,) = [one for one in json.loads(diagnosed.stdout)["findings"] if one["check"] == "governed knowledge"]
    assert (finding["status"], finding["facts"]) == ("warning", {"left_behind": 1})
    assert "`lorebase item import`" in finding["remedy"]
    assert imported.exit_code == 0
    assert imported.stdout.startswith("1 audit, 1 item, 1 release taken over, 0 row(s)")
    assert (desk.workspace / "lorebase.db.imported").exists()
    assert shown["title"] == "差旅费"


def test_the_original_comes_back_byte_for_byte(desk: Desk, policy: Path) -> None:
    """C147."""
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]
    draft = desk.json("revision", "upload", item, str(policy))

    written = desk.run("revision", "original", draft["id"])

    assert written.encode() == policy.read_bytes()


def test_faq_entries_come_from_a_file(desk: Desk, tmp_path: Path) -> None:
    entries = tmp_path / "faq.json"
    entries.write_text('[{"question": "几天内?", "answer": "30 天"}]', encoding="utf-8")
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]
    draft = desk.json("revision", "draft", item)

    edited = desk.json("revision", "edit", draft["id"], "--version", "0", "--faq", str(entries))

    assert edited["faq"][0]["question"] == "几天内?"


def test_a_faulty_faq_file_is_named_with_its_fault(desk: Desk, tmp_path: Path) -> None:
    entries = tmp_path / "faq.json"
    entries.write_text('[{"question": ""}]', encoding="utf-8")
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]
    draft = desk.json("revision", "draft", item)

    with pytest.raises(UsageError, match=r"faq\.json has 2 fault"):
        desk.run("revision", "edit", draft["id"], "--version", "0", "--faq", str(entries))

    assert desk.json("revision", "show", draft["id"])["version"] == 0


def test_who_submitted_does_not_approve(desk: Desk, policy: Path) -> None:
    """KQ-20."""
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]
    draft = desk.json("revision", "upload", item, str(policy))
    desk.json("revision", "decide", draft["id"], "submit", "--version", "0")

    with pytest.raises(ForbiddenError):
        desk.run("revision", "decide", draft["id"], "approve", "--version", "1")

    assert desk.json("revision", "show", draft["id"])["status"] == "REVIEWING"


def test_lists_for_people_have_a_line_a_record_below_the_names_of_their_columns(desk: Desk) -> None:
    desk.json("item", "create", "handbook", "travel", "差旅费")

    listed = desk.run("item", "list").splitlines()

    assert listed[0] == "id  base_id  knowledge_key  title"
    assert listed[1].endswith("handbook  travel  差旅费")
    assert listed[2:] == ["1 of 1, page 1 of 1."]


def test_a_record_for_people_leaves_out_what_says_nothing(desk: Desk) -> None:
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]

    shown = desk.run("revision", "draft", item)

    assert "version  0\n" in shown
    assert "published_at  -\n" in shown
    assert "file_name" not in shown
    assert "is_deleted" not in shown


def test_feedback_is_reported_listed_and_closed(desk: Desk, policy: Path) -> None:
    """K-071."""
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]
    draft = desk.json("revision", "upload", item, str(policy))

    reported = desk.json("feedback", "report", draft["id"], "WRONG_ANSWER", "--note", "过期")
    closed = desk.json("feedback", "close", reported["id"], "--version", "0", "--status", "DISMISSED")

    assert closed["status"] == "DISMISSED"
    assert desk.json("feedback", "list")["total"] == 0


def test_the_settings_of_the_workspace_file_rule(desk: Desk, policy: Path) -> None:
    desk.workspace.mkdir()
    (desk.workspace / "lorebase.yaml").write_text("governance: {max_file_bytes: 3}\n", encoding="utf-8")
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]

    with pytest.raises(LorebaseError) as refused:
        desk.run("revision", "upload", item, str(policy))

    assert refused.value.code == "FILE_TOO_LARGE"


def test_a_deleted_item_is_listed_as_such_and_restored(desk: Desk) -> None:
    item = desk.json("item", "create", "handbook", "travel", "差旅费")["id"]

    desk.json("item", "delete", item, "--version", "0", "--reason", "old")
    gone = desk.json("item", "list", "--deleted")
    restored = desk.json("item", "restore", item, "--version", "1")

    assert [found["id"] for found in gone["records"]] == [item]
    assert restored["is_deleted"] is False
