"""Answers from governed knowledge: out of what is live of the organisation; a person takes over where none comes."""

from __future__ import annotations

from lorebase.answering.governed.asking import GovernedAsking

__all__ = ["GovernedAsking"]
