"""What a build leaves about itself: issues, step records, the state while it runs, the record when it has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from lorebase.artifacts.manifest import ArtifactReference

ISSUES_KEPT = 200
"""Issues that a record lists; the counts by code cover all of them."""

StepStatus = Literal["pending", "running", "succeeded", "skipped", "failed", "cancelled"]
RunStatus = Literal["running", "succeeded", "failed", "cancelled"]
Severity = Literal["info", "warning", "error"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Subject(_Frozen):
    """What an issue is about."""

    kind: Literal["document", "chunk", "source", "step", "model", "index", "run", "card"]
    id: str
    name: str = Field("", description="What a person calls it, such as a document's path.")


class Issue(_Frozen):
    """A recorded problem that did not stop the build."""

    code: str = Field(pattern=r"^[A-Z][A-Z0-9_]*$")
    severity: Severity
    subject: Subject
    message: str
    step: str = ""
    details: dict[str, str | int | float | bool | None] = Field(default_factory=dict)


class StepCounts(_Frozen):
    """What a step did, in items (documents for parsing and splitting, chunks afterwards)."""

    documents: int = 0
    rows: int = Field(0, description="Rows of the artifact that the step left.")
    items: int = Field(0, description="Items that the step had to answer for.")
    computed_items: int = Field(0, description="Items worked on in this run.")
    ledger_items: int = Field(0, description="Items taken from the ledger inside partitions that ran.")
    reused_items: int = Field(0, description="Items of partitions that were finished before this run.")
    failed_items: int = Field(0, description="Items that failed; the next build tries them again.")
    unreadable_items: int = Field(0, description="Items that cannot succeed until their source changes.")
    partitions: int = 0
    reused_partitions: int = 0
    task_runs: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_calls: int = Field(0, description="Calls that the call ledger answered; they took nothing.")
    usd: float = Field(0.0, description="What the model calls of this run cost, by the recipe's prices.")

    def __add__(self, other: StepCounts) -> StepCounts:
        return StepCounts(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})


class ErrorRecord(_Frozen):
    """Why a step or a run ended without its result."""

    code: str
    message: str
    remedy: str = ""
    retryable: bool = False


class StepRunRecord(_Frozen):
    """One step of a run."""

    index: int
    step_name: str
    step_type: str
    status: StepStatus
    step_fingerprint: str = ""
    identity: dict[str, str] = Field(
        default_factory=dict, description="The parts that the fingerprint covers, to say what changed between runs."
    )
    reason: str = Field("", description="Why it ran, or was skipped.")
    taken_from_run: str = Field("", description="For a skipped step: the run that made its artifact.")
    started_at: datetime | None = None
    finished_at: datetime | None = None
    input_artifacts: tuple[ArtifactReference, ...] = ()
    output_artifacts: tuple[ArtifactReference, ...] = ()
    counts: StepCounts = StepCounts()
    issues: tuple[Issue, ...] = ()
    issues_by_code: dict[str, int] = Field(default_factory=dict)
    error: ErrorRecord | None = None

    @property
    def seconds(self) -> float:
        """How long it took; 0.0 where it has not both begun and ended."""
        if self.started_at is None or self.finished_at is None:
            return 0.0
        return (self.finished_at - self.started_at).total_seconds()


class Capabilities(_Frozen):
    """What a build has unlocked."""

    queries: tuple[str, ...] = ()
    search_assets: tuple[str, ...] = ()


class RecipeRunState(_Frozen):
    """A run while it goes on. Each change is a new state, stored whole.

    A state whose process was killed stays `running` for ever; that its build is over is told by the lease.
    """

    schema_version: int = 1
    run_id: str
    base_name: str
    recipe_fingerprint: str
    status: RunStatus
    started_at: datetime
    finished_at: datetime | None = None
    step_records: tuple[StepRunRecord, ...] = ()
    artifacts: dict[str, ArtifactReference] = Field(default_factory=dict)
    capabilities: Capabilities = Capabilities()
    issues: tuple[Issue, ...] = ()
    issues_by_code: dict[str, int] = Field(default_factory=dict)
    snapshot_id: str = ""
    error: ErrorRecord | None = None

    def with_step(self, record: StepRunRecord) -> Self:
        """The state in which the step of that index has this record."""
        records = tuple(record if known.index == record.index else known for known in self.step_records)
        return self.model_copy(update={"step_records": records})

    def as_record(self) -> RecipeRunRecord:
        """The state, immutable, as it stands."""
        return RecipeRunRecord.model_validate(self.model_dump())


class RecipeRunRecord(RecipeRunState):
    """A run that has ended, or the last known state of one that broke off."""


class RecipeRunResult(_Frozen):
    """What `KnowledgeBaseBuilder.build` returns."""

    record: RecipeRunRecord
    artifacts: dict[str, ArtifactReference]
    capabilities: Capabilities
    issues: tuple[Issue, ...]


def count_by_code(issues: Iterable[Issue]) -> dict[str, int]:
    """How often each code stands among the issues, by falling count, then by code."""
    counts = Counter(issue.code for issue in issues)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def merge_counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Counts by code added up, by falling count, then by code."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))
