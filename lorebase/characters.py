"""Chinese characters as they are compared: whoever writes traditional ones finds what is written in simplified ones."""

from __future__ import annotations

from functools import cache

from opencc import OpenCC


def simplified(text: str) -> str:
    """A text with the simplified character for every traditional Chinese one; its length stays.

    Character by character, whatever stands beside it, so that a word gives the same characters wherever it is written.
    The characters are OpenCC's.
    """
    return text if text.isascii() else text.translate(_simplified())


@cache
def _simplified() -> dict[int, str]:
    characters = [chr(code) for code in range(0x3400, 0xA000)]  # the rarer planes hold hardly any that are in use
    converted = OpenCC("t2s").convert("\n".join(characters)).split("\n")
    pairs = zip(characters, converted, strict=True)
    return {ord(before): after for before, after in pairs if before != after and len(after) == 1}
