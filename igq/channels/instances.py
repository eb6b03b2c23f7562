"""Counts that the servers of a manager have together: instances of channels, and the clients of each server.

Each server tells its counts in a file of its own, which it locks as long as it runs. So a server that is killed counts
no longer at once. The lock of the folder makes a look at the files of all, and the change of one, one moment.
"""

from __future__ import annotations

import json
import os
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from io import FileIO
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sharedq.log import LibraryLogger

_log = LibraryLogger(__name__)
#: A server may have more clients than another by one, and by this part of them.
_SLACK: Final = 8


class Instances:
    """The counts of one server.

    Args:
        folder: where all servers of the manager tell theirs.
        listener: the listener whose server this is; empty for the unix socket.
    """

    def __init__(self, folder: Path, listener: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._listener = folder, listener
        self._held: Counter[str] = Counter()
        self._clients = 0
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        weakref.finalize(self, os.close, self._lock)
        self._own = folder / str(uuid4())
        with self._locked():
            self._file = FileIO(self._own, "x+")
            flock(self._file, LOCK_EX)
            self._tell()

    def close(self) -> None:
        """Count no longer."""
        with self._locked():
            self._own.unlink(missing_ok=True)

    def take(self, most: Mapping[str, int]) -> str:
        """Count one more of each name, if all servers together have fewer than that. Returns a name that is full."""
        with self._locked():
            counts = self._held.copy()
            for other in self._others():
                counts.update({name: other["held"].get(name, 0) for name in most})
            full = next((name for name, limit in most.items() if counts[name] >= limit), "")
            if not full:
                self._held.update(most.keys())
                self._tell()
            return full

    def leave(self, names: tuple[str, ...]) -> None:
        """Count one less of each name."""
        self._held.subtract(names)
        # Names without instances go.
        self._held = +self._held
        with self._locked():
            self._tell()

    def count_clients(self, count: int) -> None:
        """Tell how many clients are there, connected or about to be."""
        self._clients = count
        with self._locked():
            self._tell()

    def has_more_than_others(self) -> bool:
        """Whether another server of the same listener should take the next client."""
        with self._locked():
            counts = [other["clients"] for other in self._others() if other["listener"] == self._listener]
        fewest = min(counts, default=self._clients)
        return self._clients > fewest + fewest // _SLACK

    @contextmanager
    def _locked(self) -> Iterator[None]:
        flock(self._lock, LOCK_EX)
        try:
            yield
        finally:
            flock(self._lock, LOCK_UN)

    def _others(self) -> Iterator[dict[str, Any]]:
        """Yield the counts of the other servers that run."""
        for path in self._folder.iterdir():
            if path == self._own:
                continue
            with path.open("rb") as file:
                try:
                    flock(file, LOCK_EX | LOCK_NB)
                except BlockingIOError:
                    # A full disk may have cut it.
                    with suppress(ValueError):
                        yield json.load(file)
                    continue
            # Its server has ended.
            path.unlink()

    def _tell(self) -> None:
        told = {"listener": self._listener, "clients": self._clients, "held": self._held}
        data = json.dumps(told).encode()
        try:
            self._file.seek(0)
            self._file.truncate(self._file.write(data))
        except OSError as error:
            # The disk is full, most often. The next change tells this one, too.
            _log.warning("channel_counts_not_told", error=str(error))
