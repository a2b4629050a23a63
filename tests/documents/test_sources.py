"""Rules of scanning a source."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from pathlib import Path

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.documents.file_names import NameFilter
from lorebase.documents.sources import Source, SourceScan, read_bytes, scan
from lorebase.errors import ConfigurationError, ConflictError, UnreadableDocumentError
from lorebase.ids import document_id_of

LOCAL = fsspec.filesystem("file")


def put(folder: Path, name: str, text: str = "text") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def scan_folder(folder: Path, **source: tuple[str, ...]) -> SourceScan:
    return scan(Source("files", str(folder), **source), LOCAL, str(folder))


def names(found: SourceScan) -> list[str]:
    return [document.name for document in found.documents]


def test_documents_have_place_digest_and_size(tmp_path):
    put(tmp_path, "b/c.txt", "hello")

    (document,) = scan_folder(tmp_path).documents

    assert document.document_id == document_id_of("files", "b/c.txt")
    assert (document.name, document.source, document.size_bytes) == ("b/c.txt", "files", 5)
    assert document.sha256 == hashlib.sha256(b"hello").hexdigest()


def test_documents_are_sorted_by_name_and_top_level_files_belong_to_them(tmp_path):
    for name in ("z.txt", "a/b.txt", "中文/读者.md", "a.txt"):
        put(tmp_path, name)

    assert names(scan_folder(tmp_path)) == ["a.txt", "a/b.txt", "z.txt", "中文/读者.md"]


def test_identity_does_not_depend_on_where_the_folder_lies(tmp_path):
    for folder in ("one", "two"):
        put(tmp_path / folder, "a.txt")

    first, second = (scan_folder(tmp_path / folder).documents[0] for folder in ("one", "two"))

    assert first.document_id == second.document_id
    assert first.url != second.url


def test_names_are_nfc(tmp_path):
    put(tmp_path, unicodedata.normalize("NFD", "résumé.txt"))

    found = scan_folder(tmp_path, include=("résumé.txt",))

    assert names(found) == [unicodedata.normalize("NFC", "résumé.txt")]
    assert read_bytes(found.documents[0], LOCAL, max_bytes=100) == b"text"


def test_two_names_that_look_alike_give_one_document_and_an_issue(tmp_path):
    put(tmp_path, unicodedata.normalize("NFD", "é.txt"), "first")
    put(tmp_path, unicodedata.normalize("NFC", "é.txt"), "second")

    found = scan_folder(tmp_path)

    assert len(found.documents) == 1
    assert [issue.code for issue in found.issues] == ["DUPLICATE_NAME"]


def test_hidden_files_and_lock_files_are_no_documents(tmp_path):
    for name in (".git/config", ".hidden", "~$report.docx", "a/.b/c.txt", "seen.txt"):
        put(tmp_path, name)

    assert names(scan_folder(tmp_path)) == ["seen.txt"]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (("**/*",), (), ["a.md", "b/a.md", "b/d.txt", "b/drafts/c.md", "drafts/e.md"]),
        (("*.md",), (), ["a.md"]),
        (("**/*.md",), (), ["a.md", "b/a.md", "b/drafts/c.md", "drafts/e.md"]),
        (("**/*",), ("**/drafts/**",), ["a.md", "b/a.md", "b/d.txt"]),
        (("b/",), (), ["b/a.md", "b/d.txt", "b/drafts/c.md"]),
        (("./b/?.md",), (), ["b/a.md"]),
        (("[ab].md", "b/[!a].*"), (), ["a.md", "b/d.txt"]),
        (("nothing",), (), []),
    ],
)
def test_patterns_choose_documents(tmp_path, include, exclude, expected):
    for name in ("a.md", "b/a.md", "b/d.txt", "b/drafts/c.md", "drafts/e.md"):
        put(tmp_path, name)

    assert names(scan_folder(tmp_path, include=include, exclude=exclude)) == expected


@given(name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1), pattern=st.text())
def test_any_text_is_a_pattern(name, pattern):
    assert isinstance(NameFilter([pattern]).accepts(name), bool)
    assert NameFilter(["**/*"]).accepts(name)


def test_a_link_back_to_a_folder_above_is_an_issue_and_no_endless_walk(tmp_path):
    put(tmp_path, "a/b.txt")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)

    found = scan_folder(tmp_path)

    assert names(found) == ["a/b.txt"]
    assert [(issue.code, issue.name) for issue in found.issues] == [("SYMLINK_LOOP", "a/loop")]


def test_links_to_files_and_other_folders_are_followed(tmp_path):
    put(tmp_path / "elsewhere", "deep/x.txt")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root" / "x.txt").symlink_to(tmp_path / "elsewhere" / "deep" / "x.txt")

    assert names(scan_folder(tmp_path / "root")) == ["linked/deep/x.txt", "x.txt"]


def test_entries_that_cannot_be_read_are_issues(tmp_path):
    put(tmp_path, "fine.txt")
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    os.mkfifo(tmp_path / "pipe.txt")

    found = scan_folder(tmp_path)

    assert names(found) == ["fine.txt"]
    assert [(issue.code, issue.name) for issue in found.issues] == [
        ("UNREADABLE_ENTRY", "broken.txt"),
        ("UNREADABLE_ENTRY", "pipe.txt"),
        ("UNREADABLE_ENTRY", "self.txt"),
    ]


def test_a_source_that_is_not_there_is_a_configuration_error(tmp_path):
    put(tmp_path, "file.txt")

    for root in ("missing", "file.txt"):
        with pytest.raises(ConfigurationError, match=root):
            scan_folder(tmp_path / root)


def test_any_fsspec_file_system_will_do():
    memory = fsspec.filesystem("memory")
    memory.pipe({"/bucket/docs/读者.md": b"one", "/bucket/docs/sub/b.txt": b"two", "/bucket/other.txt": b"no"})

    found = scan(Source("s", "memory://bucket/docs"), memory, "/bucket/docs")

    assert names(found) == ["sub/b.txt", "读者.md"]
    assert [read_bytes(document, memory, max_bytes=10) for document in found.documents] == [b"two", b"one"]
    assert found.documents[0].url == "memory:///bucket/docs/sub/b.txt"
    memory.rm("/bucket", recursive=True)


def test_large_documents_are_listed_and_refused_when_read(tmp_path):
    put(tmp_path, "big.txt", "x" * 101)

    (document,) = scan_folder(tmp_path).documents

    with pytest.raises(UnreadableDocumentError, match="101 bytes, 100 are allowed") as caught:
        read_bytes(document, LOCAL, max_bytes=100)
    assert caught.value.facts == {"document": "big.txt", "reason": "TOO_LARGE"}


@pytest.mark.parametrize("change", [lambda path: path.write_text("other"), lambda path: path.unlink()])
def test_a_document_that_changed_after_the_scan_is_a_conflict(tmp_path, change):
    put(tmp_path, "a.txt")
    (document,) = scan_folder(tmp_path).documents
    change(tmp_path / "a.txt")

    with pytest.raises(ConflictError, match=r"a\.txt"):
        read_bytes(document, LOCAL, max_bytes=100)
