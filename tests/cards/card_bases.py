"""Bases with cards, built by the real builder, and a chat model that writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from lorebase.artifacts.snapshots import Snapshot, SnapshotStore
from lorebase.cards.deciding import accept_card
from lorebase.cards.reading import snapshot_cards
from lorebase.cards.standing import StandingCard
from lorebase.models.chat import ChatModel, ChatProfile, ChatRequest
from lorebase.models.settings import ChatModelSpec
from lorebase.runs.card_decisions import CardDecision
from tests.fakes.scripted_chat import Answer, ScriptedChat
from tests.fakes.workspace import FakeWorkspace
from tests.runs.snapshot_checks import LAYOUT

HEADINGS = """
name: demo
sources: [{folder: documents}]
models: {embedding: {provider: local}}
partitions: 8
procedures:
  - use: full_text_index
    with: {max_tokens: 60}
  - use: wiki_cards
    with: {mode: rules, card_types: [concept]}
"""
BY_MODEL = HEADINGS.replace("{embedding: {provider: local}}", "{chat: {provider: fake, model: scripted}}").replace(
    "mode: rules, ", ""
)
PIER = "# Pier lamp\n\nThe pier lamp is a signal that burns whale oil. It applies to ships at night.\n"
BERTH = "# Berth fee\n\nThe berth fee is the price of one night. It costs nine crowns.\n"
TOWER = "# 灯塔\n\n灯塔是引导船只的建筑。灯塔每晚八点亮灯。\n"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

_SUBJECT = re.compile("[:：] ?")
_EVIDENCE = re.compile(r"\[(\d+)\] <text-\w+>\n(.*?)\n</text-", re.DOTALL)


def write_card(request: ChatRequest) -> str:
    """The card of a request: its definition is the last sentence of the first evidence."""
    (number, text), *_ = _EVIDENCE.findall(request.turns[0].text)
    quote = text.splitlines()[-1]
    sentence = {"text": quote, "citations": [{"evidence": int(number), "quote": quote}]}
    return json.dumps({"sections": [{"title": "Definition", "sentences": [sentence]}], "fields": []})


class WritingWorkspace(FakeWorkspace):
    """A workspace whose chat model writes cards.

    Attributes:
        requests: What it was asked, over all builds.
        answer: Gives the answer to a request.
    """

    def __init__(self, folder: Path, answer: Callable[[ChatRequest], Answer] = write_card) -> None:
        super().__init__(folder)
        self.requests: list[ChatRequest] = []
        self.answer = answer

    def open_chat(self, spec: ChatModelSpec) -> ChatModel:
        del spec
        return ScriptedChat(self._answered, profile=ChatProfile("fake", "scripted"))

    def _answered(self, request: ChatRequest) -> Answer:
        self.requests.append(request)
        return self.answer(request)

    @property
    def subjects(self) -> list[str]:
        """What cards were asked for, sorted."""
        return sorted(_SUBJECT.split(request.turns[0].text.splitlines()[0])[1] for request in self.requests)


def live_of(workspace: FakeWorkspace) -> Snapshot:
    return SnapshotStore(workspace.object_store, LAYOUT).require_live()


def cards_of(workspace: FakeWorkspace) -> list[StandingCard]:
    return snapshot_cards(workspace.object_store, live_of(workspace))


def standing_of(workspace: FakeWorkspace) -> list[tuple[str, str]]:
    return [(one.card.title, one.status) for one in cards_of(workspace)]


def accept(workspace: FakeWorkspace, title: str) -> CardDecision:
    wanted = next(one.card for one in cards_of(workspace) if one.card.title == title and one.status == "proposed")
    return accept_card(
        workspace.object_store, live_of(workspace), wanted.version_id, decided_by="Ada", now=NOON, confirmed=True
    )
