"""Glob patterns over document names: which files of a source are wanted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache


class NameFilter:
    """Names that some include pattern matches and no exclude pattern does.

    `*` and `?` stay inside one folder, `**/` stands for any number of folders (none included), `**` at the end for
    everything below, `[abc]` and `[!abc]` for one character of a set. Patterns are compared in NFC, with case.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str] = ()) -> None:
        self._include = [_compile(pattern) for pattern in include]
        self._exclude = [_compile(pattern) for pattern in exclude]

    def accepts(self, name: str) -> bool:
        """Whether the document of this name (NFC, forward slashes) is wanted."""
        if any(pattern.fullmatch(name) for pattern in self._exclude):
            return False
        return any(pattern.fullmatch(name) for pattern in self._include)


def is_hidden(entry_name: str) -> bool:
    """Whether an entry (the last part of a path) is one that people do not see: a dot file or an office lock file."""
    return entry_name.startswith((".", "~$"))


@lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    text = unicodedata.normalize("NFC", pattern).replace("\\", "/").removeprefix("./").lstrip("/")
    if text.endswith("/"):
        text += "**"
    out: list[str] = []
    position = 0
    while position < len(text):
        piece, position = _translate_at(text, position)
        out.append(piece)
    return re.compile("".join(out), re.DOTALL)


def _translate_at(text: str, position: int) -> tuple[str, int]:
    if text.startswith("**/", position):
        return "(?:.*/)?", position + 3
    if text.startswith("**", position):
        return ".*", position + 2
    char = text[position]
    if char == "*":
        return "[^/]*", position + 1
    if char == "?":
        return "[^/]", position + 1
    if char == "[" and (end := text.find("]", position + 2)) > 0:
        members = text[position + 1 : end].replace("\\", r"\\").replace("[", r"\[")
        negated = members.startswith("!")
        members = members[1:] if negated else members.replace("^", r"\^", 1)
        return (f"[^/{members}]" if negated else f"[{members}]"), end + 1
    return re.escape(char), position + 1
