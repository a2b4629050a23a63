"""Where things are: Prefect blocks that hold configuration and secrets."""

from blocks.object_store import LorebaseObjectStore
from blocks.workspace import LorebaseWorkspace

__all__ = ["LorebaseObjectStore", "LorebaseWorkspace"]
