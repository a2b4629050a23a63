"""Which column or field of a table says what, by its name in English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lorebase.extraction.folding import folded

ROLES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "questions", "q", "query", "问题", "问", "提问", "标准问", "标准问题", "問題"),
    "answer": ("answer", "answers", "a", "reply", "response", "答案", "回答", "答", "答复", "回复", "标准答案"),
    "variants": (
        "variants", "variant", "aliases", "alias", "similar", "similar questions", "alternatives", "synonyms",
        "相似问", "相似问题", "相似问法", "同义问", "别名", "扩展问", "其他问法",
    ),
    "enabled": ("enabled", "active", "is_enabled", "enable", "启用", "是否启用", "有效", "是否有效"),
    "disabled": ("disabled", "inactive", "is_disabled", "停用", "禁用", "是否停用", "是否禁用"),
    "status": ("status", "state", "状态"),
}  # fmt: skip
"""Names of each role, the usual one first."""

_NO = frozenset(
    {"0", "no", "n", "false", "f", "off", "否", "不", "假", "disabled", "inactive", "停用", "禁用", "关闭", "下线", "x"}
)
_YES = frozenset({"1", "yes", "y", "true", "t", "on", "是", "真", "enabled", "active", "启用", "开启", "有效", "上线"})
_VARIANT_SEPARATOR = re.compile(r"\s*[|｜\n；;]\s*")


@dataclass(frozen=True, slots=True)
class FaqValues:
    """What one row or record says.

    Attributes:
        question: The question, trimmed.
        answer: The answer, trimmed.
        variants: Other wordings.
        enabled: Whether it may be given; True where nothing says otherwise.
        unclear: A value that should say whether it is enabled and says neither.
    """

    question: str
    answer: str
    variants: tuple[str, ...]
    enabled: bool
    unclear: str = ""


def roles_of(names: Sequence[str], given: Mapping[str, str]) -> dict[str, int]:
    """The place of each role among the names of columns; roles that no name stands for are left out.

    Args:
        names: Names of the columns.
        given: Names that a recipe gives roles; they come before the usual ones.
    """
    places = {folded(name): place for place, name in reversed(list(enumerate(names)))}
    found: dict[str, int] = {}
    for role, usual in ROLES.items():
        wanted = (given[role],) if role in given else usual
        place = next((places[folded(name)] for name in wanted if folded(name) in places), None)
        if place is not None and place not in found.values():
            found[role] = place
    return found


def is_faq(roles: Mapping[str, int]) -> bool:
    """Whether a table with these columns is one of questions and answers."""
    return "question" in roles and "answer" in roles


def values_of(cells: Sequence[str | Sequence[str]], roles: Mapping[str, int]) -> FaqValues:
    """What a row says. A cell may be a list of texts, as records have them."""

    def cell(role: str) -> str | Sequence[str]:
        place = roles.get(role)
        return cells[place] if place is not None and place < len(cells) else ""

    enabled, unclear = True, ""
    for role in ("enabled", "disabled", "status"):
        said = folded(_text(cell(role)))
        if not said:
            continue
        if said in _NO or said in _YES:
            enabled = enabled and (said in _YES) != (role == "disabled")
        elif role != "status":  # a status may be any word
            enabled, unclear = False, said
    return FaqValues(_text(cell("question")), _text(cell("answer")), variants_of(cell("variants")), enabled, unclear)


def is_switch(text: str) -> bool:
    """Whether a text says yes or no."""
    return folded(text) in _YES | _NO


def variants_of(value: str | Sequence[str]) -> tuple[str, ...]:
    """Wordings from a list, or from a text that parts them with bars, semicolons or line breaks."""
    parts = _VARIANT_SEPARATOR.split(value) if isinstance(value, str) else value
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _text(value: str | Sequence[str]) -> str:
    return (value if isinstance(value, str) else "\n".join(value)).strip()
