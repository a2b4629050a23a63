"""What a run of an answer flow may be asked: every input answered by exactly one item, before any model is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from lorebase.answering.flow_model import AnswerItem, AnswerRequest, SourceStatus
from lorebase.errors import AnswerContractError
from lorebase.operation.awaitables import refuse_awaitable

ValueT = TypeVar("ValueT")


def check_request(request: AnswerRequest[Any], *, max_items: int) -> None:
    """Refuse a request that cannot be run.

    Raises:
        AnswerContractError: No input, a blank or repeated id, too many items, an input that no item or more than one
            answers, an item that answers no input or an unknown one, a source status that does not exist.
    """
    _check_ids("input", request.input_ids)
    if not request.input_ids:
        raise AnswerContractError("A run has no inputs.", remedy="Name at least one in input_ids.")
    _check_ids("item", [item.id for item in request.items])
    if len(request.items) > max_items:
        raise AnswerContractError(
            f"A run has {len(request.items)} items; at most {max_items} are taken.",
            remedy="Divide it into several runs, or raise max_items of the flow.",
            items=len(request.items),
            max_items=max_items,
        )
    for item in request.items:
        _check_item(item, request.input_ids)
    _check_attribution(request)


def check_answered_ids(answered: Mapping[str, ValueT], asked: Iterable[str], giver: str) -> Mapping[str, ValueT]:
    """What a handler answered by item id, if it is that.

    Raises:
        AnswerContractError: It is no mapping, answers an item that was not asked about, or holds something to await.
    """
    plain: object = answered
    if not isinstance(plain, Mapping):
        raise AnswerContractError(f"{giver} gave a {type(plain).__name__}.", remedy="Return a mapping by item id.")
    for item_id, value in answered.items():
        refuse_awaitable(value, f"{giver}, for item {item_id!r},", error=AnswerContractError)
    known = set(asked)
    unknown = [repr(item_id) for item_id in answered if item_id not in known]
    if unknown:
        raise AnswerContractError(
            f"{giver} answered for items that it was not asked about: {', '.join(unknown)}.",
            remedy=f"It was asked about: {', '.join(sorted(known))}.",
        )
    return answered


def _check_ids(kind: str, ids: Sequence[str]) -> None:
    if isinstance(ids, str):
        raise AnswerContractError(f"The {kind} ids are one text: {ids!r}.", remedy="Give a sequence of ids.")
    seen: set[object] = set()
    for candidate in ids:
        plain: object = candidate
        if not isinstance(plain, str) or not plain.strip():
            raise AnswerContractError(f"An {kind} has the id {plain!r}.", remedy="Give it an id that is not blank.")
        if plain in seen:
            raise AnswerContractError(f"The {kind} id {plain!r} is there twice.", remedy="Give each its own id.")
        seen.add(plain)


def _check_item(item: AnswerItem[Any], input_ids: Sequence[str]) -> None:
    if item.source_status not in get_args(SourceStatus):
        raise AnswerContractError(
            f"Item {item.id!r} has the source status {item.source_status!r}.",
            remedy=f"Use one of {', '.join(get_args(SourceStatus))}.",
        )
    if isinstance(item.input_ids, str) or not item.input_ids:
        raise AnswerContractError(f"Item {item.id!r} answers no input.", remedy="Name its inputs in input_ids.")
    known = set(input_ids)
    for input_id in item.input_ids:
        if input_id not in known:
            raise AnswerContractError(
                f"Item {item.id!r} refers to the input {input_id!r}, which the run does not have.",
                remedy=f"The run has: {', '.join(input_ids)}.",
            )


def _check_attribution(request: AnswerRequest[Any]) -> None:
    answered = Counter(input_id for item in request.items for input_id in item.input_ids)
    for input_id in request.input_ids:
        if answered[input_id] != 1:
            raise AnswerContractError(
                f"The input {input_id!r} is answered {answered[input_id]} times.",
                remedy="Give every input to exactly one item.",
                input_id=input_id,
            )
