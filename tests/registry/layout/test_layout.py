"""Where knowledge lies, and how a tree is told from another folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from lorebase.adapters.object_stores import LocalObjectStore
from lorebase.errors import UsageError
from lorebase.registry.layout import (
    AGENT_FOLDERS,
    KNOWLEDGE_FOLDERS,
    knowledge_prefix,
    knowledge_tree,
    looks_like_knowledge_prefix,
    looks_like_knowledge_tree,
    looks_like_legacy_knowledge_root,
    memory_prefix,
    memory_root,
)


def test_a_base_has_its_tree_and_its_memory_apart() -> None:
    """D-053, D-054."""
    root = Path("agent")

    assert knowledge_tree(root, "sales-cn") == Path("agent/domain_knowledge/sales-cn")
    assert memory_root(root, "sales-cn") == Path("agent/memory/sales-cn")
    assert knowledge_prefix("sales-cn") == "domain_knowledge/sales-cn"
    assert memory_prefix("sales-cn", "/team/a/") == "team/a/memory/sales-cn"


def test_a_tree_has_two_folders_that_can_be_rebuilt_and_two_that_cannot() -> None:
    """D-053, D-055."""
    assert [(folder.name, folder.is_derived) for folder in KNOWLEDGE_FOLDERS] == [
        ("01_source_raw", False),
        ("02_wiki", False),
        ("03_compiled", True),
        ("05_diagnosis", True),
    ]


def test_what_cannot_be_rebuilt_must_be_backed_up() -> None:
    """D-056, D-057."""
    assert {folder.name: folder.must_be_backed_up for folder in AGENT_FOLDERS} == {
        "domain_knowledge": True,
        "memory": True,
        "output": False,
        "tmp": False,
    }


@pytest.mark.parametrize(
    "base_id", ["", ".", "..", "../other", "a/b", "/etc", "a\\b", "-a", "A", "知识", "a\0", "a\n", "x" * 49, "a.b"]
)
def test_an_id_that_could_be_a_path_names_no_place(base_id: str) -> None:
    """DQ-22."""
    for place in (lambda: knowledge_tree(Path("agent"), base_id), lambda: memory_prefix(base_id)):
        with pytest.raises(UsageError, match="cannot be the id"):
            place()


@pytest.mark.parametrize(
    ("folders", "is_tree"),
    [
        ([], False),
        (["02_wiki"], False),
        (["05_diagnosis", "04_memory"], False),
        (["01_source_raw"], True),
        (["01_source_truth", "02_wiki"], True),
        (["03_compiled"], True),
    ],
)
def test_sources_or_compiled_knowledge_make_a_tree(tmp_path: Path, folders: list[str], is_tree: bool) -> None:
    """D-058, D-059, D-060, DQ-16."""
    for name in folders:
        (tmp_path / name).mkdir()

    assert looks_like_knowledge_tree(tmp_path) is is_tree
    assert looks_like_legacy_knowledge_root(tmp_path) is is_tree


def test_an_empty_path_and_the_root_of_a_disk_are_no_legacy_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-059."""
    (tmp_path / "01_source_raw").mkdir()
    monkeypatch.chdir(tmp_path)

    assert looks_like_knowledge_tree("")
    assert not looks_like_legacy_knowledge_root("")
    assert not looks_like_legacy_knowledge_root("/")
    assert looks_like_legacy_knowledge_root(f"{tmp_path}/")
    assert not looks_like_knowledge_tree("no\0path")


def test_objects_below_a_prefix_make_a_tree(tmp_path: Path) -> None:
    """D-058 for object stores."""
    store = LocalObjectStore(tmp_path)
    store.put("old/01_source_truth/制度.md", b"x")
    store.put("wiki/02_wiki/card.md", b"x")
    store.put("03_compiled/notes.json", b"x")

    assert looks_like_knowledge_prefix(store, "old")
    assert not looks_like_knowledge_prefix(store, "wiki")
    assert not looks_like_knowledge_prefix(store, "none")
    assert looks_like_knowledge_prefix(store, "")
