"""A token count for models whose tokenizer is not at hand: an estimate that would rather be too high.

Tokenizers of embedding endpoints are many, and their tables are fetched over the network. What is needed of a count is
that chunks stay below the model's limit and that requests stay below the endpoint's. So each stretch of text counts as
whichever of the two common families (byte-level BPE, WordPiece) takes more for it:

| stretch | tokens |
|---|---|
| run of up to 24 ASCII letters (a word) | one for every 4 letters begun |
| any other run of ASCII letters and digits (hex, base64, numbers, identifiers) | one for every character |
| ASCII punctuation, control character | one |
| white space | one for each run that is more than a single blank |
| anything else | one for every 2 bytes of UTF-8 begun: 1.5 for a Chinese character |

Where a real tokenizer still takes more, the endpoint refuses the request and the embedder divides it.
"""

from __future__ import annotations

import re

_STRETCH = re.compile(
    r"([A-Za-z]{1,24}(?![A-Za-z0-9]))|([A-Za-z0-9]+)|( (?! ))|([ \t\r\n\f\v]+)|([^\x00-\x7f]+)|(.)", re.DOTALL
)
_WORD, _CODE, _BLANK, _SPACE, _WIDE = 1, 2, 3, 4, 5
_LETTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Tokens that `text` takes at most with a usual tokenizer. Empty text has none."""
    return sum(_tokens_of(match) for match in _STRETCH.finditer(text))


def _tokens_of(match: re.Match[str]) -> int:
    kind = match.lastindex
    if kind == _WORD:
        return -(-(match.end() - match.start()) // _LETTERS_PER_TOKEN)
    if kind == _CODE:
        return match.end() - match.start()
    if kind == _BLANK:
        return 0
    if kind == _WIDE:
        return -(-len(match.group().encode("utf-8", "surrogatepass")) // 2)
    return 1
