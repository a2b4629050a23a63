"""Options that several commands have, and the workspace that they name."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lorebase.workspace import Workspace


class Mode(StrEnum):
    """Query modes."""

    vector_search = "vector_search"
    full_text_search = "full_text_search"
    hybrid_search = "hybrid_search"
    graph_search = "graph_search"
    card_search = "card_search"
    faq_search = "faq_search"
    rerank_search = "rerank_search"
    rewrite_search = "rewrite_search"
    multihop_search = "multihop_search"


class ExecutorName(StrEnum):
    """Who runs the task runs of a build."""

    prefect = "prefect"
    inline = "inline"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON alone on stdout; everything else goes to stderr.")]
WorkspaceFolder = Annotated[
    Path, typer.Option("--workspace", "-w", envvar="LOREBASE_WORKSPACE", help="Folder of the workspace.")
]
DEFAULT_WORKSPACE = Path(".lorebase")
RecipeFile = Annotated[Path, typer.Argument(help="Recipe file (YAML).", show_default=False)]
BaseName = Annotated[str, typer.Argument(help="Name of the knowledge base.", show_default=False)]


def opened(folder: Path) -> Workspace:
    """The workspace in a folder, with `${NAME}` of its file filled from the environment."""
    from lorebase.workspace import Workspace  # noqa: PLC0415 (commands import what they need when they run)

    return Workspace.load(folder, os.environ)
