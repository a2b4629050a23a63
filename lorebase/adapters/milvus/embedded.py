"""One embedded Milvus (Milvus Lite) as a child process: started, locked to one owner, and surely stopped.

`pymilvus` can start it by itself, but then an owner that is refused deletes the lock file of the one that holds it, and
its second attempt opens the same database a second time (milvus-lite 2.5.1). It also imports `pkg_resources`, limits
file names to 36 characters and waits half a second. So the process is started here, and pymilvus sees its socket.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import tenacity

from lorebase.errors import ConfigurationError, UnavailableError

STOP_SECONDS = 10.0
MAX_SOCKET_PATH_BYTES = 100
"""Linux takes 107, macOS 103."""


class EmbeddedMilvus:
    """The process that serves one database file. Not safe for several threads at once: its owner locks."""

    def __init__(
        self,
        database: Path,
        *,
        lock_timeout_seconds: float,
        start_timeout_seconds: float,
        on_stopped: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing runs yet.

        Args:
            database: Its file.
            lock_timeout_seconds: How long to wait for another owner.
            start_timeout_seconds: How long to wait for the process.
            on_stopped: Called when the process has ended as it was told to, the file is still locked, and is the one
                that it served.
        """
        self._database = database.absolute()
        self._lock_path = self._database.with_name(f".{self._database.name}.lock")
        self._lock_timeout_seconds = lock_timeout_seconds
        self._start_timeout_seconds = start_timeout_seconds
        self._on_stopped = on_stopped
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._socket_folder: Path | None = None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def serves_file(self) -> bool:
        """Whether the process runs, and over the file that lies there now: a folder may be replaced under it."""
        return self._lock is not None and self.alive and _is_file_at(self._lock_path, self._lock)

    @property
    def has_file(self) -> bool:
        """Whether the file is held: from `start` to `stop`, also after a process that died by itself."""
        return self._lock is not None

    def start(self) -> str:
        """Take the file and serve it.

        Returns:
            The address for a client, `unix:...`.

        Raises:
            UnavailableError: Another process holds the file longer than the lock timeout, or the server did not start.
            ConfigurationError: milvus-lite is not installed, or the folder cannot be written.
        """
        self.stop()
        try:
            self._database.parent.mkdir(parents=True, exist_ok=True)
            self._lock = self._wait_for_lock()
            return self._launch()
        except OSError as error:
            self.stop()
            raise ConfigurationError(
                f"The index file {self._database} cannot be opened: {error.strerror or error}.",
                remedy="Check that its folder exists and can be written.",
            ) from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Give the file back: after this another process can open it. Safe to repeat."""
        if self._process is not None:
            assert self._lock is not None  # noqa: S101 (taken before the process is started)
            has_obeyed = self.serves_file
            # The server watches this lock and ends when its owner lets go.
            fcntl.lockf(self._lock, fcntl.LOCK_UN)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                has_obeyed = False
            self._process = None
            if has_obeyed:
                self._on_stopped()
        if self._lock is not None:
            # The lock file stays: deleting it would let a third process lock a new file of the same name while this
            # one still counts.
            _unlock(self._lock)
            self._lock = None
        if self._socket_folder is not None:
            shutil.rmtree(self._socket_folder, ignore_errors=True)
            self._socket_folder = None

    def leave_to_parent(self) -> None:
        """In a forked child: forget the parent's process, neither stop it nor keep its file locked."""
        self._of_parent = self._process  # stays referenced: its end would be noted as that of a child of ours
        self._process, self._socket_folder = None, None
        if self._lock is not None:
            _unlock(self._lock)  # our copy; the parent's keeps the lock
            self._lock = None

    @contextlib.contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the file, if nobody else does, without starting the process; tells whether it is held."""
        if self._lock is not None:
            yield True
            return
        try:
            lock = _lock(self._lock_path)
        except OSError:
            yield False
            return
        try:
            yield True
        finally:
            _unlock(lock)

    def _wait_for_lock(self) -> int:
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(BlockingIOError),
            stop=tenacity.stop_after_delay(self._lock_timeout_seconds),
            wait=tenacity.wait_random_exponential(multiplier=0.02, max=0.5),
            reraise=True,
        )
        try:
            return attempts(_lock, self._lock_path)
        except BlockingIOError as error:
            raise UnavailableError(
                f"The index file {self._database} is held by another process "
                f"(waited {self._lock_timeout_seconds:g} s).",
                remedy="Wait until the other build or query has ended, or serve the base from a Milvus server.",
                dependency="milvus",
                path=str(self._database),
            ) from error

    def _launch(self) -> str:
        libraries = _libraries()
        self._socket_folder = _socket_folder()
        address = self._socket_folder / "m.sock"
        assert self._lock is not None  # noqa: S101 (taken just before)
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        self._process = subprocess.Popen(  # noqa: S603 (our own dependency's binary, no shell)
            [str(libraries / "milvus"), str(self._database), f"unix:{address}", "ERROR", str(self._lock_path)],
            # The flock lives as long as one of both processes has the file open: an orphan keeps it until it is gone.
            pass_fds=(self._lock,),
            env={**os.environ, "LD_LIBRARY_PATH": f"{libraries}:{inherited}".rstrip(":")},
            cwd=self._database.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # every refused expression would print there; the answer carries it as well
            start_new_session=True,  # an interrupt on the terminal is for us; the server ends with its owner
        )
        deadline = time.monotonic() + self._start_timeout_seconds
        while not _accepts(address):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise UnavailableError(
                    f"The embedded Milvus for {self._database} did not start "
                    f"(exit code {self._process.poll()}, waited up to {self._start_timeout_seconds:g} s).",
                    remedy="If it happens again the file may be damaged: remove it and rebuild the index.",
                    dependency="milvus",
                    path=str(self._database),
                )
            time.sleep(0.01)
        return f"unix:{address}"


_locking = threading.Lock()
_locked: set[int] = set()
"""Descriptors of the lock files that this process holds."""


def _lock(path: Path) -> int:
    with _locking:
        if any(_is_file_at(path, held) for held in _locked):
            # Closing any descriptor of a file gives up the process's locks on it that tell the server that we live.
            raise BlockingIOError(errno.EWOULDBLOCK, "this process holds it")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # shared with the server: excludes other owners
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not shared: tells the server that we live
        except BaseException:
            os.close(descriptor)
            raise
        _locked.add(descriptor)
        return descriptor


def _unlock(descriptor: int) -> None:
    with _locking:
        _locked.discard(descriptor)
        os.close(descriptor)


def _is_file_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _begin_anew_in_child() -> None:
    global _locking  # noqa: PLW0603 (a thread that the child does not have may hold it)
    _locking = threading.Lock()
    _locked.clear()


os.register_at_fork(after_in_child=_begin_anew_in_child)


def _accepts(address: Path) -> bool:
    """Whether somebody listens there; the file alone appears a moment before that."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(address)) == 0


def _libraries() -> Path:
    # Found, not imported: the package itself needs pkg_resources, which setuptools 81 and later no longer have.
    found = importlib.util.find_spec("milvus_lite")
    for location in (found.submodule_search_locations or []) if found else []:
        if (Path(location) / "lib" / "milvus").exists():
            return Path(location) / "lib"
    raise ConfigurationError(
        "The embedded Milvus is not installed.",
        remedy="Install milvus-lite 2.5.1, or set vector_store.uri to a Milvus server.",
    )


def _socket_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="lorebase-"))
    if len(os.fsencode(folder)) <= MAX_SOCKET_PATH_BYTES - len("/m.sock"):
        return folder
    with contextlib.suppress(OSError):
        folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="lorebase-", dir="/tmp"))
