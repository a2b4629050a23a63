"""One client for each event loop, given back when that loop ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

ClientT = TypeVar("ClientT")


class LoopBound(Generic[ClientT]):
    """Clients whose connections belong to the event loop that opened them.

    Each client lives in an async generator: `asyncio.run` and `asyncio.Runner` finish those before they close their
    loop, so a second `asyncio.run` neither meets connections of the first nor leaves them open.

    Args:
        open_client: Makes a client; opens no connection yet.
        close_client: Gives a client's connections back.
    """

    def __init__(self, open_client: Callable[[], ClientT], close_client: Callable[[ClientT], Awaitable[None]]) -> None:
        self._open_client = open_client
        self._close_client = close_client
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AsyncGenerator[ClientT, None], ClientT]] = (
            WeakKeyDictionary()
        )

    async def get(self) -> ClientT:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        held = self._clients.get(loop)
        if held is None:
            life = self._life()
            client = await anext(life)  # does not suspend: nothing can come between this and the line before
            held = self._clients[loop] = (life, client)
        return held[1]

    async def close(self) -> None:
        """Close the running loop's client; those of loops that ended are closed already."""
        held = self._clients.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[0].aclose()

    async def _life(self) -> AsyncGenerator[ClientT, None]:
        client = self._open_client()
        try:
            yield client
        finally:
            await self._close_client(client)
