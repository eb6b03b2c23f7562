"""The guardian of an embedded server: starts it, restarts it when it dies, stops it when nobody uses it.

One guardian process belongs to a data directory for as long as anybody uses the server in it. It is started
by `sharedq.redis.embedded`, in a session of its own, so that neither Ctrl-C in a terminal nor the end of the first
command reaches the server. Nothing here imports more than the standard library: the file is run by
itself, isolated, and is ready in a few hundredths of a second.

Who is there is told by locks (flock), which the kernel takes back from whoever dies:

    users.lock      shared: every user. Exclusive: the guardian, once nobody is left, until it has ended.
    start.lock      exclusive: the one user that is starting a guardian now.
    guardian.lock   exclusive: the guardian. Shared, for an instant: who asks whether there is one.
    server.lock     exclusive: the server, which inherits it open, so that it is held as long as it runs.
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

#: Seconds for a server to answer at all. Loading its data counts as answering, and may take any time.
ANSWER_TIMEOUT_S = 30.0
#: Seconds between the requests to stop. A server that is busy writing its first append-only file drops one.
TERM_INTERVAL_S = 3.0
#: Requests before a server is killed. It loses nothing: it has synced what it acknowledged.
TERM_COUNT = 3
#: Seconds before a server that died is started again: the first time, and at most.
RESTART_DELAY_S_MIN, RESTART_DELAY_S_MAX = 0.1, 5.0
#: Seconds of life after which a death counts as the first one again.
STEADY_S = 30.0
#: A log that is longer than this when a server starts is put aside.
LOG_BYTES_MAX = 8 * 1024 * 1024

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ServerFiles:
    """Where everything of one embedded server is."""

    data_dir: Path

    @property
    def redis_dir(self) -> Path:
        """The server's own directory: its data, its logs, the locks."""
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
    """A descriptor to lock *path* with, made if need be; not inherited by programs that are started."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(fd: int, operation: int) -> bool:
    """Take a lock (fcntl.LOCK_SH or LOCK_EX) if it is free now."""
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_pid(path: Path) -> int:
    """The process id that a lock file holds; 0 if none."""
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text(encoding="ascii"))
    return 0


def has_open(pid: int, path: Path) -> bool:
    """Whether a process runs and has a file open. Without /proc only the first is looked at."""
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
    """What the server answers to PING: ``+PONG``, ``-LOADING ...``; nothing if nobody answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(socket_path)
            connection.sendall(b"PING\r\n")
            return connection.recv(256).decode("ascii", "replace").strip()
        except OSError:
            return ""


def main(arguments: list[str]) -> int:
    """Run as ``embedded_guard.py DATA_DIR SERVER_BINARY SOCKET READY_FD``; the last one gets one line."""
    if len(arguments) != 4:
        sys.stderr.write("usage: embedded_guard.py DATA_DIR SERVER_BINARY SOCKET READY_FD\n")
        return 2
    data_dir, binary, socket_path, ready_fd = arguments
    if os.fork():
        # The starter waits for this process; the guardian then is nobody's child that could be left unreaped.
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
        """Guard the server until nobody uses it, or a SIGTERM says to end."""
        # This one is opened before users.lock: a dying process gives its descriptors back from the lowest,
        # and whoever gets users.lock after this guardian's end must find guardian.lock free.
        guardian_fd = open_lock(self._files.guardian_lock)
        if not try_lock(guardian_fd, fcntl.LOCK_EX):
            # There is a guardian, or somebody asks just now. The starter, told nothing, looks again.
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
                # A short directory that was made for the socket alone.
                with contextlib.suppress(OSError):
                    Path(self._socket_path).parent.rmdir()
            # Given back rather than closed: the files stay open as long as this process is to be seen.
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
        # Only who is left decides when the server ends: not a key, not a terminal that closes.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.set_wakeup_fd(self._waker_fd, warn_on_full_buffer=False)

    def _wait_for_last_user(self, users_fd: int) -> None:
        fcntl.flock(users_fd, fcntl.LOCK_EX)
        self._is_unused.set()
        os.write(self._waker_fd, b"\0")

    def _wait(self, is_over: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Sleep until something is over, or for a time; signals and the last user's end wake."""
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
            # In the child, so that no moment passes in which a server runs and its number is not known.
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
            # A crash in the middle of a write leaves a torn end, of what was never acknowledged.
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
        """End a server whose guardian was killed. With prctl, that was a SIGTERM to it already."""
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
            # What still holds the lock is a dead server's child that was rewriting the append-only file. It
            # can do no harm: its result is taken over by its parent or not at all.
            self._files.server_lock.unlink()
        finally:
            os.close(lock_fd)


def stop(server: subprocess.Popen[bytes]) -> None:
    """End a server: asked, asked again, then killed."""
    for _ in range(TERM_COUNT):
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(TERM_INTERVAL_S)
            return
    server.kill()
    server.wait()


def log(text: str) -> None:
    """A line in the guardian's log, which its standard error is."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} guardian {os.getpid()}: {text}\n")
    sys.stderr.flush()


def _write_pid(lock_fd: int) -> None:
    os.ftruncate(lock_fd, 0)
    os.pwrite(lock_fd, b"%d\n" % os.getpid(), 0)


def _next_delay_s(delay_s: float) -> float:
    return min(max(2 * delay_s, RESTART_DELAY_S_MIN), RESTART_DELAY_S_MAX)


def _put_log_aside(path: Path) -> int:
    """Where in the log the next server's lines begin."""
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
