"""Words that a question has because it is one, in the form that `lorebase.index.words.query_words` gives them."""

from __future__ import annotations

_ENGLISH = """
a an and are as at be been by did do doe done for from had has have how in is it mani much of on or that than the there
this to was were what when where which who whom whose whi with
"""

_CHINESE = """
什么 哪些 哪个 哪里 哪种 哪一 哪位 多少 少个 几个 为什 怎么 怎样 如何 是谁 谁是 何时 是什 是哪 么时 时候 有多 吗 呢 甚么
"""

QUESTION_WORDS = frozenset(f"{_ENGLISH} {_CHINESE}".split())
"""English stems, and Chinese pairs of characters; what is left of a question says what it is about."""
