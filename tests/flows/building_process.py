"""A process that builds one recipe through a Prefect server: `building_process.py URL RECIPE WORKSPACE`."""

from __future__ import annotations

import asyncio
import sys

from flows.build import BuildOptions, build_knowledge_base
from flows.local_server import with_prefect


def main() -> None:
    url, recipe, workspace = sys.argv[1:]
    options = BuildOptions(recipe=recipe, workspace=workspace)
    asyncio.run(with_prefect(url, lambda: build_knowledge_base(options)))


if __name__ == "__main__":
    main()
