"""The built-in card types as a table."""

from __future__ import annotations

from typing import Final

from lorebase.registry.card_lines import read_card_fields, read_sections
from lorebase.registry.card_types import CardLayer, CardType, derived_template


def _builtin(
    type_id: str,
    label: str,
    description: str,
    *,
    sections: tuple[str, ...],
    fields: tuple[str, ...] = (),
    examples: tuple[str, ...] = (),
    layer: CardLayer = "type",
    group: str = "",
) -> CardType:
    parsed, parsed_fields = read_sections(sections), read_card_fields(fields)
    return CardType(
        id=type_id,
        label=label,
        description=description,
        layer=layer,
        group=group,
        sections=parsed,
        fields=parsed_fields,
        examples=examples,
        template=derived_template(type_id, parsed, parsed_fields),
        builtin=True,
    )


BUILTIN_CARD_TYPES: Final[tuple[CardType, ...]] = (
    _builtin(
        "concept",
        "Concept",
        "What a term means here, where it holds, and what it stands next to.",
        sections=(
            "Definition | one paragraph that stands alone | required",
            "Scope | where the term holds and where it does not",
            "Related | neighbouring terms",
        ),
        examples=("Active customer", "活跃客户"),
    ),
    _builtin(
        "entity",
        "Entity",
        "A thing with a name: a product, a system, a team, a place.",
        sections=(
            "Overview | what it is | required",
            "Attributes | properties with their values",
            "Relations | how it stands to other entities",
        ),
        examples=("Billing system", "计费系统"),
    ),
    _builtin(
        "metric",
        "Metric",
        "A figure, how it is computed, and how it is to be read.",
        sections=(
            "Definition | what it measures | required",
            "Formula | how it is computed | required",
            "Dimensions | by what it may be broken down",
            "Caveats | when it misleads",
        ),
        fields=("unit | Unit | string", "owner | Owner | string"),
        examples=("Monthly active users", "月活跃用户数"),
    ),
    _builtin(
        "procedure",
        "Procedure",
        "How something is done, step by step.",
        sections=(
            "Purpose | what it is for | required",
            "Preconditions | what must hold before",
            "Steps | numbered, one action each | required",
            "Result | how to tell that it worked",
        ),
        examples=("Restore a backup", "恢复备份"),
    ),
    _builtin(
        "faq",
        "FAQ",
        "A question as people ask it, with its answer.",
        sections=(
            "Question | as it is asked | required",
            "Answer | short and complete | required",
            "Scope | for whom and when it holds",
        ),
        examples=("How do I reset my password?", "如何重置密码？"),
    ),
    _builtin(
        "check_point",
        "Check point",
        "What is looked at to find out whether something is in order.",
        sections=(
            "What to check | the thing and its place | required",
            "How | command, query or look | required",
            "Normal range | what is in order",
            "On deviation | what to do otherwise",
        ),
        fields=("metric | Metric | string", "threshold | Threshold | string"),
        examples=("Replication lag", "主从延迟"),
        group="diagnosis",
    ),
    _builtin(
        "failure_reason",
        "Failure reason",
        "Why something fails, how to tell, and what helps.",
        sections=(
            "Symptom | what is seen | required",
            "Cause | why it happens | required",
            "Evidence | what proves the cause",
            "Remedy | what helps",
        ),
        fields=("severity | Severity | enum(low, medium, high, critical)",),
        examples=("Disk full", "磁盘已满"),
        group="diagnosis",
    ),
    _builtin(
        "case",
        "Case",
        "One thing that happened, how it was understood, and how it ended.",
        sections=(
            "Situation | what happened | required",
            "Analysis | how it was understood",
            "Outcome | how it ended | required",
        ),
        fields=("occurred_at | Occurred at | date",),
        examples=("Outage of the order service in May", "五月订单服务故障"),
        layer="instance",
    ),
)
"""In fixed order."""
