"""The guardian of an embedded server: starts it, restarts it after its death, stops it when no user is left.

A data directory has one guardian process while the server in it has users. `sharedq.redis.embedded` starts it in a new
session, so that neither Ctrl-C in a terminal nor the end of the first command reaches the server. This file imports
only the standard library: it is run by itself, isolated, and is ready in a few hundredths of a second.

Locks (flock) show which processes are there. The kernel takes them back from a process that dies:

    users.lock      shared: every user. Exclusive: the guardian, from the moment that no user is left until its end.
    start.lock      exclusive: the one user that is starting a guardian.
    guardian.lock   exclusive: the guardian. Shared, for an instant: a process that checks for a guardian.
    server.lock     exclusive: the server, which inherits it open and so holds it while it runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

#: Seconds that a server has to answer at all. Loading its data counts as an answer, and may take any time.
ANSWER_TIMEOUT_S = 30.0
#: Seconds between requests to stop. A server that is writing its first append-only file ignores one.
TERM_INTERVAL_S = 3.0
#: Requests before the server is killed. It loses nothing, because what it acknowledged is synced.
TERM_COUNT = 3
#: Seconds before a dead server is started again: the first time, and at most.
RESTART_DELAY_S_MIN, RESTART_DELAY_S_MAX = 0.1, 5.0
#: Seconds after which a death counts as the first one again.
STEADY_S = 30.0
#: A log that is longer than this when a server starts is moved aside.
LOG_BYTES_MAX = 8 * 1024 * 1024

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ServerFiles:
    """The paths of one embedded server."""

    data_dir: Path

    @property
    def redis_dir(self) -> Path:
        """The server's own directory: data, logs and locks."""
        return self.data_dir / "redis"

    @property
    def users_lock(self) -> Path:
        return self.redis_dir / "users.lock"

    @property
    def start_lock(self) -> Path:
        return self.redis_dir / "start.lock"

    @property
    def guardian_lock(self) -> Path:
        """Holds the guardian's process id."""
        return self.redis_dir / "guardian.lock"

    @property
    def server_lock(self) -> Path:
        """Holds the server's process id."""
        return self.redis_dir / "server.lock"

    @property
    def server_log(self) -> Path:
        return self.redis_dir / "server.log"

    @property
    def guardian_log(self) -> Path:
        return self.redis_dir / "guardian.log"


def open_lock(path: Path) -> int:
    """Return a descriptor to lock *path* with. Creates the file if necessary. Child programs do not inherit it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(fd: int, operation: int) -> bool:
    """Take a lock (fcntl.LOCK_SH or LOCK_EX) if it is free now."""
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_pid(path: Path) -> int:
    """Return the process id in a lock file, 0 if there is none."""
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text(encoding="ascii"))
    return 0


def has_open(pid: int, path: Path) -> bool:
    """Whether a process runs and has a file open. Without /proc only the first is checked."""
    if pid <= 0:
        return False
    if sys.platform != "linux":
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return True
        return False
    try:
        return any(Path(entry.path).samefile(path) for entry in os.scandir(f"/proc/{pid}/fd") if entry.is_file())
    except OSError:
        return False


def ping(socket_path: str) -> str:
    """Return the server's answer to PING: ``+PONG``, ``-LOADING ...``; empty if there is no answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(socket_path)
            connection.sendall(b"PING\r\n")
            return connection.recv(256).decode("ascii", "replace").strip()
        except OSError:
            return ""


def main(arguments: list[str]) -> int:
    """Run ``embedded_guard.py DATA_DIR SERVER_BINARY SOCKET READY_FD``. The guardian writes one line to READY_FD."""
    if len(arguments) != 4:
        sys.stderr.write("usage: embedded_guard.py DATA_DIR SERVER_BINARY SOCKET READY_FD\n")
        return 2
    data_dir, binary, socket_path, ready_fd = arguments
    if os.fork():
        # The starter waits for this process, so the guardian is nobody's child and cannot become a zombie.
        os._exit(0)
    os.umask(0o077)
    Guardian(ServerFiles(Path(data_dir)), binary, socket_path, int(ready_fd)).run()
    return 0


