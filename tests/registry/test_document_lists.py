"""The documents of a base with their versions, and the history of one of them over the kept snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorebase import KnowledgeBase
from lorebase.artifacts.store import BaseLayout
from lorebase.errors import NotFoundError
from lorebase.registry.document_lists import document_of, documents_of
from tests.fakes.workspace import FakeWorkspace, recipe_in, write_documents

LAYOUT = BaseLayout("demo")
RECIPE = """
name: demo
sources: [{folder: documents}]
partitions: 4
procedures:
  - use: document_classes
  - use: full_text_index
"""


async def build(workspace: FakeWorkspace, tmp_path: Path) -> str:
    result = await KnowledgeBase("demo", workspace).rebuild(recipe_in(tmp_path, RECIPE))
    return result.record.run_id


async def test_documents_are_listed_with_type_and_versions(tmp_path: Path) -> None:
    """D-005."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"faq.md": "# FAQ\n\nOne.\n", "差旅政策.md": "# 政策\n\n一。\n"})
    await build(workspace, tmp_path)
    write_documents(tmp_path, {"faq.md": "# FAQ\n\nTwo.\n"})
    await build(workspace, tmp_path)

    found = documents_of(workspace.object_store, LAYOUT)

    assert [(line.name, line.source_type, line.versions) for line in found] == [
        ("faq.md", "faq", 2),
        ("差旅政策.md", "policy", 1),
    ]


async def test_the_history_of_a_document_names_every_change_and_no_other_snapshot(tmp_path: Path) -> None:
    """D-005, X-01."""
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"a.md": "First text.\n", "b.md": "Other.\n"})
    runs = [await build(workspace, tmp_path)]
    for change in (
        {"a.md": "Second text.\n"},
        {"b.md": "Other, changed.\n"},
        {"a.md.meta.yaml": "tags: [x]\nowner: 王芳\n"},
    ):
        write_documents(tmp_path, change)
        runs.append(await build(workspace, tmp_path))
    (tmp_path / "documents" / "a.md").unlink()
    runs.append(await build(workspace, tmp_path))
    write_documents(tmp_path, {"a.md": "Second text.\n"})
    runs.append(await build(workspace, tmp_path))

    found = document_of(workspace.object_store, LAYOUT, "a.md")

    assert [(version.snapshot_id, version.change, version.live) for version in reversed(found.history)] == [
        (runs[0], "added", False),
        (runs[1], "changed", False),
        (runs[3], "described_anew", False),
        (runs[4], "removed", False),
        (runs[5], "added", True),
    ]
    assert (found.live, found.source_type, found.method) == (True, "document", "fallback")
    assert (found.tags, found.metadata) == (("x",), {"owner": "王芳"})


async def test_a_document_that_is_gone_is_still_shown(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path / "ws")
    write_documents(tmp_path, {"a.md": "First.\n", "b.md": "Other.\n"})
    await build(workspace, tmp_path)
    (tmp_path / "documents" / "a.md").unlink()
    await build(workspace, tmp_path)

    found = document_of(workspace.object_store, LAYOUT, "a.md")

    assert (found.name, found.live) == ("a.md", False)
    assert [version.change for version in found.history] == ["removed", "added"]


async def test_a_base_that_was_never_built_has_no_documents(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no snapshot"):
        documents_of(FakeWorkspace(tmp_path).object_store, LAYOUT)
