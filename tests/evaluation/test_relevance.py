"""Which results answer a question."""

from __future__ import annotations

from lorebase.evaluation.model import Expected
from lorebase.evaluation.relevance import judge, normal_text
from lorebase.retrieval.model import Citation, ResultDocument, SearchResult


def result(chunk_id: str, text: str, document: str = "a.md") -> SearchResult:
    return SearchResult(
        rank=1,
        score=1.0,
        chunk_id=chunk_id,
        text=text,
        document=ResultDocument(id=f"id-{document}", name=document, source="s"),
        citation=Citation(heading_path=(), page=None, start=0, end=len(text)),
    )


def test_texts_are_compared_without_regard_to_width_case_and_white_space() -> None:
    assert normal_text("Ｔｈｅ  Limit\nis ５ items") == "the limit is 5 items"
    assert normal_text("读者 每次\n可借 5 册。") == normal_text("读者每次可借5册。")


def test_a_text_answers_from_any_chunk_that_contains_it() -> None:
    results = [result("1", "Nothing here."), result("2", "读者每次可借\n５册。"), result("3", "每次可借5册")]

    judged = judge(Expected(texts=("可借5册",)), results)

    assert judged.relevant == (False, True, True)
    assert judged.ranked == ("chunk 1", "answer")
    assert judged.wanted == {"answer": 1}


def test_a_text_with_a_document_answers_from_that_document_alone() -> None:
    results = [result("1", "nine crowns", "other.md"), result("2", "nine crowns", "fees.md")]

    judged = judge(Expected(texts=("nine crowns",), documents={"fees.md": 1}), results)

    assert judged.relevant == (False, True)


def test_a_document_counts_where_its_first_chunk_stands_by_name_or_id() -> None:
    results = [result("1", "x", "b.md"), result("2", "y", "a.md"), result("3", "z", "a.md")]

    by_name = judge(Expected(documents={"a.md": 1}), results)
    by_id = judge(Expected(documents={"id-a.md": 1}), results)

    assert by_name.ranked == ("id-b.md", "a.md")
    assert by_name.relevant == by_id.relevant == (False, True, True)


def test_chunks_count_alone_where_they_are_given() -> None:
    judged = judge(Expected(chunks={"2": 1}, texts=("x",)), [result("1", "x"), result("2", "y")])

    assert judged.relevant == (False, True)
