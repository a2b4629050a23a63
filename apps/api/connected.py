"""Work that stops when the client that asked for it has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import Request

from lorebase.errors import RetrievalTimeoutError
from lorebase.operation import Cancellation
from lorebase.operation.context import until_cancelled

ResultT = TypeVar("ResultT")


async def while_connected(
    request: Request, work: Awaitable[ResultT], *, seconds: float, signal: Cancellation | None = None
) -> ResultT:
    """The result of `work`.

    Args:
        request: Whose body has been read; nothing else may listen to it meanwhile.
        work: What was asked for.
        seconds: Longest time.
        signal: Given as soon as the client has gone, for parts of the work that look at it themselves.

    Raises:
        OperationCancelledError: The client has gone.
        RetrievalTimeoutError: The time was up.
    """
    used = signal or Cancellation()
    watching = asyncio.create_task(_watch(request, used))
    try:
        async with asyncio.timeout(seconds):
            return await until_cancelled(work, used)
    except TimeoutError as error:
        raise RetrievalTimeoutError(
            f"There was no answer within {seconds:g} s.", remedy="Ask again.", dependency="retrieval"
        ) from error
    finally:
        watching.cancel()


async def _watch(request: Request, signal: Cancellation) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    signal.cancel("the client has gone")
