"""The embedded server: a private Valkey server in the data directory, which stops with its last user.

It is used if no Redis URL is set, and started on demand. Every user holds a shared lock while it lives. A guardian
process (`sharedq.redis.embedded_guard`) keeps the server running while there are such locks. Each user has a thread
that replaces a guardian that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from sharedq.redis import embedded_guard
from sharedq.redis.embedded_guard import ServerFiles, has_open, open_lock, ping, read_pid, try_lock
from sharedq.redis.embedded_server import (
    EmbeddedRedisError,
    choose_socket_path,
    find_server,
    server_environment,
    socket_path,
)
from sharedq.settings.directories import make_private
from sharedq.settings.machine_limits import full_disk, too_few_files

__all__ = ["EmbeddedRedis", "EmbeddedRedisError"]

#: Seconds that one command may take to start the server while another waits for it.
START_TIMEOUT_S = 60.0
#: Seconds that a guardian has to end when no user is left.
STOP_TIMEOUT_S = 15.0
_POLL_S = 0.01
#: The highest number of a standard stream.
_STREAMS_MAX = 2
#: Seconds between a user's checks that the guardian is still there. A user does not block on the guardian's lock: if
#: threads are greenlets (gevent), that would block all of them.
_WATCH_S = 0.1
_log = logging.getLogger(__name__)
_users: weakref.WeakSet[EmbeddedRedis] = weakref.WeakSet()


class EmbeddedRedis:
    """One user's hold on the embedded server of a data directory. Use it as a context manager, or `leave` it.

    A process that ends for any reason has left. A forked child does not hold the server.
    """

    def __init__(self, files: ServerFiles, users_fd: int, url: str) -> None:
        self._files = files
        self._users_fd = users_fd
        self._has_left = threading.Event()
        self._lock = threading.Lock()
        #: The server's unix:// URL, which stays the same while there are users.
        self.url = url
        _users.add(self)
        threading.Thread(target=self._replace_guardian, name="embedded-redis", daemon=True).start()

    @classmethod
    def start_or_join(cls, data_dir: Path) -> EmbeddedRedis:
        """Hold the server of *data_dir*. Starts it if it is not running. Returns when it answers.

        Raises:
            EmbeddedRedisError: the directory cannot be written, or the server cannot be found or started.
        """
        files = ServerFiles(data_dir.absolute())
        try:
            make_private(files.redis_dir)
            users_fd = open_lock(files.users_lock)
        except OSError as error:
            allowed = "allowed: a directory that can be written, or created"
            reason = f"{error.filename}: {error.strerror}"
            raise EmbeddedRedisError(f"IGQ_DATA_DIR={data_dir}: {reason}; {allowed}") from None
        try:
            with _start_lock(files):
                # Not free while a guardian without users is stopping its server. Then start a new one.
                _wait_for_lock(users_fd, fcntl.LOCK_SH, "the server's last stop has not ended", files)
                _ensure_running(files)
            return cls(files, users_fd, f"unix://{quote(socket_path(files))}")
        except BaseException as error:
            os.close(users_fd)
            if isinstance(error, OSError):
                why = full_disk(files.redis_dir) or error
                raise EmbeddedRedisError(f"embedded server in {data_dir}: {why}") from None
            raise

    @staticmethod
    def running_url(data_dir: Path) -> str | None:
        """Return the URL of a server that others hold in *data_dir*. None: no server is running."""
        path = socket_path(ServerFiles(data_dir.absolute()))
        return f"unix://{quote(path)}" if ping(path).startswith("+") else None

    @staticmethod
    def why_away(data_dir: Path) -> str:
        """Say what keeps the server of *data_dir* from its work. Empty: nothing that is known."""
        return full_disk(ServerFiles(data_dir.absolute()).redis_dir)

    @staticmethod
    def has_data(data_dir: Path) -> bool:
        """Whether a server was ever started in *data_dir*. The check creates nothing."""
        return ServerFiles(data_dir.absolute()).redis_dir.exists()

    def leave(self) -> None:
        """Give up the hold. The last user waits until server and guardian have ended. Repeated calls are harmless."""
        with self._lock:
            if self._has_left.is_set():
                return
            self._has_left.set()
        guardian_pid = read_pid(self._files.guardian_lock)
        # To change a lock, flock first gives it up, so a refusal here may mean that the guardian has it now.
        is_last = try_lock(self._users_fd, fcntl.LOCK_EX) or not try_lock(self._users_fd, fcntl.LOCK_SH)
        os.close(self._users_fd)
        end_s = time.monotonic() + STOP_TIMEOUT_S
        while is_last and has_open(guardian_pid, self._files.guardian_lock) and time.monotonic() < end_s:
            time.sleep(_POLL_S)

    def __enter__(self) -> EmbeddedRedis:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.leave()

    def _replace_guardian(self) -> None:
        delay_s = _WATCH_S
        while not self._has_left.wait(delay_s):
            try:
                if not _has_guardian(self._files):
                    with _start_lock(self._files):
                        if self._has_left.is_set():
                            return
                        _ensure_running(self._files)
                delay_s = _WATCH_S
            except (EmbeddedRedisError, OSError) as error:
                _log.warning("The embedded server has lost its guardian and cannot be started again: %s", error)
                delay_s = min(2 * delay_s, 5.0)

    def _forget(self) -> None:
        """Forget the hold in a forked child: the parent's lock must end with the parent."""
        if not self._has_left.is_set():
            self._has_left.set()
            os.close(self._users_fd)


