"""The command line as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.cli import exit_codes
from lorebase import errors
from lorebase.artifacts.lease import acquire_lease
from lorebase.artifacts.store import BaseLayout
from lorebase.workspace import Workspace

RECIPE = "name: demo\nsources: [{folder: documents}]\npartitions: 4\nprocedures: [{use: full_text_index}]\n"


def lorebase(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apps.cli.main", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe that was built."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "documents").mkdir()
    (folder / "documents" / "harbour.md").write_text("# Harbour\n\n## Fees\n\nA berth costs nine crowns.\n")
    (folder / "documents" / "empty.txt").write_text("")
    (folder / "documents" / "数据.csv").write_text("名称,数量\n灯泡,12\n油,7\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    done = lorebase("build", "recipe.yaml", "--executor", "inline", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


def json_of(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_help_imports_neither_prefect_nor_a_model_nor_a_store() -> None:
    code = (
        "import sys\nfrom apps.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'prefect', 'pymilvus', 'openai', 'numpy', 'pyarrow', 's3fs'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "validate" in done.stdout


def test_a_build_reports_its_steps_and_its_issues(built: Path) -> None:
    done = lorebase("report", "demo", folder=built)

    assert done.returncode == 0
    assert "index_full_text" in done.stdout
    assert "DOCUMENT_EMPTY 1" in done.stdout
    assert "Query modes unlocked: full_text_search." in done.stdout


def test_report_as_json_holds_the_record_and_the_counts(built: Path) -> None:
    report = json_of(lorebase("report", "demo", "--json", folder=built))

    assert report["counts"]["documents"] == 3
    assert report["counts"]["issues_by_code"] == {"DOCUMENT_EMPTY": 1}
    assert [step["step"] for step in report["steps"]] == ["parse_documents", "split_documents", "index_full_text"]
    assert report["record"]["status"] == "succeeded"


def test_a_report_can_be_a_page(built: Path) -> None:
    done = lorebase("report", "demo", "--html", "报告.html", folder=built)

    refused = lorebase("report", "demo", "--html", "nowhere/page.html", folder=built)
    assert done.returncode == 0, done.stderr
    assert "<svg" in (built / "报告.html").read_text(encoding="utf-8")
    assert refused.returncode == 2
    assert "nowhere/page.html" in refused.stderr


def test_search_says_where_a_result_stands(built: Path) -> None:
    done = lorebase("search", "demo", "berth", "--mode", "full_text_search", folder=built)

    assert done.returncode == 0
    assert "[1] harbour.md, Harbour > Fees" in done.stdout


def test_search_as_json_has_the_published_shape(built: Path) -> None:
    found = json_of(lorebase("search", "demo", "灯泡", "--mode", "full_text_search", "--json", folder=built))

    assert found["mode"] == "full_text_search"
    best = found["results"][0]
    assert set(best) == {
        "rank", "score", "chunk_id", "text", "document", "citation",
        "scores", "graph_paths", "provenance", "card", "faq",
    }  # fmt: skip
    assert best["document"]["name"] == "数据.csv"
    assert (best["citation"]["first_row"], best["citation"]["last_row"]) == (1, 2)


def test_questions_of_a_file_are_answered_in_order(built: Path) -> None:
    (built / "questions.json").write_text('[{"question": "berth"}, "油"]', encoding="utf-8")

    found = json_of(
        lorebase(
            "search", "demo", "--questions", "questions.json", "--mode", "full_text_search", "--json", folder=built
        )
    )

    assert [answer["results"][0]["document"]["name"] for answer in found] == ["harbour.md", "数据.csv"]


def test_status_and_runs_show_what_is_live(built: Path) -> None:
    status = json_of(lorebase("status", "demo", "--json", folder=built))
    runs = json_of(lorebase("runs", "demo", "--json", folder=built))

    assert status["documents"] == 3
    assert status["queries"] == ["full_text_search"]
    assert status["building"] is False
    assert runs[-1]["run_id"] == status["latest_run"]["run_id"]
    assert runs[-1]["status"] == "succeeded"


def test_json_stands_alone_on_stdout_while_a_build_tells_its_progress_on_stderr(built: Path) -> None:
    done = lorebase("build", "recipe.yaml", "--executor", "inline", "--json", folder=built)

    assert done.returncode == 0
    assert json_of(done)["status"] == "succeeded"
    assert "Scanned 3 documents" in done.stderr


def test_validate_lists_every_fault_and_exits_2(built: Path) -> None:
    (built / "broken.yaml").write_text(RECIPE.replace("full_text_index", "full_text_indx") + "partition: 3\n")

    done = lorebase("validate", "broken.yaml", "--json", folder=built)

    assert done.returncode == exit_codes.USAGE
    assert json_of(done)["error"]["faults"][0]["place"] == "broken.yaml, line 5, column 1"


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "demo"),
        ("search", "demo", "berth", "--top-k", "500"),
        ("search", "demo", "berth", "--mode", "vector_search"),
        ("search", "nothing-here", "berth"),
        ("report", "demo", "20200101t000000000-00000000"),
        ("build", "absent.yaml"),
        ("search", "demo", "berth", "--mode", "best"),
        ("no-such-command",),
    ],
)
def test_wrong_usage_exits_2_with_one_message(built: Path, arguments: tuple[str, ...]) -> None:
    done = lorebase(*arguments, folder=built)

    assert done.returncode == exit_codes.USAGE
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_base_that_is_being_built_exits_3_and_names_the_holder(built: Path) -> None:
    workspace = Workspace.load(built / ".lorebase")
    held = acquire_lease(
        workspace.object_store, BaseLayout("demo").lease, holder="run-9", now=workspace.clock.now, seconds=600
    )

    with held:
        done = lorebase("build", "recipe.yaml", "--executor", "inline", folder=built)

    assert done.returncode == exit_codes.CONFLICT
    assert "is in use by run-9" in done.stderr


def test_an_object_store_that_does_not_answer_exits_4_and_names_it(built: Path, tmp_path: Path) -> None:
    (tmp_path / "lorebase.yaml").write_text(
        'object_store: {url: "s3://nowhere/x", endpoint_url: "http://127.0.0.1:9", key: a, secret: b}\n'
    )

    done = lorebase("status", "demo", "--workspace", tmp_path, folder=built)

    assert done.returncode == exit_codes.UNAVAILABLE
    assert "s3://nowhere/x" in done.stderr


def test_a_variable_of_the_workspace_file_that_is_not_set_is_named(built: Path, tmp_path: Path) -> None:
    (tmp_path / "lorebase.yaml").write_text("vector_store: {uri: 'http://127.0.0.1:1', token: '${ABSENT_TOKEN}'}\n")

    done = lorebase("status", "demo", "--workspace", tmp_path, folder=built)

    assert done.returncode == exit_codes.USAGE
    assert "needs the variable ABSENT_TOKEN" in done.stderr


def test_a_failed_build_exits_1(built: Path, tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "noise.bin").write_bytes(bytes(range(256)))
    (tmp_path / "recipe.yaml").write_text(RECIPE)

    done = lorebase("build", "recipe.yaml", "--executor", "inline", folder=tmp_path)

    assert done.returncode == exit_codes.FAILED
    assert "all 1 documents failed" in done.stdout


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidRecipeError, 2),
        (errors.UnsupportedModeError, 2),
        (errors.NotFoundError, 2),
        (errors.ConfigurationError, 2),
        (errors.ConflictError, 3),
        (errors.UnavailableError, 4),
        (errors.RefusedError, 4),
        (errors.BuildFailedError, 1),
        (errors.CorruptObjectError, 1),
    ],
)
def test_every_group_of_errors_has_its_exit_code(error: type[errors.LorebaseError], code: int) -> None:
    assert exit_codes.exit_code_of(error("x")) == code
    assert exit_codes.exit_code_of_error_code(error.code) == code
