"""Text of HTML elements: which ones stand on lines of their own, and what runs along a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

# Elements of other vocabularies ("ix:nonnumeric", "o:p") run along a line, too.
_INLINE = frozenset(
    {
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "ins", "kbd", "label", "mark", "meter", "output", "progress", "q", "rp", "rt", "ruby", "s", "samp"),
        *("small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "nobr"),
    }
)


_HAN = "[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]"
_HAN_BREAK = re.compile(rf"(?<={_HAN})[ \t\r]*\n\s*(?={_HAN})")


def tag_of(element: etree._Element) -> str:
    """Name of an element in lower case; empty for comments and the like."""
    tag: object = element.tag  # a function for comments, though the stubs say text
    return tag.lower() if isinstance(tag, str) else ""


def is_block(element: etree._Element) -> bool:
    """Whether an element stands on lines of its own, or holds one that does."""
    tag = tag_of(element)
    if tag not in _INLINE and ":" not in tag:
        return bool(tag)
    return any(is_block(child) for child in element)


def all_text(element: etree._Element) -> str:
    """Every character inside an element."""
    return "".join(str(piece) for piece in element.itertext())


def inline_text(element: etree._Element, *, without: tuple[str, ...] = ()) -> str:
    """What an element says, as one line; blocks inside it are set apart by a space.

    Args:
        element: Any element; its tail does not count.
        without: Elements of these names are left out with what they hold.
    """
    text = "".join(_pieces(element, without))
    return " ".join(without_han_breaks(text).split()) if is_block(element) else text


def without_han_breaks(text: str) -> str:
    """The text without line breaks of the source between two Chinese characters: no space belongs there."""
    return _HAN_BREAK.sub("", text)


def _pieces(element: etree._Element, without: tuple[str, ...]) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        tag = tag_of(child)
        if tag not in without:
            apart = " " if tag and tag not in _INLINE and ":" not in tag else ""
            yield apart
            yield from _pieces(child, without)
            yield apart
        elif without:
            yield " "
        yield child.tail or ""
