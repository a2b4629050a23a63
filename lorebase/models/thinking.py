"""What a model writes between <think> and </think> at the head of its text: thought, and no part of its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"

Part = tuple[Literal["text", "reasoning"], str]


def without_thinking(text: str) -> str:
    """The text after a thought at its head; the whole text where there is none.

    A lone closing tag counts too: servers leave the opening one in the prompt. A thought without an end is all there
    is, and leaves an empty text.
    """
    if text.lstrip().startswith(OPENING):
        return text.partition(CLOSING)[2].lstrip()
    before, tag, after = text.partition(CLOSING)
    return after.lstrip() if tag and OPENING not in before and "{" not in before else text


class ThinkingSplitter:
    """Divides a text that comes in pieces into thought and answer. Holds back only what may be part of a tag."""

    def __init__(self) -> None:
        self._held = ""
        self._state: Literal["head", "thought", "gap", "answer"] = "head"

    def feed(self, text: str) -> Iterator[Part]:
        """Take a piece; gives what is certain by now."""
        self._held += text
        if self._state == "head":
            head = self._held.lstrip()
            if head.startswith(OPENING):
                self._state, self._held = "thought", head.removeprefix(OPENING)
            elif OPENING.startswith(head):
                return
            else:
                self._state = "answer"
        if self._state == "thought":
            yield from self._thought()
        if self._state == "gap":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "answer"
        if self._state == "answer" and self._held:
            yield "text", self._held
            self._held = ""

    def end(self) -> Iterator[Part]:
        """Gives what was held back, once no more comes."""
        if self._held:
            yield ("reasoning" if self._state == "thought" else "text"), self._held
            self._held = ""

    def _thought(self) -> Iterator[Part]:
        thought, tag, after = self._held.partition(CLOSING)
        if tag:
            self._state, self._held = "gap", after
        else:
            kept = _length_of_begun_tag(thought)
            thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            yield "reasoning", thought


def _length_of_begun_tag(text: str) -> int:
    """How many of the last characters may be the beginning of a closing tag."""
    return next((length for length in range(len(CLOSING) - 1, 0, -1) if text.endswith(CLOSING[:length])), 0)
