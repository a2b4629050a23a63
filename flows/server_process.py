"""The process of a workspace's own Prefect server: it ends by itself when nobody uses the workspace any more.

Two files are locked, and the operating system lets go of locks however their holder ends, SIGKILL included:
`server.lock` by the one server of a workspace, `users.lock` shared by everybody who uses it. Once the server can have
the second lock alone, there is no user left.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import runpy
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO

SERVER_LOCK = "server.lock"
USERS_LOCK = "users.lock"
NOTE = "server.json"

_POLL_SECONDS = 0.5
_GRACE_SECONDS = 10.0


def main() -> None:
    """Run `prefect server start` in this process, watched."""
    parser = argparse.ArgumentParser(description="Run a workspace's own Prefect server.")
    parser.add_argument("--home", type=Path, required=True, help="Folder of the server.")
    parser.add_argument("--port", type=int, required=True, help="Port on the loopback interface.")
    given = parser.parse_args()
    with (given.home / SERVER_LOCK).open("ab") as lock:
        if not locked_alone(lock):
            sys.exit(f"Another server runs in {given.home}.")
        note = json.dumps({"url": f"http://127.0.0.1:{given.port}/api", "pid": os.getpid()})
        (given.home / NOTE).write_text(note, encoding="utf-8")
        threading.Thread(target=_end_without_users, args=(given.home,), name="users", daemon=True).start()
        sys.argv = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(given.port)]
        runpy.run_module("prefect", run_name="__main__")


def locked_alone(file: IO[bytes]) -> bool:
    """Lock a file for this process alone, if nobody else has it locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _end_without_users(home: Path) -> None:
    """End this process as soon as the lock is free. The lock is kept to the end: newcomers wait for it."""
    with (home / USERS_LOCK).open("ab") as users:
        while not locked_alone(users):
            time.sleep(_POLL_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE_SECONDS)
        os._exit(1)


if __name__ == "__main__":
    main()
