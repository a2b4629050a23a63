"""A small real base in English and Chinese, with a chat model that says what a test lets it say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from lorebase.errors import LorebaseError
from lorebase.knowledge_base import KnowledgeBase
from lorebase.models.chat import ChatRequest
from lorebase.models.settings import ChatModelSpec
from tests.fakes.scripted_chat import Answer, ScriptedChat
from tests.fakes.workspace import FakeWorkspace, recipe_in, write_documents

QUOTING = """
name: demo
sources: [{folder: documents}]
partitions: 4
procedures: [{use: full_text_index}]
"""
WITH_CHAT = f"{QUOTING}models: {{chat: {{provider: fake, model: scripted}}}}\n"

DOCUMENTS = {
    "harbour.md": "# Harbour\n\n## Fees\n\nA berth costs nine crowns a night.\n\n## Hours\n\nIt opens at seven.\n",
    "ferry.md": "# Ferry\n\nThe ferry to the island leaves at noon. Dogs travel without a ticket.\n",
    "港口.md": "# 港口\n\n## 收费\n\n泊位每晚收费九元。船主须在离港前付清。\n\n## 时间\n\n港务办公室早上七点开门。\n",
    "lamps.csv": "lamp,watts,colour\nred lantern,40,red\npier lamp,75,white\n",
}

BERTH = "What does a berth cost a night?"
BERTH_ZH = "泊位每晚收费多少？"
NOTHING = "Who painted the ceiling of the opera?"


class ChattyWorkspace(FakeWorkspace):
    """A workspace whose endpoints all lead to one scripted chat model."""

    def __init__(self, folder: Path, chat: ScriptedChat) -> None:
        super().__init__(folder)
        self.chat = chat

    def open_chat(self, spec: ChatModelSpec) -> ScriptedChat:
        del spec
        return self.chat


async def base_in(
    folder: Path, *, chat: ScriptedChat | None = None, extra: dict[str, str] | None = None
) -> KnowledgeBase:
    """The base, built."""
    recipe = recipe_in(folder, QUOTING if chat is None else WITH_CHAT)
    write_documents(folder, {**DOCUMENTS, **(extra or {})})
    workspace = FakeWorkspace(folder / "ws") if chat is None else ChattyWorkspace(folder / "ws", chat)
    return await KnowledgeBase.create(recipe, workspace)


def said(*sentences: tuple[str, list[int]]) -> str:
    """A model's answer of these sentences with their citations."""
    return json.dumps({"found": True, "sentences": [{"text": text, "citations": cited} for text, cited in sentences]})


def not_found() -> str:
    """A model's answer that there is none in the passages."""
    return json.dumps({"found": False, "sentences": []})


def judged(*supported: bool) -> str:
    """A reviewer's verdicts of the sentences of an answer."""
    verdicts = [
        {"sentence": number, "supported": verdict, "reason": "" if verdict else "the passage says otherwise"}
        for number, verdict in enumerate(supported, start=1)
    ]
    return json.dumps({"verdicts": verdicts})


def is_review(request: ChatRequest) -> bool:
    """Whether a request asks for a review."""
    return "verdicts" in request.system


def playing(answers: list[Answer], reviews: list[Answer] | None = None) -> Callable[[ChatRequest], str | LorebaseError]:
    """A script of answers and one of reviews, each used up in order; the last one stays."""
    told = {True: list(reviews or [judged(True)]), False: list(answers)}

    def answer(request: ChatRequest) -> Answer:
        script = told[is_review(request)]
        return script.pop(0) if len(script) > 1 else script[0]

    return answer
