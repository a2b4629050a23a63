"""Cards without a model: sentences of the evidence, put under the headings that they fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lorebase.cards.model import CardCitation, CardSentence, FilledField, FilledSection
from lorebase.cards.sentences import sentences_of
from lorebase.cards.subjects import plain_title
from lorebase.documents.model import Chunk
from lorebase.extraction.folding import FoldedText, folded
from lorebase.index.words import passage_words, query_words
from lorebase.registry.card_parts import CardSection
from lorebase.registry.card_types import CardType
from lorebase.registry.declared_fields import DeclaredField

RULES_VERSION = 1
"""Raised whenever the rules would write another card of the same evidence."""

MAX_SENTENCES_A_SECTION = 4
_MAX_SENTENCE_CHARS = 600
_LEAST_WORDS = 2
_MARKUP = re.compile(r"^(?:#{1,6}\s+|[-*+]\s+|\d+[.)]\s+|>\s*|\|)|[*_`]{1,3}|\|\s*$")

SECTION_WORDS: dict[str, str] = {
    "definition": "definition means is defined as refers to 定义 是指 指的是 是",
    "overview": "overview summary introduction 概述 简介 概况 介绍",
    "scope": "scope applies except only where not 范围 适用 不适用 除外 仅",
    "related": "related see also compare 相关 参见 另见",
    "attributes": "has attributes properties 属性 特征 具有",
    "relations": "belongs part owned managed by reports to 属于 隶属 管理 负责 关系",
    "formula": "formula divided multiplied sum ratio per 公式 除以 乘以 之和 比率",
    "dimensions": "by dimension broken down per 维度 按",
    "caveats": "caveat but except misleading careful 注意 但 例外",
    "purpose": "purpose in order to aim 目的 为了 用于",
    "preconditions": "before must first require need 前提 之前 必须 需要 先",
    "steps": "step then next first finally 步骤 然后 接着 首先 最后",
    "result": "result then done confirm 结果 完成 确认",
    "question": "question 问 问题",
    "answer": "answer 答 答案",
    "how": "how by check run look 如何 方法 检查 查看",
    "normal range": "normal between at most at least 正常 范围 至多 至少 不超过",
    "on deviation": "otherwise if deviation alarm 否则 异常 偏离 如果",
    "symptom": "symptom seen appears fails error 症状 现象 报错",
    "cause": "because cause due reason 原因 因为 由于",
    "evidence": "evidence log shows proves 证据 日志 表明",
    "remedy": "remedy fix repair replace restart 处理 解决 修复 更换 重启",
    "situation": "happened on when 发生 当时",
    "analysis": "because analysis found that 分析 发现 因为",
    "outcome": "outcome ended result finally 结果 最终",
}
"""Words that speak for a built-in heading, in both languages; other headings have those of their title and hint."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    evidence: int
    heading: str
    names_subject: bool
    place: int


def write_by_rules(
    names: Sequence[str], card_type: CardType, chunks: Sequence[Chunk]
) -> tuple[tuple[FilledSection, ...], tuple[FilledField, ...]]:
    """Sections and fields of sentences and values that stand in the evidence. What nothing fits stays empty.

    The first heading takes the sentences that name the subject; every other one those that share its words, or stand
    under a heading of its name.

    Args:
        names: Names of the subject.
        card_type: Which headings and fields there are.
        chunks: The evidence; citations count from 1 in its order.
    """
    lines = _lines(names, chunks)
    used: set[int] = set()
    filled: dict[str, list[_Line]] = {}
    for section in card_type.sections[1:]:
        filled[section.title] = _fitting(section, [line for line in lines if line.place not in used])
        used |= {line.place for line in filled[section.title]}
    first = card_type.sections[0]
    rest = [line for line in lines if line.place not in used]
    opening = [line for line in rest if line.names_subject] or rest or lines
    filled[first.title] = opening[:MAX_SENTENCES_A_SECTION]
    sections = tuple(
        FilledSection(title=section.title, sentences=tuple(_sentence(line) for line in filled[section.title]))
        for section in card_type.sections
        if filled[section.title]
    )
    fields = (_value(field, lines) for field in card_type.fields)
    return sections, tuple(field for field in fields if field is not None)


def _lines(names: Sequence[str], chunks: Sequence[Chunk]) -> list[_Line]:
    lines: list[_Line] = []
    seen: set[str] = set()
    for number, chunk in enumerate(chunks, start=1):
        if chunk.kind == "code":
            continue
        titles = {folded(form) for title in chunk.heading_path for form in (title, plain_title(title))}
        for sentence in sentences_of(chunk.text, is_table=chunk.kind == "table"):
            text = _MARKUP.sub("", sentence).strip()
            key = folded(text)
            is_title = key in titles or folded(plain_title(text)) in titles or sentence.startswith("#")
            if is_title or key in seen or len(text) > _MAX_SENTENCE_CHARS or len(passage_words(text)) < _LEAST_WORDS:
                continue
            seen.add(key)
            named = any(FoldedText(text).find(name) is not None for name in names)
            heading = " ".join(chunk.heading_path)
            # A quote is looked for in the evidence as it stands there, so the sentence keeps its own markup.
            lines.append(_Line(sentence, number, heading, named, len(lines)))
    return lines


def _fitting(section: CardSection, lines: Sequence[_Line]) -> list[_Line]:
    """The lines that speak of a section, best first among equals in reading order."""
    title = section.title.casefold()
    words = set(query_words(SECTION_WORDS.get(title, f"{section.title} {section.hint}")))
    title_words = set(query_words(section.title))
    scored = []
    for line in lines:
        under = bool(title_words) and title_words <= set(passage_words(line.heading))
        shared = len(words & set(passage_words(line.text)))
        if under or shared:
            scored.append(((not under, -shared, line.place), line))
    best = [line for _, line in sorted(scored, key=lambda pair: pair[0])[:MAX_SENTENCES_A_SECTION]]
    return sorted(best, key=lambda line: line.place)


def _sentence(line: _Line) -> CardSentence:
    text = _MARKUP.sub("", line.text).strip()
    return CardSentence(text=text, citations=(CardCitation(evidence=line.evidence, quote=line.text),))


def _value(field: DeclaredField, lines: Sequence[_Line]) -> FilledField | None:
    """The value that stands as `label: value`; None where it stands nowhere or is of another type."""
    names = "|".join(re.escape(name) for name in {field.key, field.label, field.key.replace("_", " ")} if name)
    pattern = re.compile(rf"(?:^|[\s|,;，；])(?:{names})\s*[:：=]\s*([^|,;，；。]{{1,200}})", re.IGNORECASE)
    for line in lines:
        match = pattern.search(line.text)
        value = typed_value(field, match.group(1).strip().rstrip(".")) if match else None
        if value is not None:
            return FilledField(
                key=field.key, value=value, citations=(CardCitation(evidence=line.evidence, quote=line.text),)
            )
    return None


def typed_value(field: DeclaredField, text: str) -> str | float | bool | None:
    """A text as a value of a field's type; None for a blank one, the text itself where it is of another type."""
    text = text.strip()
    if not text:
        return None
    if field.type == "number":
        try:
            return float(text.replace(",", ""))
        except ValueError:
            return text
    if field.type == "boolean":
        return {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}.get(text.lower(), text)
    if field.type == "enum":
        return next((option for option in field.options if option.casefold() == text.casefold()), text)
    return text
