"""Parts of a card type: its sections."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class CardSection(BaseModel):
    """A heading of a card."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field(description="The heading, on one line.")
    hint: str = Field("", description="What belongs under it.")
    required: bool = Field(default=False, description="Whether a card must have text under it.")
