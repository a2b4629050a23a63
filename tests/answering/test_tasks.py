"""Answer tasks and their readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import BaseModel

from lorebase.answering.tasks import (
    AnswerReaderContext,
    AnswerTaskCatalog,
    AnswerTaskDefinition,
    AnswerTaskPorts,
    ReadRequest,
    define_answer_reader_catalog,
    define_answer_task_catalog,
)
from lorebase.errors import (
    AnswerContractError,
    InvalidDefinitionError,
    OperationCancelledError,
    SchemaError,
    UnknownIdError,
)
from lorebase.operation.catalogs import ReadonlyCatalog
from lorebase.operation.context import Cancellation, OperationContext
from lorebase.operation.schemas import PydanticSchema


class Question(BaseModel):
    text: str


@dataclass
class Registered:
    id: str


@dataclass
class Reader:
    id: str
    answer: Callable[[Question, AnswerReaderContext[str]], Any]

    def read(self, task_input: Question, context: AnswerReaderContext[str]) -> Any:
        return self.answer(task_input, context)


TASK: AnswerTaskDefinition[Question, dict[str, list[str]]] = AnswerTaskDefinition(
    id="faq",
    description="Questions about pumps.",
    input_schema=PydanticSchema(Question),
    goal_ids=["inform"],
    scope_id="pumps",
    reader_id="handbook",
    output_id="reply",
    check_ids=["cited"],
    metadata={"owners": ["service"]},
)
CONTEXT = OperationContext(app="shop")


def ports(answer: Callable[..., Any] = lambda _given, _context: "evidence", **changed: Any) -> Any:
    readers = define_answer_reader_catalog([Reader("handbook", answer)])
    return AnswerTaskPorts(
        **{
            "readers": readers,
            "outputs": ReadonlyCatalog("output", [Registered("reply")]),
            "checks": ReadonlyCatalog("check", [Registered("cited")]),
            **changed,
        }
    )


def tasks(answer: Callable[..., Any] = lambda _given, _context: "evidence") -> AnswerTaskCatalog[Any, str]:
    return define_answer_task_catalog([TASK], ports(answer))


def asking(text: object = "When?", task_id: str = "faq") -> ReadRequest:
    return ReadRequest(task_id=task_id, input={"text": text})


def test_a_reader_gets_the_parsed_input_and_the_task_it_reads_for() -> None:
    """A-032, A-033, A-035."""

    def answer(given: Question, context: AnswerReaderContext[str]) -> list[object]:
        return [given, context.app, context.task.id, context.task.scope_id, context.diagnostics.scope]

    evidence = tasks(answer).read(asking(), CONTEXT)

    assert evidence == [Question(text="When?"), "shop", "faq", "pumps", ("handbook",)]


async def test_a_reader_that_waits_is_read_asynchronously_like_one_that_does_not() -> None:
    """A-031, A-032."""

    async def answer(given: Question, _context: object) -> str:
        await asyncio.sleep(0)
        return given.text

    assert await tasks(answer).read_async(asking(), CONTEXT) == "When?"
    assert await tasks().read_async(asking(), CONTEXT) == "evidence"


async def test_reading_at_once_refuses_what_has_to_be_awaited() -> None:
    """A-034."""
    begun: list[str] = []

    async def answer(_given: object, _context: object) -> str:
        begun.append("reading")
        return "evidence"

    with pytest.raises(AnswerContractError, match="The reader 'handbook' gave something to await"):
        tasks(answer).read(asking(), CONTEXT)
    assert begun == []


async def test_input_that_does_not_fit_is_refused_before_anything_is_read() -> None:
    """A-035."""
    begun: list[str] = []
    known = tasks(lambda _given, _context: begun.append("reading"))

    with pytest.raises(SchemaError):
        known.read(asking(7), CONTEXT)
    with pytest.raises(SchemaError):
        await known.read_async(asking(None), CONTEXT)
    assert begun == []


async def test_no_other_task_is_taken_in_place_of_an_unknown_one() -> None:
    """A-037."""
    with pytest.raises(UnknownIdError, match=r"no answer task 'returns'\. Known: faq\."):
        tasks().read(asking(task_id="returns"), CONTEXT)
    with pytest.raises(UnknownIdError):
        await tasks().read_async(asking(task_id=""), CONTEXT)


async def test_a_fault_of_a_reader_passes() -> None:
    known = tasks(lambda _given, _context: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        known.read(asking(), CONTEXT)
    with pytest.raises(ZeroDivisionError):
        await known.read_async(asking(), CONTEXT)


async def test_a_signal_stops_a_reader_that_waits() -> None:
    cancellation = Cancellation()
    steps: list[str] = []

    async def answer(_given: object, _context: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("stopped")

    asyncio.get_running_loop().call_later(0.01, cancellation.cancel)
    with pytest.raises(OperationCancelledError):
        await tasks(answer).read_async(asking(), OperationContext(app="shop", signal=cancellation))
    with pytest.raises(OperationCancelledError):
        tasks().read(asking(), OperationContext(app="shop", signal=cancellation))

    assert steps == ["stopped"]


def test_a_description_is_data_with_the_input_as_json_schema() -> None:
    """A-029, A-038."""
    described = tasks().require("faq").describe()

    assert described.input_json_schema == PydanticSchema(Question).json_schema()
    assert (described.goal_ids, described.check_ids, described.scope_id) == (("inform",), ("cited",), "pumps")
    assert (described.reader_id, described.output_id, described.metadata) == (
        "handbook",
        "reply",
        {"owners": ("service",)},
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"reader_id": "web"}, "names the reader 'web'"),
        ({"output_id": "poem"}, "names the output 'poem'"),
        ({"check_ids": ["cited", "rhymes"]}, "names the check 'rhymes'"),
        ({"check_ids": ["cited", "cited"]}, "names a check twice"),
        ({"id": ""}, "not blank"),
    ],
)
def test_references_that_lead_nowhere_are_refused_at_registration(changed: dict[str, Any], message: str) -> None:
    """A-036."""
    with pytest.raises(InvalidDefinitionError, match=message):
        define_answer_task_catalog([replace(TASK, **changed)], ports())


def test_two_tasks_or_readers_with_one_id_are_refused() -> None:
    with pytest.raises(InvalidDefinitionError):
        define_answer_task_catalog([TASK, TASK], ports())
    with pytest.raises(InvalidDefinitionError):
        define_answer_reader_catalog([Reader("a", lambda *_: 1), Reader("a", lambda *_: 2)])


def test_the_application_may_refuse_a_definition_and_with_it_all() -> None:
    """A-030."""
    asked: list[str] = []

    def refuse(definition: AnswerTaskDefinition[Any, Any]) -> None:
        asked.append(definition.id)
        if definition.id == "returns":
            raise PermissionError

    with pytest.raises(PermissionError):
        define_answer_task_catalog([TASK, replace(TASK, id="returns")], ports(assert_definition=refuse))
    assert asked == ["faq", "returns"]


def test_a_registered_task_cannot_be_changed() -> None:
    """A-033."""
    metadata = {"owners": ["service"]}
    known = define_answer_task_catalog([replace(TASK, metadata=metadata)], ports())

    metadata["owners"].append("somebody")

    assert known.require("faq").metadata == {"owners": ("service",)}
    with pytest.raises(TypeError):
        known.require("faq").metadata["owners"] = ()
    with pytest.raises(AttributeError):
        known.require("faq").reader_id = "web"  # type: ignore[misc]  # that is the rule
