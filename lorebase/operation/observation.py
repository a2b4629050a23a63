"""Observers: told what happened through plain copies, with no way to change or break what they are told of."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias
from uuid import UUID

from pydantic import BaseModel

from lorebase.operation.awaitables import refuse_awaitable
from lorebase.operation.check_results import UNSET
from lorebase.operation.context import Diagnostics

Observer: TypeAlias = Callable[[Any], object]
"""Takes one event as plain data. What it returns or raises changes nothing."""

_LOGGER = logging.getLogger(__name__)
_VALUES = (type(None), bool, date, datetime, time, timedelta, Decimal, UUID)
_SUBCLASSED = (str, int, float, complex, bytes)


def notify(observer: Observer | None, event: object, diagnostics: Diagnostics | None = None) -> None:
    """Tell an observer, if there is one.

    It gets a detached copy, or nothing where no copy can be made: never an object of the program itself. Whatever goes
    wrong is recorded (in the diagnostics, or the log where there are none) and changes no result. Only what stops the
    whole program or task (`BaseException` such as a cancelled task) passes.
    """
    if observer is None:
        return
    try:
        copy = detached(event)
    except Exception as error:  # noqa: BLE001 (copying runs code of the values, which must not break the result)
        _record(diagnostics, "OBSERVATION_SKIPPED", "An event could not be copied for the observer", error)
        return
    try:
        refuse_awaitable(observer(copy), "The observer")
    except Exception as error:  # noqa: BLE001 (an observer must not be able to break the result)
        _record(diagnostics, "OBSERVER_FAILED", "The observer failed", error)


def detached(value: object) -> Any:  # noqa: ANN401 (plain data of any shape)
    """A copy made of plain data, which shares nothing that can be changed with the value.

    Models, dataclasses and plain objects become dicts of their fields (without fields that are UNSET), mappings become
    dicts, sequences lists or tuples, enums their values. Methods and classes are not kept. What refers to itself does
    so in the copy.

    Raises:
        TypeError: Something in it is no data: a function, a lock, an open file, a tuple that holds itself.
        RecursionError: It is nested too deep.
    """
    return _Copying().copy(value)


class _Copying:
    """One copy under way; remembers what was copied, by identity."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}
        self._kept: list[object] = []  # an id is only an identity while its object lives
        self._open: set[int] = set()

    def copy(self, value: object) -> Any:  # noqa: ANN401 (plain data of any shape)
        if isinstance(value, Enum):
            return self.copy(value.value)
        if type(value) in _SUBCLASSED or type(value) in _VALUES:
            return value
        for kind in _SUBCLASSED:
            if isinstance(value, kind):
                return _plain(value, kind)
        if id(value) not in self._copies:
            self._kept.append(value)
            return self._copy_container(value)
        return self._copies[id(value)]

    def _copy_container(self, value: object) -> Any:  # noqa: ANN401 (plain data of any shape)
        match value:
            case bytearray():
                return bytearray(value)
            case list():
                made: list[Any] = self._remember(value, [])
                made.extend(self.copy(member) for member in value)
                return made
            case tuple() | set() | frozenset():
                return self._closed(value)
            case _:
                copy: dict[Any, Any] = self._remember(value, {})
                fields = _fields(value)
                copy.update(
                    (self.copy(key), self.copy(member)) for key, member in fields.items() if member is not UNSET
                )
                return copy

    def _closed(self, value: tuple[Any, ...] | set[Any] | frozenset[Any]) -> Any:  # noqa: ANN401 (as above)
        """A copy of what has to be complete when it is made, and so cannot hold itself."""
        if id(value) in self._open:
            raise TypeError("a tuple or set that holds itself cannot be copied")
        self._open.add(id(value))
        members = [self.copy(member) for member in value]
        self._open.discard(id(value))
        return self._remember(value, tuple(members) if isinstance(value, tuple) else set(members))

    def _remember(self, value: object, copy: Any) -> Any:  # noqa: ANN401 (as above)
        self._copies[id(value)] = copy
        return copy


def _plain(value: Any, kind: type[Any]) -> Any:  # noqa: ANN401 (one of the built-in value types)
    # The type's own conversion, so that no method of the subclass runs.
    if kind is str:
        return str.__str__(value)
    if kind is bytes:
        return bytes.__getitem__(value, slice(None))
    return kind.__pos__(value)


def _fields(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields} | (value.model_extra or {})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(value) or not hasattr(value, "__dict__") or isinstance(value, BaseException):
        raise TypeError(f"a {type(value).__name__} is no data")
    object.__reduce_ex__(value, 2)  # raises TypeError for what lives outside Python: files, locks, modules
    return dict(vars(value))


def _record(diagnostics: Diagnostics | None, code: str, message: str, error: Exception) -> None:
    kind = type(error).__name__
    if diagnostics is None:
        _LOGGER.warning("%s: %s (%s)", code, message, kind)
    else:
        diagnostics.record(code, f"{message} ({kind}).", severity="warning", error=kind)
