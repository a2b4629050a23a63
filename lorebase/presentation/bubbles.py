"""Bubbles: the separate messages of one reply, taken out of a text or a list and merged down to a limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import regex

from lorebase.errors import UsageError

BUBBLE_SEPARATOR = "\n\n"
"""What stands between two bubbles where a reply is written as one text: a blank line."""

# White space, controls and what no font draws (zero-width space, joiners, fillers, byte order mark, braille blank).
_BLANK = regex.compile(r"[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*")


@runtime_checkable
class HasBubbles(Protocol):
    """Any object that carries the bubbles of a reply."""

    @property
    def bubbles(self) -> object:
        """The bubbles: a text, a list of texts, or an object that carries them."""
        ...


ReplyInput: TypeAlias = "str | Sequence[object] | Mapping[str, object] | HasBubbles"
"""A reply: a text, a list of bubbles, an object with `bubbles`, or a mapping with the key `bubbles`."""


def reply_bubble_texts(reply: ReplyInput) -> tuple[str, ...]:
    """Take the bubbles out of a reply, blank ones included: how many and how long they may be is checked elsewhere.

    A blank line separates two bubbles of a text, so a second blank line after it holds a blank bubble between them.
    Line breaks and indentation inside a bubble stay; a line break at the end of the text merely ends its last line.

    Args:
        reply: A text; or a list in which a text is one bubble, however many blank lines it has, and an object with
            `bubbles` stands for its bubbles; or an object, or a mapping, with `bubbles` that are one of the former.

    Returns:
        The bubbles in order. An empty list gives none, a blank text one blank bubble.

    Raises:
        UsageError: The reply is of no such form.
    """
    return _bubbles_of(reply)


def merge_reply_bubbles(bubbles: Iterable[str], limit: int) -> tuple[str, ...]:
    """Bring a reply to at most `limit` bubbles: blank ones go, the surplus joins the last one, a line break between.

    Args:
        bubbles: The bubbles in order.
        limit: Most bubbles, at least 1.

    Returns:
        The bubbles in order, none of them blank; the text of each stays as it was.

    Raises:
        UsageError: `limit` is below 1.
    """
    if limit < 1:
        raise UsageError(f"A reply cannot be merged into {limit} bubbles.", remedy="Give a limit of at least 1.")
    kept = [bubble for bubble in bubbles if not is_blank(bubble)]
    if len(kept) <= limit:
        return tuple(kept)
    return (*kept[: limit - 1], "\n".join(kept[limit - 1 :]))


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing: no characters but white space, controls and invisible ones."""
    return _BLANK.fullmatch(text) is not None


def _bubbles_of(reply: object) -> tuple[str, ...]:
    match reply:
        case str():
            return _bubbles_of_text(reply)
        case Mapping() if "bubbles" in reply:
            return _bubbles_of(reply["bubbles"])
        case HasBubbles():
            return _bubbles_of(reply.bubbles)
        case Sequence() if not isinstance(reply, bytes | bytearray):
            parts = [(part,) if isinstance(part, str) else _bubbles_of(part) for part in reply]
            return tuple(text for texts in parts for text in texts)
        case _:
            raise UsageError(
                f"A reply cannot be read from {type(reply).__name__}.",
                remedy="Give a text, a list of texts, or an object with `bubbles`.",
            )


def _bubbles_of_text(text: str) -> tuple[str, ...]:
    if is_blank(text):
        return ("",)
    bubbles: list[str] = []
    lines: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        if is_blank(line):
            bubbles.append("\n".join(lines).rstrip("\r"))
            lines = []
        else:
            lines.append(line)
    return (*bubbles, "\n".join(lines).rstrip("\r"))
