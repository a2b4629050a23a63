"""Chat models over the fake server that are closed at the end of a test, and never really wait."""

from __future__ import annotations

import asyncio
from random import Random

from lorebase.adapters.models.openai_chat import OpenAIChat
from lorebase.adapters.models.openai_client import OpenAIEndpoint
from lorebase.clock import SystemClock
from lorebase.models.chat import ChatProfile
from lorebase.models.settings import EndpointConfig
from tests.fakes.openai_server import OpenAIServer

KEY = "sk-very-secret-key"


class OpenedChats:
    """Chat models over the server that are closed at the end, and the waits that they asked for."""

    def __init__(self, server: OpenAIServer) -> None:
        self._server = server
        self._models: list[OpenAIChat] = []
        self.waits: list[float] = []

    def __call__(self, profile: ChatProfile = ChatProfile("fake", "m"), **config: object) -> OpenAIChat:  # noqa: B008 (frozen)
        endpoint = OpenAIEndpoint(
            "fake",
            EndpointConfig.model_validate({"base_url": self._server.base_url, "api_key": KEY, **config}),
            clock=SystemClock(),
            random=Random(0),
            sleep=self._sleep,
        )
        self._models.append(OpenAIChat(profile, endpoint))
        return self._models[-1]

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)

    async def close(self) -> None:
        for model in self._models:
            await model.close()
