"""The page of a graph: one file that runs nothing and asks nobody."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.cli.graph_page import graph_page
from lorebase.retrieval.graph_views import EntityView, EvidenceView, GraphView, RelationView

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def entity(key: str, name: str, hops: int = 0, **values: object) -> EntityView:
    facts = {"types": ("concept",), "aliases": (), "description": "", "community": 0, "chunks": 1, "documents": 1}
    return EntityView(entity_id=key, name=name, hops=hops, **{**facts, **values})


def view(name: str, keyword: str, text: str) -> GraphView:
    relation = RelationView(
        source_id="e1",
        source=name,
        name=keyword,
        target_id="e2",
        target="海洋局",
        weight=1.0,
        chunks=1,
        evidence=(EvidenceView(chunk_id="c1", document_id="d1", document=f"{name}.md", excerpt=text),),
    )
    entities = (entity("e1", name, aliases=(text,), description=text, types=(keyword,)), entity("e2", "海洋局", 1))
    return GraphView(base_name="demo", centre="e1", entities=entities, relations=(relation,))


def test_the_page_draws_every_entity_and_relation() -> None:
    page = graph_page(view("灯塔", "由管理", "灯塔由海洋局管理。"))

    parsed = _Tags()
    parsed.feed(page)
    assert (parsed.tags.count("g"), parsed.tags.count("line")) == (2, 1)
    assert "灯塔由海洋局管理。" in page


@settings(max_examples=50, deadline=None)
@given(st.sampled_from([EVIL, "javascript:alert(1)", "&lt;", "]]>", "']/*"]) | st.text(max_size=30))
def test_no_text_of_the_graph_becomes_a_tag_or_an_attribute(text: str) -> None:
    parsed = _Tags()

    parsed.feed(graph_page(view(text, text, text)))

    calm = _Tags()
    calm.feed(graph_page(view("x", "x", "x")))
    assert set(parsed.tags) == set(calm.tags)
    assert {name for name, _ in parsed.attributes} == {name for name, _ in calm.attributes}
    assert not {"script", "img", "link", "iframe", "object"} & set(parsed.tags)
    assert not {name for name, _ in parsed.attributes if name.startswith("on") or name in {"src", "href"}}


def test_the_page_asks_nothing_of_the_network() -> None:
    page = graph_page(view("灯塔", "由管理", "text"))

    assert "default-src 'none'" in page
    assert re.findall(r"https?://|//[a-z]|url\((?!#)|@import", page) == []


def test_an_overview_and_an_empty_graph_have_a_page_too() -> None:
    overview = view("灯塔", "由管理", "text").model_copy(update={"centre": None})
    empty = GraphView(base_name="demo", centre=None, entities=(), relations=())

    assert "Graph of demo" in graph_page(overview)
    assert "Graph of demo" in graph_page(empty)
