"""Words that name nothing: what is left of a text without them is what can be looked up. English and Chinese, as data.

Only words that do so wherever they stand are here by themselves. Those that may be a subject as well ("document",
"summary", "will", 资料) are here with the words beside them that take this from them: "this document" is what is being
asked, "a document" may be what is asked about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from lorebase.extraction.resolution_forms import name_tokens

_ENGLISH_WORDS = """
a an the this that these those here there
i me my mine you your yours he him his she her hers it its we our ours they them their theirs myself yourself itself
one ones someone anyone everyone somebody anybody everybody nobody something anything everything nothing
who whom whose what which when where why how whatever
am is are was were be been being do does did done doing have has had having can could may might must shall should would
and or but if because as than so then not no nor of in on at by for with from to into about over under up down out off
through during before after above below between against around without within across along behind beside since until
very really just only also too again now well more most some any all else other another same such much many few lot
bit quite maybe perhaps actually exactly ever always never both each every still yet already
s t re ll ve d m don doesn didn isn aren wasn weren won wouldn couldn shouldn
get gets got go goes going come comes give gives tell tells told say says said show shows know knows think want wants
need needs like likes see look looks find make makes made let ask asked asking talk speak explain describe summarize
summarise happen happens happened contain contains cover covers covered
hi hello hey hiya greetings goodbye bye thanks thank please sorry ok okay yes yeah yep nope welcome cheers
"""
_ENGLISH_PHRASES = """
tell us | give us | show us | help us | let us | to us | for us | with us | about us
good morning | good afternoon | good evening | something interesting | anything interesting | kind of | sort of
help me | you help | can help | will you | you will | will it | it will | will they | what will | who will | will i
do you mean | does it mean | does that mean | does this mean | does it work | does this work | does that work
your name | your purpose | your job | a question | this question | my question | your answer | the answer | answer me
"""
_DETERMINERS = "a an the any some more all other further this that these those your what which me"
_ADJECTIVES = "main key general brief short quick important basic interesting"
_SPEECH = """
overview summary introduction example examples detail details information info topic topics subject subjects content
contents thing things stuff idea ideas point points fact facts
"""
_POINTERS = "this these that those your our"
_BASES = ("collection", "corpus", "knowledge base", "knowledgebase", "base", "dataset", "data set", "repository")
_DOCUMENTS = "document documents docs file files text texts material materials book books source sources"
_SURROUNDED = ("about the {}", "in the {}", "of the {}", "from the {}", "the {} about", "the {} contain")

_CHINESE_WORDS = """
的 了 吗 呢 吧 啊 呀 嘛 么 哦 嗯 是 有 在 和 与 或 我 你 您 他 她 它 这 那 哪 谁 啥 何 都 也 还 再 就 又 很 最
更 不 没 别 要 想 能 会 给 把 被 让 请 说 讲 问 看 做 干 叫 来 去 到 个 些 好 嗨 嘿 喂
我们 你们 您们 他们 她们 它们 咱们 大家 自己 这里 那里 哪里 这儿 那儿 哪儿 这样 那样 怎样 什么 甚么 怎么 怎么样
为什么 为何 如何 多少 是否 能否 可以 可能 可否 能够 应该 需要 知道 告诉 介绍 说明 解释 总结 概括 概述 描述
聊聊 谈谈 一下 一点 一个 一些 一句 有关 关于 对于 主要 大概 大致 简单 简要 详细 具体 更多 其他 其它 另外
然后 所以 因为 但是 如果 而且 或者 以及 现在 真的 到底 究竟 可不可以 里面 里头 包括 包含 涉及 涵盖 收录
继续 接着 往下
哈喽 大家好 早上好 上午好 下午好 晚上好 早安 晚安 再见 拜拜 谢谢 多谢 感谢 不客气 对不起 抱歉 请问 麻烦
行吗 对吗 太好了 帮我 帮帮我 帮忙 帮助我
东西 事情 什么事 怎么回事 内容 意思 方面 主题 话题 情况 概况 例子 细节 详情 摘要 简介 什么名字 你的名字
什么信息 哪些信息 更多信息 一些信息 详细信息 其他信息 更多资料 什么资料 哪些资料
"""
_CHINESE_POINTERS = "这 这个 这些 这份 这套 这批 这本 这几 那个 那些 本 该 此 你的 你们的 您的"
_CHINESE_BASES = "知识库 资料库 文档库 语料库"
_CHINESE_DOCUMENTS = "数据库 数据集 文集 集合 库 资料 文档 文件 材料 书"
_CHINESE_INSIDE = "里 中 内 里面 里头"
_CHINESE_TELLING = "讲 说 介绍 包含 包括 收录 涉及 涵盖 主要 关于 的内容 有什么"


def _phrases() -> Iterator[str]:
    yield from (*_ENGLISH_WORDS.split(), *_CHINESE_WORDS.split())
    yield from _ENGLISH_PHRASES.replace("\n", "|").split("|")
    documents = _DOCUMENTS.split()
    yield from _each("{} {} {}", _DETERMINERS.split(), ["", *_ADJECTIVES.split()], _SPEECH.split())
    yield from _each("{} {}", [*_POINTERS.split(), "the"], _BASES)
    yield from _each("{} {}", _POINTERS.split(), documents)
    yield from (pattern.format(noun) for pattern, noun in product(_SURROUNDED, documents))
    bases = _CHINESE_BASES.split()
    nouns = [*bases, *_CHINESE_DOCUMENTS.split()]
    yield from _each("{}{}", _CHINESE_POINTERS.split(), nouns)
    yield from _each("{}{}", nouns, _CHINESE_INSIDE.split())
    yield from _each("{}{}", bases, _CHINESE_TELLING.split())


def _each(pattern: str, *parts: Iterable[str]) -> Iterator[str]:
    return (pattern.format(*chosen) for chosen in product(*parts))


NAMELESS = frozenset(tokens for phrase in _phrases() if (tokens := tuple(name_tokens(phrase))))
"""Words and phrases as `name_tokens` gives them: words of spaced scripts, single characters of the others."""

LONGEST = max(map(len, NAMELESS))
"""Tokens of the longest of them."""
