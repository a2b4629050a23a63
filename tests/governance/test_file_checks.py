"""What a file must be before it is taken in."""

from __future__ import annotations

import io
import unicodedata
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.adapters.parsers.office_containers import check_container
from lorebase.errors import (
    FileTooLargeError,
    InvalidInputError,
    MimeMismatchError,
    RejectedFileError,
    UnsafeFileNameError,
    UnsupportedTypeError,
)
from lorebase.governance.file_checks import CheckedFile, checked_file, safe_file_name
from tests.governance.world import upload

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 504


def container(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return packed.getvalue()


DOCX = container(("[Content_Types].xml", b"<Types/>"), ("word/document.xml", b"<document/>"))


def checked(name: str, content: bytes, media_type: str = "", max_bytes: int = 50 << 20) -> CheckedFile:
    return checked_file(upload(name, content, media_type), max_bytes=max_bytes, check_container=check_container)


@pytest.mark.parametrize(
    ("name", "content", "file_type"),
    [
        ("制度.docx", DOCX, "docx"),
        ("deck.pptx", container(("ppt/presentation.xml", b"<p/>")), "pptx"),
        ("表.xlsx", container(("xl/workbook.xml", b"<w/>")), "xlsx"),
        ("a.PDF", PDF, "pdf"),
        ("a.html", b"<p>hi</p>", "html"),
        ("a.htm", b"<p>hi</p>", "html"),
        ("说明.md", "# 说明".encode(), "md"),
        ("gbk.txt", "报销".encode("gbk"), "txt"),
        ("utf16.txt", "报销 ok".encode("utf-16"), "txt"),
        ("a.csv", b"a,b\n1,2\n", "csv"),
    ],
)
def test_a_file_of_an_accepted_type_passes(name: str, content: bytes, file_type: str) -> None:
    """K-033, KQ-25."""
    file = checked(name, content)

    assert (file.name, file.file_type, file.content) == (name, file_type, content)


@pytest.mark.parametrize("name", ["a.exe", "a.docm", "a.xls", "a.doc", "a.zip", "a.json", "a", "a.", "pdf"])
def test_a_file_of_another_type_is_refused_before_it_is_read(name: str) -> None:
    """KQ-25."""
    sent = upload(name, PDF)

    with pytest.raises(UnsupportedTypeError):
        checked_file(sent, max_bytes=100, check_container=check_container)

    assert sent.stream.tell() == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b"no pdf at all"),
        ("a.pdf", DOCX),
        ("a.docx", PDF),
        ("a.docx", container(("xl/workbook.xml", b"<w/>"))),
        ("a.docx", container(("anything.txt", b"text"))),
        ("a.docx", OLE),
        ("a.txt", PDF),
        ("a.txt", b"\x89PNG\r\n\x1a\n"),
        ("a.md", DOCX),
        ("a.csv", b"\x7fELF\x02\x01"),
        ("a.txt", b"text with\x00a zero byte"),
        ("a.html", b"\x00\x00\x00\x01"),
        ("a.docx", DOCX[: len(DOCX) // 2]),
    ],
)
def test_a_file_whose_content_contradicts_its_name_is_refused(name: str, content: bytes) -> None:
    """K-033, KQ-25."""
    with pytest.raises(MimeMismatchError) as refused:
        checked(name, content)

    assert name in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.pdf", PDF, "application/pdf"),
        ("a.pdf", PDF, "application/octet-stream"),
        ("a.md", b"x", "text/plain; charset=utf-8"),
        ("a.csv", b"x", "application/vnd.ms-excel"),
        ("a.html", b"x", "TEXT/HTML"),
    ],
)
def test_a_declared_media_type_that_fits_passes(name: str, content: bytes, media_type: str) -> None:
    file = checked(name, content, media_type)

    assert file.media_type != "application/octet-stream"


@pytest.mark.parametrize("media_type", ["image/png", "text/html", "application/x-msdownload"])
def test_a_declared_media_type_that_contradicts_the_name_is_refused(media_type: str) -> None:
    with pytest.raises(MimeMismatchError, match="declared"):
        checked("a.pdf", PDF, media_type)


def test_a_file_at_the_limit_passes_and_one_byte_more_does_not() -> None:
    """KQ-25."""
    assert len(checked("a.txt", b"x" * 1000, max_bytes=1000).content) == 1000
    with pytest.raises(FileTooLargeError) as refused:
        checked("a.txt", b"x" * 1001, max_bytes=1000)

    assert refused.value.facts == {"max_bytes": 1000}


def test_reading_stops_just_past_the_limit() -> None:
    sent = upload("a.txt", b"x" * (8 << 20))

    with pytest.raises(FileTooLargeError):
        checked_file(sent, max_bytes=1 << 20, check_container=check_container)

    assert sent.stream.tell() == (1 << 20) + 1


def test_an_office_file_that_unpacks_to_a_thousand_times_its_size_is_refused() -> None:
    """K-033: nothing of it is unpacked."""
    bomb = container(("word/document.xml", b"\x00" * (80 << 20)))

    with pytest.raises(FileTooLargeError, match="unpack"):
        checked("a.docx", bomb)

    assert len(bomb) < 1 << 20


def test_an_office_file_with_a_password_is_refused_with_the_remedy() -> None:
    locked = OLE + "EncryptedPackage".encode("utf-16-le")

    with pytest.raises(UnsupportedTypeError, match="without the password"):
        checked("a.docx", locked)


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="empty"):
        checked("a.txt", b"")


@pytest.mark.parametrize(
    "name",
    [
        "", "   ", ".htaccess", "..", "../a.txt", "a/b.txt", "a\\b.txt", "a\x00.txt", "a\n.txt", "a\x7f.txt",
        "\u202efdp.exe.txt", "a\u200b.txt", "a\ud800.txt", "长" * 84 + ".txt", "x" * 252 + ".txt",
    ],
)  # fmt: skip
def test_an_unsafe_name_is_refused(name: str) -> None:
    """KQ-25."""
    with pytest.raises(UnsafeFileNameError) as refused:
        safe_file_name(name)

    str(refused.value).encode()
    assert refused.value.code == "UNSAFE_FILENAME"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("差旅费报销制度(2026版).docx", "差旅费报销制度(2026版).docx"),
        (" a b.txt ", "a b.txt"),
        ("Re\u0301sume\u0301.pdf", "Résumé.pdf"),
        ("x" * 251 + ".txt", "x" * 251 + ".txt"),
    ],
)
def test_a_safe_name_is_kept_in_one_normal_form(name: str, kept: str) -> None:
    assert safe_file_name(name) == kept


@given(st.text(max_size=120))
def test_a_name_that_passes_is_one_safe_path_part_and_passes_again_unchanged(name: str) -> None:
    try:
        safe = safe_file_name(name)
    except UnsafeFileNameError:
        return

    assert 1 <= len(safe.encode()) <= 255
    assert not set(safe) & {"/", "\\", "\x00"}
    assert unicodedata.is_normalized("NFC", safe)
    assert safe_file_name(safe) == safe


@given(st.sampled_from(["a.pdf", "a.docx", "a.txt", "a.html", "a.csv"]), st.binary(min_size=1, max_size=300))
def test_any_bytes_pass_or_are_refused_with_an_error_of_the_tree(name: str, content: bytes) -> None:
    try:
        file = checked(name, content)
    except RejectedFileError as error:
        outcome = error.code
    else:
        outcome = "passed" if file.content == content else "changed"

    assert outcome in {"passed", "MIME_MISMATCH", "UNSUPPORTED_TYPE", "FILE_TOO_LARGE"}