def _forget_in_child() -> None:
    for user in list(_users):
        user._forget()


os.register_at_fork(after_in_child=_forget_in_child)


@contextlib.contextmanager
def _start_lock(files: ServerFiles) -> Iterator[None]:
    fd = open_lock(files.start_lock)
    try:
        _wait_for_lock(fd, fcntl.LOCK_EX, "another command has not ended starting it", files)
        yield
    finally:
        os.close(fd)


def _wait_for_lock(fd: int, operation: int, obstacle: str, files: ServerFiles) -> None:
    end_s = time.monotonic() + START_TIMEOUT_S
    while not try_lock(fd, operation):
        if time.monotonic() > end_s:
            raise EmbeddedRedisError(f"embedded server in {files.data_dir}: {obstacle} for {START_TIMEOUT_S:.0f} s")
        time.sleep(_POLL_S)


def _ensure_running(files: ServerFiles) -> None:
    """Return when there is a guardian and its server answers. The caller holds start.lock and users.lock."""
    end_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end_s:
        if not _has_guardian(files):
            _start_guardian(files)
        elif ping(socket_path(files)).startswith("+"):
            return
        else:
            # The server died a moment ago and is being started again.
            time.sleep(_POLL_S)
    why = full_disk(files.redis_dir) or f"see {files.server_log}"
    raise EmbeddedRedisError(f"embedded server in {files.data_dir}: no answer for {START_TIMEOUT_S:.0f} s; {why}")


def _has_guardian(files: ServerFiles) -> bool:
    fd = open_lock(files.guardian_lock)
    try:
        return not try_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _start_guardian(files: ServerFiles) -> None:
    """Start a guardian and wait until its server answers. Returns also if the guardian ended without a message."""
    if too_few := too_few_files():
        raise EmbeddedRedisError(f"embedded server in {files.data_dir}: {too_few}")
    arguments = [str(files.data_dir), find_server(), choose_socket_path(files)]
    ready_fd, guardian_ready_fd = map(_above_the_streams, os.pipe())
    try:
        with files.guardian_log.open("ab") as output:
            starter = subprocess.Popen(
                # Isolated and without site-packages: it needs only the standard library, and starts at once.
                [sys.executable, "-I", "-S", embedded_guard.__file__, *arguments, str(guardian_ready_fd)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                pass_fds=(guardian_ready_fd,),
                env=server_environment(),
                # In a new session, so that Ctrl-C in the terminal does not reach it.
                start_new_session=True,
            )
        os.close(guardian_ready_fd)
        guardian_ready_fd = -1
        status = starter.wait()
        with open(ready_fd, encoding="utf-8", closefd=False) as ready:
            word, _, detail = ready.read().partition(" ")
    finally:
        os.close(ready_fd)
        if guardian_ready_fd >= 0:
            os.close(guardian_ready_fd)
    if word == "error":
        raise EmbeddedRedisError(f"embedded server in {files.data_dir}: {full_disk(files.redis_dir) or detail}")
    if not word and status > 0:
        # A positive status: the guardian was not killed, so the server cannot be started here.
        detail = f"its guardian ended with status {status}; see {files.guardian_log}"
        raise EmbeddedRedisError(f"embedded server in {files.data_dir}: {detail}")


def _above_the_streams(fd: int) -> int:
    """Give a file a number above those of the standard streams, which replace it in a child.

    It has one of theirs if the caller of the program closed that stream.
    """
    if fd > _STREAMS_MAX:
        return fd
    higher = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STREAMS_MAX + 1)
    os.close(fd)
    return higher
