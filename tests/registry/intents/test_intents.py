"""What people ask for, told from their words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opencc import OpenCC

from lorebase.errors import UnavailableError
from lorebase.registry.intents import (
    PREDICATES,
    Intent,
    Predicate,
    PredicateFacts,
    predicate_named,
    route,
    route_by_rules,
)
from lorebase.registry.intents.rules import COMMANDS, SPECIAL_QUESTIONS

UTTERANCES = {
    "query_babel_data": [
        "Show me the sales figures from Babel",
        "What is the daily active user count in babel for last week?",
        "查一下巴别平台上个月的销售额",
        "从 Babel 里取昨天的订单量",
    ],
    "query_knowledge": [
        "Tell me about the pricing document",
        "What documents do I need for a visa?",
        "List the holidays in 2026",
        "告诉我年假有几天",
        "报销需要哪些文件?",
        "关于导出的规定",
        "帮我查一下报销流程",
        "通知制度是什么",
        "What is the leave policy for new employees?",
        "How many days of annual leave do I have?",
        "How do I rebuild the index?",
        "How can I add a document to the knowledge base?",
        "Why did the conversion rate drop in May?",
        "Explain gross merchandise volume",
        "Can employees send messages to customers?",
        "What does the export report contain?",
        "who approves travel expenses",
        "年假有多少天?",
        "新员工的试用期是多久,怎么申请转正?",
        "怎么导出报表?",
        "如何重建索引?",
        "毛利率的定义",
        "请问差旅费报销流程",
        "转化率下降的原因是什么",
        "解释一下复购率",
        "出差可以坐头等舱吗",
        "What happens to wet documents?",
        "Which laws govern old files?",
        "哪些读者能借阅资料?",
    ],
    "query_source_truth": [
        "Show me the original text of the travel policy",
        "Where in the handbook does it say that overtime is paid?",
        "Quote the clause on termination from the contract",
        "Which document mentions the refund window?",
        "I need the exact wording of section 4",
        "给我看差旅制度的原文",
        "这条规定的出处是什么?",
        "哪份文件写了加班费的标准?",
        "员工手册第三章原话是怎么说的",
    ],
    "query_metadata": [
        "最近更新了哪些文档",
        "How many documents are in the knowledge base?",
        "List all sources",
        "When was the handbook last updated?",
        "Which files have been indexed?",
        "What are the documents of this base?",
        "Which card types exist?",
        "Who uploaded the price list?",
        "知识库里有多少文档?",
        "列出所有来源",
        "知识库上次是什么时候更新的",
        "员工手册是谁上传的?",
        "这份文件的元数据",
    ],
    "query_graph": [
        "How is conversion rate related to traffic?",
        "What is the relationship between orders and refunds?",
        "Show the knowledge graph around revenue",
        "Which services depend on the billing system?",
        "订单和退款之间有什么关系?",
        "展示毛利率的知识图谱",
        "支付系统的上下游有哪些?",
        "哪些指标依赖订单表",
    ],
    "add_source": [
        "请把这个链接收录进来",
        "Could you please add the folder to the base",
        "Add this PDF to the knowledge base",
        "Please import the folder handbook/2026",
        "Could you upload price-list.xlsx?",
        "Ingest https://example.com/policy",
        "把这个文件加入知识库",
        "请上传员工手册.pdf",
        "帮我导入这批文档",
        "新增一个来源:产品手册",
    ],
    "propose_wiki_cards": [
        "Propose wiki cards for the new metrics",
        "Draft a card about churn",
        "Please create knowledge cards from this report",
        "根据这份文档生成知识卡片",
        "帮我起草一张关于复购率的卡片",
        "把会议纪要整理成卡片",
    ],
    "rebuild_knowledge": [
        "Rebuild everything",
        "rebuild",
        "能不能帮我重建索引",
        "Rebuild the knowledge base",
        "please re-index everything",
        "Refresh the graph",
        "重建知识库",
        "请重新构建索引",
        "把知识图谱刷新一下索引",
    ],
    "send_message": [
        "Tell Anna that the meeting has moved",
        "Send this answer to the finance team",
        "Email the summary to Anna",
        "Notify everyone that the release is out",
        "把结果发给财务组",
        "通知大家明天开会",
        "给王经理发一封邮件",
    ],
    "export_artifact": [
        "可以把结果导出来吗",
        "下载员工手册",
        "Export the result as CSV",
        "Save this report as a PDF",
        "Download the answer as Word",
        "导出成 Excel",
        "把这张表另存为 CSV",
        "請匯出報表",
    ],
    "unknown": [
        "取消重建",
        "Delete the file a.pdf",
        "把发票寄给我",
        "",
        "   ",
        "???",
        "hello",
        "你好",
        "asdf qwer",
        "thanks!",
        "42",
        "Don't rebuild the index",
        "不要把文件发给客户",
        "Export the report as PDF and send it to Anna",
        "先导出报表,再发给财务组",
        "ok",
    ],
}  # fmt: skip
TABLE = [(text, predicate) for predicate, texts in UTTERANCES.items() for text in texts]


class FixedModel:
    """Answers always the same, and remembers what it was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.vocabulary: Sequence[PredicateFacts] = ()

    async def predicate_of(self, text: str, vocabulary: Sequence[PredicateFacts]) -> str:
        self.asked.append(text)
        self.vocabulary = vocabulary
        return self.answer


class AbsentModel:
    async def predicate_of(self, text: str, vocabulary: Sequence[PredicateFacts]) -> str:
        raise UnavailableError("No answer.", dependency="model")


