"""Knowledge catalogs, answer tasks, checks, and the flow that generates, checks, reviews, repairs and falls back."""

from __future__ import annotations

from lorebase.answering.checks import AnswerCheckCatalog, AnswerChecker, CheckRequest, define_answer_check_catalog
from lorebase.answering.documents import KnowledgeDocument, KnowledgeSection
from lorebase.answering.flow import AnswerFlow, define_answer_flow
from lorebase.answering.flow_model import (
    AnswerChecks,
    AnswerEvent,
    AnswerFlowDefinition,
    AnswerItem,
    AnswerRequest,
    AnswerResult,
    FallbackRequest,
    FallbackResult,
    GenerateRequest,
    Handled,
    ItemValue,
    NotHandled,
    ReviewRequest,
)
from lorebase.answering.knowledge import (
    KnowledgeCatalog,
    KnowledgeRead,
    KnowledgeReadEvent,
    KnowledgeSnapshot,
    Selection,
    define_knowledge_catalog,
)
from lorebase.answering.model_runner import ModelRunner, calls_remain, model_errors_as_unavailable
from lorebase.answering.parsing import parse_knowledge_document
from lorebase.answering.sources import source_status_of
from lorebase.answering.tasks import (
    AnswerReader,
    AnswerReaderContext,
    AnswerTask,
    AnswerTaskCatalog,
    AnswerTaskDefinition,
    AnswerTaskDescription,
    AnswerTaskPorts,
    ReadRequest,
    define_answer_reader_catalog,
    define_answer_task_catalog,
)
from lorebase.errors import AnswerContractError, ModelUnavailableError

__all__ = [
    "AnswerCheckCatalog",
    "AnswerChecker",
    "AnswerChecks",
    "AnswerContractError",
    "AnswerEvent",
    "AnswerFlow",
    "AnswerFlowDefinition",
    "AnswerItem",
    "AnswerReader",
    "AnswerReaderContext",
    "AnswerRequest",
    "AnswerResult",
    "AnswerTask",
    "AnswerTaskCatalog",
    "AnswerTaskDefinition",
    "AnswerTaskDescription",
    "AnswerTaskPorts",
    "CheckRequest",
    "FallbackRequest",
    "FallbackResult",
    "GenerateRequest",
    "Handled",
    "ItemValue",
    "KnowledgeCatalog",
    "KnowledgeDocument",
    "KnowledgeRead",
    "KnowledgeReadEvent",
    "KnowledgeSection",
    "KnowledgeSnapshot",
    "ModelRunner",
    "ModelUnavailableError",
    "NotHandled",
    "ReadRequest",
    "ReviewRequest",
    "Selection",
    "calls_remain",
    "define_answer_check_catalog",
    "define_answer_flow",
    "define_answer_reader_catalog",
    "define_answer_task_catalog",
    "define_knowledge_catalog",
    "model_errors_as_unavailable",
    "parse_knowledge_document",
    "source_status_of",
]
