"""Where a value is due at once, an awaitable is a fault of the program that gave it."""

from __future__ import annotations

import asyncio
import inspect
from typing import TypeVar

from lorebase.errors import ContractError

ValueT = TypeVar("ValueT")


def refuse_awaitable(value: ValueT, giver: str, *, error: type[ContractError] = ContractError) -> ValueT:
    """The value, unless it is a coroutine, future or anything else that would have to be awaited.

    Args:
        value: What a function gave.
        giver: What that function is called in the message, such as "The reader 'faq'".
        error: Class of the error.

    Raises:
        ContractError: It is awaitable (or the given subclass).
    """
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that nobody awaited it
    if asyncio.isfuture(value):
        value.cancel()  # or its work goes on unseen
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        raise error(f"{giver} gave something to await where a value is due.", remedy="Make it a plain function.")
    return value
