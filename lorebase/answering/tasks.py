"""Answer tasks and readers: what can be asked, what is read for it, and what the answer must be and pass."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from lorebase.errors import AnswerContractError, InvalidDefinitionError
from lorebase.operation.awaitables import refuse_awaitable
from lorebase.operation.catalogs import ReadonlyCatalog, RegisteredIds, checked_id, frozen
from lorebase.operation.context import OperationContext, until_cancelled
from lorebase.operation.schemas import JsonSchema, SchemaAdapter

InputT = TypeVar("InputT")
InputT_contra = TypeVar("InputT_contra", contravariant=True)
MetadataT = TypeVar("MetadataT")
EvidenceT = TypeVar("EvidenceT")
EvidenceT_co = TypeVar("EvidenceT_co", covariant=True)
AppT = TypeVar("AppT")
AppT_co = TypeVar("AppT_co", covariant=True)
AppT_contra = TypeVar("AppT_contra", contravariant=True)


@dataclass(frozen=True, kw_only=True)
class AnswerTaskDefinition(Generic[InputT, MetadataT]):
    """A kind of question. `goal_ids`, `scope_id` and `metadata` are carried for the application, without any effect.

    Attributes:
        id: Its name, once in its catalog.
        description: What it is for, as a model or a person is told.
        input_schema: Parses the input before anything is read.
        reader_id: Reader of the evidence.
        output_id: Output that the answer is composed to.
        check_ids: Checks that the answer has to pass, in the order in which they run.
        goal_ids: See above.
        scope_id: See above.
        metadata: See above; its dicts, lists and sets are read-only once the task is registered.
    """

    id: str
    description: str
    input_schema: SchemaAdapter[InputT]
    reader_id: str
    output_id: str
    check_ids: Sequence[str]
    metadata: MetadataT
    goal_ids: Sequence[str] = ()
    scope_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTaskDescription:
    """A task as models and interfaces are told of it: data alone."""

    id: str
    description: str
    input_json_schema: JsonSchema
    goal_ids: tuple[str, ...]
    scope_id: str | None
    reader_id: str
    output_id: str
    check_ids: tuple[str, ...]
    metadata: Any


@dataclass(frozen=True, kw_only=True)
class AnswerTask(AnswerTaskDefinition[InputT, MetadataT]):
    """A registered task: its definition as it was at registration."""

    def describe(self) -> AnswerTaskDescription:
        """What the task is, with its input as JSON Schema in place of the schema that runs."""
        return AnswerTaskDescription(
            id=self.id,
            description=self.description,
            input_json_schema=self.input_schema.json_schema(),
            goal_ids=tuple(self.goal_ids),
            scope_id=self.scope_id,
            reader_id=self.reader_id,
            output_id=self.output_id,
            check_ids=tuple(self.check_ids),
            metadata=self.metadata,
        )


@dataclass(frozen=True, kw_only=True)
class AnswerReaderContext(OperationContext[AppT_co]):
    """What a reader is given beside its input: the context of the operation, and the task it reads for."""

    task: AnswerTask[Any, Any]


class AnswerReader(Protocol[InputT_contra, EvidenceT_co, AppT_contra]):
    """Reads the evidence for a task. Whether the asker may read it is for the reader to decide."""

    @property
    def id(self) -> str:
        """Its name, once in its catalog."""
        ...

    def read(
        self, task_input: InputT_contra, context: AnswerReaderContext[AppT_contra], /
    ) -> EvidenceT_co | Awaitable[EvidenceT_co]:
        """The evidence, or something that gives it when awaited."""
        ...


class ReaderCollection(RegisteredIds, Protocol[EvidenceT_co, AppT_contra]):
    """What a task catalog asks of the registered readers."""

    def require(self, definition_id: str, /) -> AnswerReader[Any, EvidenceT_co, AppT_contra]:
        """The reader; an unknown one is an error."""
        ...


@dataclass(frozen=True, kw_only=True)
class AnswerTaskPorts(Generic[EvidenceT, AppT]):
    """What tasks refer to.

    Attributes:
        readers: Registered readers.
        outputs: Registered outputs.
        checks: Registered checks.
        assert_definition: Called once for each definition; what it raises ends the registration of all.
    """

    readers: ReaderCollection[EvidenceT, AppT]
    outputs: RegisteredIds
    checks: RegisteredIds
    assert_definition: Callable[[AnswerTaskDefinition[Any, Any]], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Evidence is wanted for a task; the input is as it came, not parsed."""

    task_id: str
    input: object


