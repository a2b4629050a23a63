"""A workspace whose chat model reads: capitalised words are entities, and the first of them knows the second."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lorebase.models.chat import ChatModel, ChatProfile, ChatRequest
from lorebase.models.settings import ChatModelSpec
from tests.fakes.scripted_chat import Answer, ScriptedChat
from tests.fakes.workspace import FakeWorkspace

_NAME = re.compile(r"\b[A-Z][a-z]+\b|[\u4e00-\u9fff]{2}(?=。)")
_LISTED = re.compile(r"^- (.+)$", re.MULTILINE)


def text_of(request: ChatRequest) -> str:
    """The text that a request is about, without the marks around it."""
    return request.turns[0].text.split("\n", 1)[1].rsplit("\n", 1)[0]


def asks_for_relations(request: ChatRequest) -> bool:
    """Whether a request is about relations."""
    return '{"relations"' in request.system


def read(request: ChatRequest) -> str:
    """The right answer to a question about entities or relations."""
    if asks_for_relations(request):
        names = _LISTED.findall(text_of(request))
        return json.dumps({"relations": [{"source": names[0], "target": names[1], "type": "knows"}]})
    names = dict.fromkeys(_NAME.findall(text_of(request)))
    return json.dumps({"entities": [{"name": name, "type": "person"} for name in names]})


class ReadingWorkspace(FakeWorkspace):
    """A workspace in a folder with a chat model that reads.

    Attributes:
        asked: How often each text was asked about, by "entities" and "relations", over all builds.
        spoil: Gives another answer to a request; None leaves it as it is.
        requests: Every question, over all builds.
        model: Name that the model goes by.
        max_concurrency: How many questions it takes on at once.
    """

    def __init__(self, folder: Path, spoil: Callable[[ChatRequest], Answer | None] = lambda request: None) -> None:
        super().__init__(folder)
        self.asked: dict[str, Counter[str]] = {"entities": Counter(), "relations": Counter()}
        self.spoil = spoil
        self.requests: list[ChatRequest] = []
        self.model = "scripted"
        self.max_concurrency = 8

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        del spec
        profile = ChatProfile("fake", self.model)
        return ScriptedChat(self._answer, profile=profile, max_concurrency=self.max_concurrency)

    def _answer(self, request: ChatRequest) -> Answer:
        self.requests.append(request)
        self.asked["relations" if asks_for_relations(request) else "entities"][text_of(request)] += 1
        return self.spoil(request) or read(request)

    @property
    def calls(self) -> int:
        """How often the model was asked, over all builds."""
        return len(self.requests)


def when(marker: str, answer: Answer) -> Callable[[ChatRequest], Answer | None]:
    """Spoils the answers about texts that hold a marker."""
    return lambda request: answer if marker in text_of(request) else None
