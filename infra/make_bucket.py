"""Makes the bucket of the workspace's object store where it does not exist: the first step with a new store."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lorebase.adapters.object_stores import S3ObjectStore
from lorebase.workspace import Workspace


def main() -> None:
    """Make the bucket; a folder needs none."""
    workspace = Workspace.load(Path(os.environ["LOREBASE_WORKSPACE"]), os.environ)
    store = workspace.object_store
    if isinstance(store, S3ObjectStore):
        store.make_bucket()
        sys.stdout.write("The bucket is there.\n")


if __name__ == "__main__":
    main()
