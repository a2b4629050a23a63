"""Lorebase builds, governs and serves knowledge bases.

The names below are the public face of the library. They are loaded when they are first used, so that importing the
package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lorebase.knowledge_base import KnowledgeBase, KnowledgeBaseBuilder
    from lorebase.recipes.model import KnowledgeRecipe
    from lorebase.runs.builder import KnowledgeBaseBuilderConfig
    from lorebase.runs.records import RecipeRunRecord, RecipeRunResult, RecipeRunState, StepRunRecord
    from lorebase.runs.step import StepExecutionContext
    from lorebase.workspace import Workspace

_HOMES = {
    "KnowledgeBase": "lorebase.knowledge_base",
    "KnowledgeBaseBuilder": "lorebase.knowledge_base",
    "KnowledgeBaseBuilderConfig": "lorebase.runs.builder",
    "KnowledgeRecipe": "lorebase.recipes.model",
    "RecipeRunRecord": "lorebase.runs.records",
    "RecipeRunResult": "lorebase.runs.records",
    "RecipeRunState": "lorebase.runs.records",
    "StepExecutionContext": "lorebase.runs.step",
    "StepRunRecord": "lorebase.runs.records",
    "Workspace": "lorebase.workspace",
}

__all__ = [
    "KnowledgeBase",
    "KnowledgeBaseBuilder",
    "KnowledgeBaseBuilderConfig",
    "KnowledgeRecipe",
    "RecipeRunRecord",
    "RecipeRunResult",
    "RecipeRunState",
    "StepExecutionContext",
    "StepRunRecord",
    "Workspace",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module 'lorebase' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOMES[name]), name)
