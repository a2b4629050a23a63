"""The folders of a knowledge tree and of an agent's root, as two tables: what each holds, what can be rebuilt."""

from __future__ import annotations

from dataclasses import dataclass

SOURCE_RAW = "01_source_raw"
WIKI = "02_wiki"
COMPILED = "03_compiled"
DIAGNOSIS = "05_diagnosis"

LEGACY_SOURCE = "01_source_truth"
"""What `01_source_raw` was called before it was renamed."""
LEGACY_MEMORY = "04_memory"
"""Where memory lay in the tree before it got a place of its own."""

KNOWLEDGE = "domain_knowledge"
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class KnowledgeFolder:
    """One folder of a base's tree.

    Attributes:
        name: Its name in the tree.
        holds: What lies in it.
        is_derived: Whether it can be rebuilt from the others. All folders of a tree are backed up together all the
            same: a tree is one unit.
        marks_tree: Whether a folder that holds it is taken for a knowledge tree.
    """

    name: str
    holds: str
    is_derived: bool
    marks_tree: bool


KNOWLEDGE_FOLDERS = (
    KnowledgeFolder(SOURCE_RAW, "original, traceable documents", is_derived=False, marks_tree=True),
    KnowledgeFolder(WIKI, "cards: conclusions that people read", is_derived=False, marks_tree=False),
    KnowledgeFolder(COMPILED, "wiki notes, vectors, knowledge graph", is_derived=True, marks_tree=True),
    KnowledgeFolder(DIAGNOSIS, "attribution graph", is_derived=True, marks_tree=False),
)
"""In the order in which they are listed and moved."""

TREE_MARKS = (*(folder.name for folder in KNOWLEDGE_FOLDERS if folder.marks_tree), LEGACY_SOURCE)
"""A folder that holds one of these is a knowledge tree; trees from before the renaming count too."""


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """One folder of an agent's root.

    Attributes:
        name: Its name in the root.
        holds: What lies in it.
        must_be_backed_up: Whether its loss cannot be made good.
        when_lost: What the loss costs.
    """

    name: str
    holds: str
    must_be_backed_up: bool
    when_lost: str


AGENT_FOLDERS = (
    AgentFolder(
        KNOWLEDGE,
        "one tree for each base",
        must_be_backed_up=True,
        when_lost="documents and cards are gone: it is their only place",
    ),
    AgentFolder(
        MEMORY,
        "one folder for each base: what was remembered",
        must_be_backed_up=True,
        when_lost="what was remembered is gone",
    ),
    AgentFolder(
        "output",
        "converted documents and images to copy or take in",
        must_be_backed_up=False,
        when_lost="conversions are made again",
    ),
    AgentFolder(
        "tmp",
        "work folders of conversions, snapshots of queues",
        must_be_backed_up=False,
        when_lost="unfinished tasks fail",
    ),
)
"""The border between the first two and the others is whether a thing can be rebuilt, not who wrote it."""
