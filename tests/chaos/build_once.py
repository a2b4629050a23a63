"""One build in a process of its own, which dies where it is told to.

By hand, to repeat a failed trial: `python -m tests.chaos.build_once RECIPE WORKSPACE --kill-at 17 --moment half`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

# Loaded here although the library loads them when needed, so that a server of forks has them before it forks.
import openai  # noqa: F401
import pymilvus  # noqa: F401
import s3fs  # noqa: F401

import steps.embed_chunks
import steps.index_full_text
import steps.index_vectors
import steps.parse_documents
import steps.procedures
import steps.split_documents  # noqa: F401
from apps.cli.exit_codes import exit_code_of, exit_code_of_error_code
from lorebase import KnowledgeBase, KnowledgeBaseBuilderConfig
from lorebase.errors import ConflictError, LorebaseError
from lorebase.recipes.loading import load_recipe
from lorebase.workspace_config import load_config
from tests.chaos.corpus import BASE_NAME, TASK_RUN_WEIGHT
from tests.chaos.crashing import CrashingWorkspace, Moment, WritePoint
from tests.fakes.ahead_clock import AheadClock


@dataclass(frozen=True)
class BuildOrder:
    """What a process is told to build, and where to die."""

    recipe: Path
    workspace: Path
    lease_seconds: float = 0.3
    wait_seconds: float = 30.0
    kill_at: int = 0
    moment: Moment = "before"
    with_index_server: bool = False
    signal: int = signal.SIGKILL
    disk_error: int = 0
    only_index_server: bool = False
    clock_ahead_hours: float = 0.0

    @property
    def log(self) -> Path:
        """One line a write of the process that ran last."""
        return self.workspace / "writes.log"

    @property
    def errors(self) -> Path:
        """What the processes said."""
        return self.workspace / "errors.log"


def run_order(order: BuildOrder) -> None:
    """Build, and end the process with the exit code of the command line."""
    with order.errors.open("ab", buffering=0) as errors:
        os.dup2(errors.fileno(), 2)
        sys.exit(asyncio.run(_build(order)))


async def _build(order: BuildOrder) -> int:
    order.log.unlink(missing_ok=True)
    workspace = CrashingWorkspace(order.workspace, load_config(order.workspace / "lorebase.yaml", {}))
    workspace.point = WritePoint(
        order.log,
        at=order.kill_at,
        moment=order.moment,
        with_index_server=order.with_index_server,
        signal_number=order.signal,
        disk_error=order.disk_error,
        only_index_server=order.only_index_server,
    )
    workspace.clock = AheadClock(timedelta(hours=order.clock_ahead_hours))
    config = KnowledgeBaseBuilderConfig(lease_seconds=order.lease_seconds, task_run_weight=TASK_RUN_WEIGHT)
    recipe = load_recipe(order.recipe)
    deadline = time.monotonic() + order.wait_seconds
    while True:
        try:
            result = await KnowledgeBase(BASE_NAME, workspace).rebuild(recipe, config=config)
        except ConflictError as error:
            # The builder's own waiting looks once a second; here a killed build's lease runs out sooner.
            if "is being built" not in error.message or time.monotonic() > deadline:
                sys.stderr.write(f"{error}\n")
                return exit_code_of(error)
            await asyncio.sleep(0.05)
            continue
        except LorebaseError as error:
            sys.stderr.write(f"{error}\n")
            return exit_code_of(error)
        failed = result.record.error
        if failed is not None:
            sys.stderr.write(f"{failed.code}: {failed.message}\n")
            return exit_code_of_error_code(failed.code)
        return 0 if result.record.status == "succeeded" else 1


def main() -> None:
    """The order from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--lease-seconds", type=float, default=1.0)
    parser.add_argument("--kill-at", type=int, default=0)
    parser.add_argument("--moment", choices=["before", "half", "after"], default="before")
    parser.add_argument("--with-index-server", action="store_true")
    run_order(BuildOrder(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
