"""The rules of governed knowledge that an operator may set."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class GovernanceSettings(BaseModel):
    """Rules of review, processing and upload."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    forbid_self_review: bool = Field(default=True, description="Whether who submitted a revision may not decide on it.")
    auto_process_on_approve: bool = Field(default=False, description="Whether approval starts processing at once.")
    only_known_tags: bool = Field(
        default=False, description="Whether revisions may carry only tags of the organisation's dictionary."
    )
    max_file_bytes: int = Field(50 << 20, ge=1, le=1 << 30, description="Largest original that is taken in.")
    lease_seconds: float = Field(300.0, gt=0, description="How long a worker holds a task without a heart-beat.")
    max_attempts: int = Field(3, ge=1, le=20, description="How often a task is tried.")
    retry_delays_seconds: tuple[float, ...] = Field(
        (10.0, 60.0, 300.0), min_length=1, description="Wait before each further attempt; the last one repeats."
    )
