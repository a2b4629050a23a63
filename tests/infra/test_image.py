"""The Dockerfile keeps to the rules of infra/README.md, and its scripts do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "infra" / "Dockerfile").read_text(encoding="utf-8")
LINES = re.sub(r"\\\n\s*", "", "\n".join(line for line in TEXT.splitlines() if not line.startswith("#"))).splitlines()


def arguments_of(instruction: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(f"{instruction} ")]


def test_every_base_image_has_an_exact_version() -> None:
    images = [line.split()[0] for line in arguments_of("FROM")]

    assert len(images) == 2
    assert all(re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", image) for image in images)


def test_the_image_ends_as_a_user_by_number_that_is_not_root() -> None:
    assert arguments_of("USER") == ["10001:10001"]
    assert LINES.index("USER 10001:10001") > max(n for n, line in enumerate(LINES) if line.startswith(("RUN", "COPY")))


def test_dependencies_are_installed_by_hash_and_only_in_the_build_stage() -> None:
    build, final = "\n".join(LINES).split("FROM ")[1:]

    assert "--require-hashes --requirement requirements.lock" in build
    assert "pip" not in re.sub(r"PIP_\w+", "", final)
    assert "curl" not in TEXT
    assert not re.search(r"^ADD ", TEXT, re.MULTILINE)


def test_no_secret_is_in_the_image() -> None:
    named = re.findall(r"\b(\w*(?:PASSWORD|SECRET|TOKEN|API_KEY|AUTH)\w*)=", TEXT)

    assert named == []
    assert arguments_of("ARG") == []


def test_the_context_holds_only_what_is_copied() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {
        word.rstrip("/") for line in arguments_of("COPY") if not line.startswith("--from") for word in line.split()[:-1]
    }

    assert "*" in rules
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_says_whether_it_is_healthy() -> None:
    (check,) = arguments_of("HEALTHCHECK")

    assert check.endswith('CMD ["python", "/opt/lorebase/healthcheck.py"]')


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 503)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        del format, args


@pytest.fixture
def service() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("path", "code"), [("/health", 0), ("/other", 1)])
def test_the_health_check_ends_as_the_service_answers(service: str, path: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "infra" / "healthcheck.py"], env={"LOREBASE_HEALTH_URL": f"{service}{path}"}
    )

    assert done.returncode == code


def test_the_health_check_of_nothing_fails() -> None:
    assert subprocess.run([sys.executable, ROOT / "infra" / "healthcheck.py"], env={}).returncode == 1


def test_the_image_leaves_out_tools_and_keeps_what_runs() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "infra" / "unneeded_packages.py", "--extra", "otel"], capture_output=True, text=True
    )

    left_out = set(done.stdout.split())
    assert {"pytest", "mypy", "ruff", "hypothesis", "import-linter"} <= left_out
    assert not {"lorebase", "prefect", "pymilvus", "sqlalchemy", "s3fs", "pydantic", "pip"} & left_out


def test_making_the_bucket_of_a_folder_does_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "infra" / "make_bucket.py"],
        cwd=ROOT,
        env={"LOREBASE_WORKSPACE": str(tmp_path / "kb")},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert not (tmp_path / "kb").exists()
