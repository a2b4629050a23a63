"""Which character encoding a text has, decided in a fixed order, without ever putting in a replacement character.

1. A byte order mark (UTF-8, UTF-16, UTF-32, GB18030).
2. What the text declares of itself (HTML meta, XML declaration), where it decodes without a fault. A declared one-byte
   encoding gives way to UTF-8 that is valid and not plain ASCII: that is a mislabelled page.
3. UTF-8 without a fault and without control characters.
4. UTF-32 and UTF-16 without a mark: null bytes and control characters give them away; the reading whose characters
   are most plausible wins.
5. The legacy encodings that decode without a fault, by how common their characters are; in a tie the order of
   `_LEGACY`. GB18030 covers GBK and GB2312, CP932 covers Shift-JIS, CP949 covers EUC-KR.

Whatever is left is no text.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from lorebase.documents.plausibility import plausibility
from lorebase.documents.unreadable import unreadable

_MARKS = (  # UTF-32 LE begins like UTF-16 LE and must be asked first
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_LEGACY = ("gb18030", "cp932", "big5hkscs", "euc_jp", "cp949", "cp1252")
# Declared names stand for the larger set that programs write under them (as the WHATWG encoding standard has it).
_SUPERSETS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "cp936": "gb18030",
    "hz": "gb18030",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_DECLARED_WITHIN_BYTES = 4096
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MAX_CONTROL_SHARE = 0.01
_MIN_WIDE_PLAUSIBILITY = 0.6
_MIN_WIDE_PLAUSIBILITY_WITH_NULLS = 0.4
_SURE_PLAUSIBILITY = 0.35
_MIN_PLAUSIBILITY = 0.02


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and how it was read.

    Attributes:
        text: Without byte order mark; line ends as they were.
        encoding: Name of the Python codec that read it.
        is_sure: False where the encoding is the best guess among poor ones; worth a warning.
    """

    text: str
    encoding: str
    is_sure: bool = True


def decode_text(content: bytes, *, name: str, declares_encoding: bool = False) -> DecodedText:
    """Read bytes as text.

    Args:
        content: All bytes of the document.
        name: The document, for messages.
        declares_encoding: Whether the format can name its encoding in its first lines (HTML, XML).

    Raises:
        UnreadableDocumentError: BINARY, when no encoding gives text; EMPTY, when the text is blank.
    """
    decoded = _by_mark(content)
    if decoded is None and declares_encoding:
        decoded = _by_declaration(content)
    if decoded is None:
        decoded = _as_utf8(content) or _as_wide(content) or _as_legacy(content)
    if decoded is None or _control_share(decoded.text) > _MAX_CONTROL_SHARE:
        raise unreadable(name, "BINARY")
    if not decoded.text.strip():
        raise unreadable(name, "EMPTY")
    return decoded


def _by_mark(content: bytes) -> DecodedText | None:
    for mark, encoding in _MARKS:
        if content.startswith(mark) and (text := _strictly(content[len(mark) :], encoding)) is not None:
            return DecodedText(text, encoding)
    return None


def _by_declaration(content: bytes) -> DecodedText | None:
    found = _DECLARED.search(content[:_DECLARED_WITHIN_BYTES])
    if found is None:
        return None
    try:
        encoding = codecs.lookup(found.group(1).decode("ascii")).name
    except LookupError:
        return None
    encoding = _SUPERSETS.get(encoding, encoding)
    # A declaration that can be read byte by byte refutes a wide encoding.
    if encoding.startswith(("utf-16", "utf-32")):
        return None
    text = _strictly(content, encoding)
    if text is None:
        return None
    if encoding.startswith(("cp125", "iso8859")) and not content.isascii():
        return _as_utf8(content) or DecodedText(text, encoding)
    return DecodedText(text, encoding)


def _as_utf8(content: bytes) -> DecodedText | None:
    text = _strictly(content, "utf-8")
    if text is None or (_CONTROLS.search(text) and _as_wide(content) is not None):
        return None
    return DecodedText(text, "utf-8")


def _as_wide(content: bytes) -> DecodedText | None:
    # Text in a wide encoding has null bytes (ASCII, line ends) or other control bytes (Chinese punctuation) in it.
    if not _CONTROL_BYTES.search(content):
        return None
    readings = [(encoding, text) for encoding in _WIDE if (text := _strictly(content, encoding))]
    rated = [(plausibility(text), encoding, text) for encoding, text in readings if not _CONTROLS.search(text)]
    if not rated:
        return None
    score, encoding, text = max(rated, key=lambda reading: reading[0])
    minimum = _MIN_WIDE_PLAUSIBILITY_WITH_NULLS if b"\x00" in content else _MIN_WIDE_PLAUSIBILITY
    return DecodedText(text, encoding) if score >= minimum else None


def _as_legacy(content: bytes) -> DecodedText | None:
    rated = [
        (plausibility(text, only_beyond_ascii=True), encoding, text)
        for encoding in _LEGACY
        if (text := _strictly(content, encoding)) is not None
    ]
    if not rated:
        return None
    score, encoding, text = max(rated, key=lambda reading: reading[0])
    if score < _MIN_PLAUSIBILITY:
        return None
    return DecodedText(text, encoding, is_sure=score >= _SURE_PLAUSIBILITY)


def _strictly(content: bytes, encoding: str) -> str | None:
    try:
        # Some codecs of Python never fail but are no text encodings (rot13, hex): LookupError.
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _control_share(text: str) -> float:
    return len(_CONTROLS.findall(text)) / len(text) if text else 0.0
