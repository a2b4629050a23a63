"""Blocks: Prefect's own standard for them, and what they open. What needs a server stands with the flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prefect.testing.standard_test_suites import BlockStandardTestSuite
from pydantic import ValidationError

from blocks import LorebaseObjectStore, LorebaseWorkspace
from lorebase.errors import NotFoundError
from lorebase.workspace_config import ObjectStoreConfig


@pytest.mark.parametrize("block", [LorebaseObjectStore, LorebaseWorkspace])
class TestBlockStandards(BlockStandardTestSuite):
    @pytest.fixture
    def block(self, request: pytest.FixtureRequest) -> Any:
        return request.param

    @pytest.mark.skip(reason="it fetches the logo from the internet")
    def test_has_a_valid_image(self, block: Any) -> None: ...


def test_what_is_missing_says_so(tmp_path: Path) -> None:
    block = LorebaseObjectStore(url=str(tmp_path))

    with pytest.raises(NotFoundError):
        block.read_path("nothing")


def test_a_path_resolves_once(tmp_path: Path) -> None:
    block = LorebaseObjectStore(url=str(tmp_path))

    block.write_path("a/b", b"content")

    assert block.read_path("prefect-results/a/b") == b"content"


def test_the_block_of_an_embedded_workspace_names_an_absolute_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    assert LorebaseObjectStore.of(None, Path(".lorebase")).url == str(tmp_path / ".lorebase" / "objects")
    assert LorebaseObjectStore.of(ObjectStoreConfig(url="store"), Path("x")).url == str(tmp_path / "store")
    assert LorebaseObjectStore.of(ObjectStoreConfig(url="s3://b/p"), Path("x")).url == "s3://b/p"


def test_a_workspace_block_without_settings_is_embedded_in_its_folder() -> None:
    workspace = LorebaseWorkspace(folder="there").get_workspace()

    assert workspace.folder == Path("there")
    assert (workspace.config.object_store, workspace.config.vector_store, workspace.config.database) == (
        None,
        None,
        None,
    )


def test_endpoints_are_checked_when_they_are_given() -> None:
    with pytest.raises(ValidationError, match="base_url"):
        LorebaseWorkspace(endpoints={"openai": {"base_url": "no-address"}})
