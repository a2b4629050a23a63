"""How a text is cut into the pieces of a stream: by Unicode characters, between characters as readers see them."""

from __future__ import annotations

from collections.abc import Iterator

import regex

_GRAPHEME = regex.compile(r"\X")


def text_pieces(text: str, max_chars: int) -> Iterator[str]:
    """Cut a text into pieces of at most `max_chars`, in order, losing nothing.

    Lengths are code points. A cut falls between grapheme clusters, so that no reader sees half an emoji sequence, a
    letter without its accent or half a line end; a piece is then a little shorter than it could be. Only a cluster
    that is longer than a whole piece (there is no limit to combining marks) is cut inside, between code points.

    Args:
        text: Any text; an empty one gives no pieces.
        max_chars: Longest piece in code points, at least 1.

    Yields:
        Pieces, none of them empty; joined they are the text.
    """
    start = 0
    for cluster in _GRAPHEME.finditer(text):
        while cluster.end() - start > max_chars:
            cut = cluster.start() if cluster.start() > start else start + max_chars
            yield text[start:cut]
            start = cut
    if start < len(text):
        yield text[start:]