class AnswerTaskCatalog(ReadonlyCatalog[AnswerTask[Any, Any]], Generic[EvidenceT, AppT]):
    """Registered tasks, and the way to their evidence. No task is ever taken in place of another.

    Raises:
        InvalidDefinitionError: A blank or repeated id, or a reference to what is not registered.
    """

    def __init__(
        self, definitions: Iterable[AnswerTaskDefinition[Any, Any]], ports: AnswerTaskPorts[EvidenceT, AppT]
    ) -> None:
        super().__init__("answer task", [_registered(definition, ports) for definition in definitions])
        self._readers = ports.readers

    def read(self, request: ReadRequest, context: OperationContext[AppT]) -> EvidenceT:
        """The evidence for a task, from a reader that gives it at once.

        Raises:
            UnknownIdError: There is no such task.
            SchemaError: The input does not fit the task's schema; nothing was read.
            AnswerContractError: The reader gave something to await.
            OperationCancelledError: The operation is no longer wanted.
        """
        name, evidence = self._call(request, context)
        return cast("EvidenceT", refuse_awaitable(evidence, name, error=AnswerContractError))

    async def read_async(self, request: ReadRequest, context: OperationContext[AppT]) -> EvidenceT:
        """The evidence for a task, from any reader.

        Raises:
            UnknownIdError: There is no such task.
            SchemaError: The input does not fit the task's schema; nothing was read.
            OperationCancelledError: The operation is no longer wanted; the reader is stopped.
        """
        _name, evidence = self._call(request, context)
        if inspect.isawaitable(evidence):
            awaitable: Awaitable[EvidenceT] = evidence
            return await until_cancelled(awaitable, context.signal)
        return evidence

    def _call(
        self, request: ReadRequest, context: OperationContext[AppT]
    ) -> tuple[str, EvidenceT | Awaitable[EvidenceT]]:
        context.signal.raise_if_cancelled()
        task = self.require(request.task_id)
        parsed = refuse_awaitable(
            task.input_schema.parse(request.input), f"The input schema of {task.id!r}", error=AnswerContractError
        )
        scope = context.derive(task.reader_id)
        reader_context = AnswerReaderContext(
            app=scope.app, signal=scope.signal, diagnostics=scope.diagnostics, task=task
        )
        return f"The reader {task.reader_id!r}", self._readers.require(task.reader_id).read(parsed, reader_context)


def define_answer_reader_catalog(
    definitions: Iterable[AnswerReader[Any, EvidenceT, AppT]],
) -> ReadonlyCatalog[AnswerReader[Any, EvidenceT, AppT]]:
    """A catalog of these readers.

    Raises:
        InvalidDefinitionError: A blank or repeated id.
    """
    return ReadonlyCatalog("answer reader", definitions)


def define_answer_task_catalog(
    definitions: Iterable[AnswerTaskDefinition[Any, Any]], ports: AnswerTaskPorts[EvidenceT, AppT]
) -> AnswerTaskCatalog[EvidenceT, AppT]:
    """A catalog of these tasks; see `AnswerTaskCatalog`."""
    return AnswerTaskCatalog(definitions, ports)


def _registered(
    definition: AnswerTaskDefinition[Any, Any], ports: AnswerTaskPorts[EvidenceT, AppT]
) -> AnswerTask[Any, Any]:
    task_id = checked_id(definition.id, "answer task")
    _refuse_unknown(task_id, "reader", (definition.reader_id,), ports.readers)
    _refuse_unknown(task_id, "output", (definition.output_id,), ports.outputs)
    _refuse_unknown(task_id, "check", definition.check_ids, ports.checks)
    if len(set(definition.check_ids)) < len(definition.check_ids):
        raise InvalidDefinitionError(f"Task {task_id!r} names a check twice: {list(definition.check_ids)}.")
    if ports.assert_definition is not None:
        refuse_awaitable(ports.assert_definition(definition), "assert_definition")
    return AnswerTask(
        id=task_id,
        description=definition.description,
        input_schema=definition.input_schema,
        reader_id=definition.reader_id,
        output_id=definition.output_id,
        check_ids=tuple(definition.check_ids),
        metadata=frozen(definition.metadata),
        goal_ids=tuple(definition.goal_ids),
        scope_id=definition.scope_id,
    )


def _refuse_unknown(task_id: str, kind: str, references: Sequence[str], registered: RegisteredIds) -> None:
    for reference in references:
        if not registered.has(reference):
            raise InvalidDefinitionError(
                f"Task {task_id!r} names the {kind} {reference!r}, which is not registered.",
                remedy=f"Register the {kind} first, or correct the id.",
                task_id=task_id,
                kind=kind,
                id=reference,
            )
