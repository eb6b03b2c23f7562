"""The figures of the clients of a channel server: counted in memory, and told to the group at most once a second.

A call costs no round trip more. A report has an entry for each channel, and one for each client that is there.

The servers of a manager count together the instances of channels, and the clients of each server. Each server tells its
counts in a file of its own, which it locks as long as it runs. So a server that is killed counts no longer at once. The
lock of the folder makes a look at the files of all, and the change of one, one moment.
"""

from __future__ import annotations

import json
import os
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.scripts.members import channel_figures_call

#: The shortest time between two reports; with many clients it is longer, by as much for each of these.
PERIOD_S: Final = 1.0
_CLIENTS_A_PERIOD: Final = 500
#: Figures that do not change are told again after this time, and are forgotten after that one.
_REFRESH_S: Final = 20.0
_KEPT_S: Final = 60
_log = LibraryLogger(__name__)
#: A server may have more clients than another by one, and by this part of them.
_SLACK: Final = 8


def _now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(slots=True)
class ClientFigures:
    """The figures of one client: calls, bytes and frames.

    ``last_ms``: when its latest call had ended; 0: it has made none.

    Attributes:
        channel: empty for a client of the unix socket that has named none.
    """

    channel: str = ""
    calls: int = 0
    sent: int = 0
    received: int = 0
    frames_sent: int = 0
    frames_received: int = 0
    began_ms: int = field(default_factory=_now_ms)
    last_ms: int = 0
    is_getting: bool = False

    def called(self) -> None:
        """Note that a call has ended."""
        self.calls += 1
        self.last_ms = _now_ms()
        self.is_getting = False


@dataclass(slots=True)
class _Gone:
    """The figures of the clients of a channel that are there no more."""

    clients: int = 0
    calls: int = 0
    sent: int = 0
    received: int = 0


class ServerFigures:
    """The figures of one server. The hub's thread uses them."""

    def __init__(self) -> None:
        self._clients: dict[str, ClientFigures] = {}
        self._gone: dict[str, _Gone] = {}

    def begin(self, token: str, figures: ClientFigures) -> None:
        """Count the connection *token*."""
        self._clients[token] = figures

    def end(self, token: str) -> None:
        """Keep what a connection has done, for its channel."""
        figures = self._clients.pop(token, None)
        if figures is not None:
            gone = self._gone.setdefault(figures.channel, _Gone())
            gone.clients += 1
            gone.calls += figures.calls
            gone.sent += figures.sent
            gone.received += figures.received

    def channels(self) -> dict[str, list[int]]:
        """For each channel: clients so far, and now, calls, bytes sent and received, and gets that wait now."""
        found = {name: [its.clients, 0, its.calls, its.sent, its.received, 0] for name, its in self._gone.items()}
        for each in self._clients.values():
            its = found.setdefault(each.channel, [0] * 6)
            for position, more in enumerate((1, 1, each.calls, each.sent, each.received, each.is_getting)):
                its[position] += more
        return found

    def connections(self) -> dict[str, list[int]]:
        """For each connection by a channel, the fields of `ConnectionFigures`."""
        return {
            token: [
                *(each.calls, each.sent, each.received, each.began_ms, each.last_ms),
                *(each.frames_sent, each.frames_received, int(each.is_getting)),
            ]
            for token, each in self._clients.items()
            if each.channel
        }


class Teller:
    """Tells the group the figures of one server.

    Args:
        listener: the listener whose server this is; empty for that of the unix socket. ``process``: of its processes.
        aside: does a task in another thread.
    """

    def __init__(
        self,
        group: Group,
        qmgr: str,
        listener: str,
        served: ServerFigures,
        aside: Callable[[Callable[[], None]], None],
        process: int = 0,
    ) -> None:
        self._group, self._qmgr, self._served, self._aside = group, qmgr, served, aside
        self._key = group.keys.served_at(qmgr, listener, process)
        self._told: tuple[str, str] | None = None
        self._next_s = self._refresh_s = 0.0
        self._is_telling = False
        #: Of the manager; 0: not known.
        self._incarnation = 0

    def look(self, now_s: float) -> None:
        """Tell what has changed, if it is time. The hub's thread calls this."""
        if self._is_telling or now_s < self._next_s:
            return
        connections = self._served.connections()
        self._next_s = now_s + PERIOD_S * (1 + len(connections) // _CLIENTS_A_PERIOD)
        figures = json.dumps(self._served.channels()), json.dumps(connections)
        if figures != self._told or now_s >= self._refresh_s:
            self._is_telling = True
            self._refresh_s = now_s + _REFRESH_S
            self._aside(partial(self._tell, figures))

    def _tell(self, figures: tuple[str, str]) -> None:
        try:
            member = None if self._incarnation else self._group.member(self._qmgr)
            incarnation = member.incarnation if member is not None else self._incarnation
            call = channel_figures_call(self._group.keys, self._key, self._qmgr, incarnation, *figures, kept_s=_KEPT_S)
            is_told = not self._group.call(*call)[0]
            self._incarnation = incarnation if is_told else 0
            self._told = figures if is_told else None
        except (MQIError, DeploymentError):
            # The next look tries again, and the calls of clients notice what is wrong with Redis.
            self._told = None
        finally:
            self._is_telling = False


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
