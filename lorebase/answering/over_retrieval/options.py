"""How questions are answered."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lorebase.answering.flow_model import ReviewPolicy


class AskOptions(BaseModel):
    """How questions are answered; the defaults take what the base offers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str | None = Field(None, description="Query mode of the search; by default the best that asks no model.")
    max_passages: int = Field(6, ge=1, le=20, description="Most passages that an answer is made from.")
    generator: Literal["auto", "chat", "extractive"] = Field(
        "auto", description="Who writes: the recipe's chat model, or nobody (quotes); auto takes the model if any."
    )
    review: ReviewPolicy | None = Field(
        None, description="Review by the chat model: required, optional, off. By default optional with a chat model."
    )
    max_repairs: int = Field(1, ge=0, le=5, description="Most rounds in which failed answers are written again.")
    max_calls: int = Field(200, ge=0, description="Most calls to the chat model for all questions together.")
    max_answer_chars: int = Field(4_000, ge=50, description="Longest answer, code points.")
    routes: bool = Field(
        default=True, description="Whether a text that asks for something else than an answer is told what to use."
    )
