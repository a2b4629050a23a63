"""Rules that tell an intent by its words, English and Chinese, as data.

Texts are compared in NFKC, lower case and simplified characters. Patterns span at most forty characters between two
words, so that they stay in one clause and end in linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lorebase.registry.intents.predicates import Predicate

_GAP = r"[^.!?。!?;;\n]{0,40}?"
_ZH_GAP = r"[^.!?。!?;;\n]{0,20}?"


@dataclass(frozen=True, slots=True)
class IntentRule:
    """One way to say something.

    Attributes:
        name: Short and unique; an intent names the rule that decided.
        predicate: What it asks for.
        pattern: What its text holds.
    """

    name: str
    predicate: Predicate
    pattern: re.Pattern[str]


def _rule(name: str, predicate: Predicate, pattern: str) -> IntentRule:
    return IntentRule(name, predicate, re.compile(pattern))


_THING = (
    r"(?:files?|documents?|docs?|pdfs?|folders?|director(?:y|ies)|pages?|urls?|links?|sources?|manuals?|polic(?:y|ies)|"
    r"handbooks?|reports?|spreadsheets?|tables?|notes?|\S+\.(?:pdf|docx?|xlsx?|pptx?|md|txt|csv|html?)|https?://\S+)"
)
_ZH_THING = r"(?:文件|文档|资料|文件夹|目录|网页|链接|连接|来源|源|手册|制度|报告|报表|表格|pdf|\S+\.(?:pdf|docx?|xlsx?|pptx?|md|txt|csv|html?)|https?://\S+)"
_BASE = r"(?:knowledge(?: ?base)?|base|index(?:es)?|graph|vectors?|embeddings|wiki)"
_ZH_BASE = r"(?:知识库|知识|索引|图谱|向量|知识图谱)"
_CARDS = r"(?:(?:wiki|knowledge) )?(?:cards?|wiki pages?)"
_ZH_CARDS = r"(?:知识卡片|wiki ?卡片?|卡片|知识卡|词条)"

COMMANDS: Final = (
    _rule(
        "propose cards", Predicate.PROPOSE_WIKI_CARDS,
        rf"\b(?:propose|suggest|draft|create|write|make|generate|turn|summari[sz]e|distil)\b{_GAP}\b{_CARDS}\b",
    ),
    _rule(
        "提议卡片", Predicate.PROPOSE_WIKI_CARDS,
        rf"(?:提议|建议|起草|生成|整理|写|沉淀|总结|新建|创建|做)(?!.{{0,12}}(?:什么|吗)){_ZH_GAP}{_ZH_CARDS}",
    ),
    _rule(
        "rebuild", Predicate.REBUILD_KNOWLEDGE,
        rf"\b(?:re-?build|re-?index|re-?compile|re-?generate|refresh|re-?embed|re-?create|build"
        rf"|compile)\b{_GAP}\b{_BASE}\b",
    ),
    _rule(
        "re-index", Predicate.REBUILD_KNOWLEDGE,
        r"\bre-?(?:index|embed)\b|\bre-?build (?:everything|all|it)\b|^(?:please )?re-?build[ .!]*$",
    ),
    _rule(
        "重建", Predicate.REBUILD_KNOWLEDGE,
        rf"(?:重建|重新(?:构建|建立|编译|生成|建|索引|编制)|重构|刷新|重编){_ZH_GAP}{_ZH_BASE}|{_ZH_BASE}(?:重建|重新(?:构建|编译|生成|建)|刷新)",
    ),
    _rule(
        "send", Predicate.SEND_MESSAGE,
        rf"\b(?:send|forward|e-?mail|message|notify|tell|ping|share)\b{_GAP}\b(?:to|with|team|group|channel"
        rf"|colleagues?|"
        r"him|her|them|everyone|e-?mail|message|that)\b|^(?:please )?tell (?!me\b|us\b)\w",
    ),
    _rule(
        "发送", Predicate.SEND_MESSAGE,
        r"(?:发送|发给|发到|转发|通知|告诉(?!我))(?!.{0,6}(?:是什么|制度|规定))|发(?:一?封|一?条|个)?"
        r"(?:邮件|消息|信息|短信|微信)|把.{1,30}发(?:给|到)",
    ),
    _rule(
        "export", Predicate.EXPORT_ARTIFACT,
        rf"\b(?:export|download|save)\b{_GAP}\b(?:as|to|into)\b|\bexport\b|\bdownload\b{_GAP}\b(?:as|report|result"
        rf"|answer|cards?|{_THING})",
    ),
    _rule(
        "导出", Predicate.EXPORT_ARTIFACT,
        r"导出|汇出|下载(?:一下|成|为|到|这|该|本|.{0,10}(?:手册|报告|报表|文档|文件|卡片|结果))|(?:保存|存|另存)(?:成|为|到)|输出(?:成|为)",
    ),
    _rule(
        "add source", Predicate.ADD_SOURCE,
        rf"\b(?:add|import|upload|ingest|include|index|load|attach|take in|put)\b{_GAP}{_THING}",
    ),
    _rule(
        "添加来源", Predicate.ADD_SOURCE,
        rf"(?:添加|新增|增加|加入|导入|汇入|上传|录入|收录|入库|加载){_ZH_GAP}{_ZH_THING}"
        rf"|把(?=.{{0,60}}(?:{_ZH_THING}|{_ZH_BASE})).{{0,50}}?(?:加入|加到|添加到|导入|上传|放进|放到|收进|收录|录入|入库)",
    ),
)  # fmt: skip
"""Orders. They count only in a text that orders: one that asks how to do something is a question."""

SPECIAL_QUESTIONS: Final = (
    _rule("babel", Predicate.QUERY_BABEL_DATA, r"\bbabel\b|巴别"),
    _rule(
        "connections", Predicate.QUERY_GRAPH,
        r"\b(?:knowledge )?graph\b|\b(?:related|connected|linked) (?:to|with)\b|\b(?:relation|relationship"
        r"|connection|link|path)s?"
        r"\b.{0,12}\b(?:between|of|among|from|to)\b|\bdepends? on\b|\bdependenc(?:y|ies) of\b|\bneighbou?rs? of\b"
        r"|\bhow (?:is|are) .{1,40} (?:related|connected|linked)\b",
    ),
    _rule(
        "关系", Predicate.QUERY_GRAPH,
        r"图谱|(?:之间|和|与|跟|与).{0,16}(?:关系|关联|联系|路径)|有(?:什么|哪些|何)(?:关系|关联|联系)"
        r"|上下游|依赖(?:于)?(?:哪些|什么|谁)|(?:哪些|什么).{0,10}依赖|相关联的|邻居节点",
    ),
    _rule(
        "about the base", Predicate.QUERY_METADATA,
        r"\b(?:(?:how many|number of|count of|list)\b.{0,24}|(?:which|what)(?: are)?(?: (?!to\b|\w+s\b)\w+){0,2} )"
        r"\b(?:documents|docs|files|sources|cards|chunks|knowledge bases|source types|card types)\b"
        r"(?! (?:say|says|mention|state|require|do i need|are required|are needed))"
        r"|\bmetadata\b|\blast (?:updated|built|build|rebuild|rebuilt|ingested)\b|\bwhen (?:was|were) .{1,40} "
        r"(?:updated|added|built|uploaded|ingested|indexed)\b|\bwho (?:uploaded|added)\b|\bversion history\b",
    ),
    _rule(
        "元数据", Predicate.QUERY_METADATA,
        r"元数据|元资料|(?:多少|几)(?:个|篇|份|张|条|种)?(?:文档|文件|资料|卡片|来源|知识库|切片|分块)|(?<!需要)(?<!准备)(?<!提交)(?:哪些|列出|有哪几)[^能可会由被需应必]{0,8}"
        r"(?:文档|文件|资料|卡片|来源|知识库|源类型|卡片类型)(?!.{0,8}(?:提到|说|规定|要求|需要))|(?:最近|上次|最后|什么时候|何时).{0,16}"
        r"(?:更新|构建|重建|导入|上传|入库|添加)|(?:谁|哪位).{0,4}(?:上传|添加|导入)|版本历史",
    ),
    _rule(
        "original wording", Predicate.QUERY_SOURCE_TRUTH,
        r"\b(?:original|exact|source|verbatim|full) (?:text|wording|document|passage|paragraph|file|quote"
        r"|clause)\b|\bverbatim\b"
        r"|\bquote\b.{0,40}\b(?:from|of|the|section|clause)\b|\bword for word\b"
        r"|\bwhere (?:is|does|in).{0,40}\b(?:written|say|stated|mentioned|document|come from)\b|\bshow me the source\b"
        r"|\bwhich (?:document|file|page|section|source)s?\b.{0,30}\b(?:says?|mentions?|states?|defines?)\b",
    ),
    _rule(
        "原文", Predicate.QUERY_SOURCE_TRUTH,
        r"原文|原话|原始(?:文档|文件|资料|材料)|出处|(?:哪个|哪份|哪篇|哪一页|哪里|哪一条|哪些).{0,14}(?:写|提到|规定|说|记载)"
        r"|一字不差|逐字|来源是(?:哪|什么)|引用原句",
    ),
)  # fmt: skip
"""Questions that are about something else than what the base knows."""

QUESTION: Final = re.compile(
    r"[??]|^(?:what|who|whom|whose|when|where|which|why|how|is|are|was|were|does|do(?! not\b)|did|can|could|may"
    r"|should|must|will|would|"
    r"explain|describe|define|tell me|search|find|look up|show|give me|list|summari[sz]e|compare|i (?:want|need"
    r"|would like) to know)\b"
    r"|什么|怎么|怎样|如何|为什么|为何|哪|谁|多少|几(?:天|个|次|年|月|点|级)|吗|呢|是否|能否|能不能|可不可以|可否"
    r"|有没有|关于.{1,20}的(?:规定|制度|要求|政策|说明)|^(?:请|帮我|请帮我|麻烦){0,2}(?:查|查询|查一下|搜索|搜一下|检索|检索一下|介绍|解释|说明"
    r"|对比|比较|请问)|定义|含义|区别"
)
"""Texts that ask at all."""

ASKS_HOW: Final = re.compile(
    r"^(?:please |so |and |well |hi|hello|hey)?[, ]*(?:how|why|what|when|where|who|which|is|are|was|were|does"
    r"|do(?! not\b)|did|should|must|may|"
    r"am|has|have|explain|describe|tell me (?:how|why|what|when|where|who|about)|(?:can|could) (?:you )?(?:explain"
    r"|describe|tell me)"
    r"|(?:can|could|may|should|must) (?:i|we|one|anyone|employees)|show me (?:how|where)|i (?:want|need"
    r"|would like) to know)\b"
    r"|什么|怎么|怎样|如何|为什么|为何|哪|谁|多少|是否|有没有|步骤|流程|请问|区别"
    r"|关于.{1,20}的(?:规定|制度|要求|政策|说明)|(?:了|过|的)(?:吗|没)"
)
"""Texts that ask about something, so that the orders that they name are not given."""

FORBIDS: Final = re.compile(
    r"\b(?:do not|don't|don’t|never|stop|cancel|not to|without|instead of|no need to|should(?:n't| not))\b"
    r"|不要|别(?!的|人|名|处)|不用|不必|无需|禁止|取消|停止|先不|不准"
)
"""Texts that turn an order down: not clear what they want instead."""