def test_the_vocabulary_stands_in_its_order() -> None:
    """D-001, D-002."""
    assert [str(facts.predicate) for facts in PREDICATES] == [
        "query_babel_data",
        "query_knowledge",
        "query_source_truth",
        "query_metadata",
        "query_graph",
        "add_source",
        "propose_wiki_cards",
        "rebuild_knowledge",
        "send_message",
        "export_artifact",
        "unknown",
    ]
    assert [facts.predicate for facts in PREDICATES] == list(Predicate)


def test_the_former_name_of_proposing_cards_is_understood() -> None:
    """D-002."""
    assert predicate_named("write_knowledge_card") is Predicate.PROPOSE_WIKI_CARDS
    assert predicate_named(" Query_Graph\n") is Predicate.QUERY_GRAPH
    assert predicate_named("query_everything") is Predicate.UNKNOWN


@pytest.mark.parametrize(("text", "predicate"), TABLE)
def test_an_utterance_is_told(text: str, predicate: str) -> None:
    """D-001."""
    assert route_by_rules(text).predicate == predicate, route_by_rules(text)


def test_data_of_the_external_platform_are_recognised_and_not_supported() -> None:
    """DQ-28."""
    intent = route_by_rules("Show me the sales figures from Babel")

    assert intent == Intent(Predicate.QUERY_BABEL_DATA, is_supported=False, decided_by="rules", reason="babel")
    assert [facts.predicate for facts in PREDICATES if not facts.is_supported] == ["query_babel_data", "unknown"]


@pytest.mark.parametrize("text", ["ＲＥＢＵＩＬＤ　ｔｈｅ　ｉｎｄｅｘ", "REBUILD\n\tTHE INDEX", " rebuild the index! "])
def test_width_case_and_blanks_make_no_difference(text: str) -> None:
    assert route_by_rules(text).predicate == "rebuild_knowledge"


@pytest.mark.parametrize(("text", "predicate"), [(text, of) for text, of in TABLE if not text.isascii()])
def test_an_utterance_in_traditional_characters_is_told_as_in_simplified_ones(text: str, predicate: str) -> None:
    assert route_by_rules(OpenCC("s2t").convert(text)).predicate == predicate


def test_every_rule_has_a_name_of_its_own_and_every_predicate_a_rule() -> None:
    rules = [*COMMANDS, *SPECIAL_QUESTIONS]

    assert len({rule.name for rule in rules}) == len(rules)
    assert {rule.predicate for rule in rules} == set(Predicate) - {Predicate.UNKNOWN, Predicate.QUERY_KNOWLEDGE}


@given(st.text(st.characters(exclude_categories=[]), max_size=300))
def test_any_text_has_one_intent_and_none_raises(text: str) -> None:
    first, second = route_by_rules(text), route_by_rules(text)

    assert first == second
    assert isinstance(first.predicate, Predicate)
    assert first.decided_by == "rules" or first.predicate is Predicate.UNKNOWN


@given(st.lists(st.sampled_from([text for text, _ in TABLE]), max_size=80))
def test_any_row_of_utterances_has_one_intent_and_none_raises(texts: list[str]) -> None:
    assert route_by_rules(" ".join(texts)) == route_by_rules(" ".join(texts))


@pytest.mark.parametrize("text", ["把" * 100_000, "how is " * 20_000, "add " * 30_000, "之间" * 50_000, "a" * 99_999])
def test_long_texts_are_told_by_their_beginning(text: str) -> None:
    assert route_by_rules(text) == route_by_rules(text[:1000])


async def test_a_model_is_asked_only_where_the_rules_see_nothing() -> None:
    model = FixedModel("query_graph")

    ruled = await route("Rebuild the index", model)
    modelled = await route("churn, traffic", model)

    assert (ruled.predicate, ruled.decided_by) == ("rebuild_knowledge", "rules")
    assert (modelled.predicate, modelled.decided_by, modelled.is_supported) == ("query_graph", "model", True)
    assert model.asked == ["churn, traffic"]
    assert model.vocabulary == PREDICATES


@pytest.mark.parametrize("answer", ["", "unknown", "make_coffee", "query_graph or query_metadata", "\ud800"])
async def test_an_answer_outside_of_the_vocabulary_is_unknown(answer: str) -> None:
    intent = await route("churn, traffic", FixedModel(answer))

    assert (intent.predicate, intent.decided_by) == ("unknown", "nobody")


async def test_no_model_guesses_about_an_order_that_is_turned_down_or_one_of_several() -> None:
    model = FixedModel("send_message")

    turned_down = await route("Do not send this to the customer", model)
    several = await route("导出报表,再发给财务组", model)

    assert (turned_down.predicate, turned_down.decided_by) == ("unknown", "rules")
    assert (several.predicate, several.decided_by) == ("unknown", "rules")
    assert model.asked == []


async def test_a_model_that_is_away_leaves_unknown_with_its_reason() -> None:
    intent = await route("churn, traffic", AbsentModel())

    assert intent == Intent(
        Predicate.UNKNOWN,
        is_supported=False,
        decided_by="nobody",
        reason="the model failed: DEPENDENCY_UNAVAILABLE",
    )


async def test_without_a_model_unclear_texts_are_unknown_and_an_empty_text_is_shown_to_none() -> None:
    model = FixedModel("query_graph")

    assert (await route("churn, traffic")).predicate == "unknown"
    assert (await route("  \n", model)).predicate == "unknown"
    assert model.asked == []