class Guardian:
    """The guardian's life, from taking its lock to giving it back."""

    def __init__(self, files: ServerFiles, binary: str, socket_path: str, ready_fd: int) -> None:
        self._files = files
        self._binary = binary
        self._socket_path = socket_path
        self._ready_fd = ready_fd
        self._is_unused = threading.Event()
        self._is_told_to_stop = False
        self._wake_fd, self._waker_fd = os.pipe()
        os.set_blocking(self._wake_fd, False)
        os.set_blocking(self._waker_fd, False)

    def run(self) -> None:
        """Guard the server until no user is left, or until SIGTERM."""
        # Open this before users.lock: a dying process releases its descriptors from the lowest up, and a process that
        # gets users.lock after this guardian's end must find guardian.lock free.
        guardian_fd = open_lock(self._files.guardian_lock)
        if not try_lock(guardian_fd, fcntl.LOCK_EX):
            # There is a guardian, or a process is checking for one. The starter gets no message and looks again.
            return
        _write_pid(guardian_fd)
        users_fd = open_lock(self._files.users_lock)
        self._catch_signals()
        threading.Thread(target=self._wait_for_last_user, args=(users_fd,), daemon=True).start()
        try:
            self._guard()
        except OSError as error:
            self._report(f"error {error}")
            log(f"ended by {error!r}")
        finally:
            if Path(self._socket_path).parent != self._files.redis_dir:
                # A short directory that was created only for the socket.
                with contextlib.suppress(OSError):
                    Path(self._socket_path).parent.rmdir()
            # Unlock instead of closing: the files must stay open while this process is visible.
            fcntl.flock(guardian_fd, fcntl.LOCK_UN)
            fcntl.flock(users_fd, fcntl.LOCK_UN)

    def _guard(self) -> None:
        restart_delay_s = 0.0
        is_first = True
        while not self._should_stop():
            self._end_former_server()
            started_s = time.monotonic()
            log_start = _put_log_aside(self._files.server_log)
            server = self._start_server()
            is_answering = self._wait_until_answering(server)
            if is_answering:
                self._report("ready")
                self._wait(partial(self._has_ended, server))
            if self._should_stop() or server.poll() is None:
                stop(server)
            last_line = _last_line(self._files.server_log, log_start)
            log(f"server {server.pid} ended with status {server.returncode}: {last_line}")
            if is_first and not is_answering:
                self._report(f"error the server did not start: {last_line}")
                return
            is_first = False
            has_been_steady = time.monotonic() - started_s > STEADY_S
            restart_delay_s = _next_delay_s(0.0 if has_been_steady else restart_delay_s)
            self._wait(self._should_stop, restart_delay_s)

    def _should_stop(self) -> bool:
        return self._is_told_to_stop or self._is_unused.is_set()

    def _has_ended(self, server: subprocess.Popen[bytes]) -> bool:
        return server.poll() is not None or self._should_stop()

    def _catch_signals(self) -> None:
        def on_term(*_: object) -> None:
            self._is_told_to_stop = True

        signal.signal(signal.SIGTERM, on_term)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Only the last user's end stops the server: not a key, not a closed terminal.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.set_wakeup_fd(self._waker_fd, warn_on_full_buffer=False)

    def _wait_for_last_user(self, users_fd: int) -> None:
        fcntl.flock(users_fd, fcntl.LOCK_EX)
        self._is_unused.set()
        os.write(self._waker_fd, b"\0")

    def _wait(self, is_over: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Sleep until the condition holds or the time is over. Signals and the last user's end wake."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not is_over():
            left_s = None if end_s is None else end_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return
            if select.select([self._wake_fd], [], [], left_s)[0]:
                os.read(self._wake_fd, 4096)

    def _report(self, line: str) -> None:
        if self._ready_fd >= 0:
            # The starter may be gone by now.
            with contextlib.suppress(OSError):
                os.write(self._ready_fd, line.encode())
            os.close(self._ready_fd)
            self._ready_fd = -1

    def _start_server(self) -> subprocess.Popen[bytes]:
        lock_fd = open_lock(self._files.server_lock)
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
        guardian_pid = os.getpid()

        def before_exec() -> None:
            # In the child, so that a server never runs without its process id on record.
            _write_pid(lock_fd)
            if prctl is not None:
                prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
                if os.getppid() != guardian_pid:
                    os._exit(1)

        options = {
            "port": "0",
            "unixsocket": self._socket_path,
            "unixsocketperm": "700",
            "dir": str(self._files.redis_dir),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
            # After a crash during a write the file ends torn, but that part was never acknowledged.
            "aof-load-truncated": "yes",
            "repl-diskless-sync-delay": "0",
            "daemonize": "no",
        }
        try:
            with self._files.server_log.open("ab") as output:
                return subprocess.Popen(
                    [
                        self._binary,
                        *(word for name, value in options.items() for word in (f"--{name}", value)),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=self._files.redis_dir,
                    pass_fds=(lock_fd,),
                    preexec_fn=before_exec,  # noqa: PLW1509 - the other thread only waits in flock, it holds nothing
                )
        finally:
            os.close(lock_fd)

    def _wait_until_answering(self, server: subprocess.Popen[bytes]) -> bool:
        end_s = time.monotonic() + ANSWER_TIMEOUT_S
        while server.poll() is None and time.monotonic() < end_s and not self._should_stop():
            answer = ping(self._socket_path)
            if answer.startswith("-LOADING"):
                end_s = time.monotonic() + ANSWER_TIMEOUT_S
            elif answer:
                return True
            self._wait(partial(self._has_ended, server), 0.01)
        return False

    def _end_former_server(self) -> None:
        """End a server whose guardian was killed. With prctl, the kernel has already sent it SIGTERM."""
        lock_fd = open_lock(self._files.server_lock)
        try:
            for number in [signal.SIGTERM] * TERM_COUNT + [signal.SIGKILL]:
                if try_lock(lock_fd, fcntl.LOCK_EX):
                    return
                pid = read_pid(self._files.server_lock)
                if has_open(pid, self._files.server_lock):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                end_s = time.monotonic() + TERM_INTERVAL_S
                while time.monotonic() < end_s:
                    if try_lock(lock_fd, fcntl.LOCK_EX):
                        return
                    self._wait(lambda: False, 0.02)
            if has_open(read_pid(self._files.server_lock), self._files.server_lock):
                raise OSError(f"the former server, process {read_pid(self._files.server_lock)}, cannot be ended")
            # The lock is still held by a dead server's child, which was rewriting the append-only file. It does no
            # harm: only its parent could have used the result.
            self._files.server_lock.unlink()
        finally:
            os.close(lock_fd)


def stop(server: subprocess.Popen[bytes]) -> None:
    """End a server: ask it twice or more, then kill it."""
    for _ in range(TERM_COUNT):
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(TERM_INTERVAL_S)
            return
    server.kill()
    server.wait()


def log(text: str) -> None:
    """Write a line to the guardian's log, which is its standard error. A full disk is no reason for it to end."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} guardian {os.getpid()}: {text}\n")
        sys.stderr.flush()


def _write_pid(lock_fd: int) -> None:
    # Always of one length, over the last one: on a full disk a file that was cut gets nothing again.
    os.pwrite(lock_fd, b"%-20d\n" % os.getpid(), 0)


def _next_delay_s(delay_s: float) -> float:
    return min(max(2 * delay_s, RESTART_DELAY_S_MIN), RESTART_DELAY_S_MAX)


def _put_log_aside(path: Path) -> int:
    """Return where in the log the next server's lines begin."""
    with contextlib.suppress(FileNotFoundError):
        size = path.stat().st_size
        if size <= LOG_BYTES_MAX:
            return size
        path.rename(path.with_suffix(".log.1"))
    return 0


def _last_line(path: Path, start: int) -> str:
    with contextlib.suppress(OSError), path.open("rb") as text:
        text.seek(start)
        lines = [line for line in text.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else "it said nothing"
    return "its log cannot be read"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
