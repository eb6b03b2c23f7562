"""Machines of a drill on a network that can be cut: network namespaces on a virtual wire, which is cut silently.

Every host is a namespace, held by a process that does nothing, and all hosts are plugged into a bridge in another
namespace. A host that is cut off is unplugged there: packets to and from it are lost silently, as when a switch fails.
Nothing outside these namespaces is changed, and the kernel removes them with the processes in them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from igq.errors import CommandError
from igq.processes.child import die_with_parent
from igq.rehearsal.load.rows.sources import QMGRS
from sharedq.redis.embedded_guard import ping
from sharedq.redis.embedded_server import EmbeddedRedisError, find_server, server_environment

_TOOLS = ("unshare", "nsenter", "ip")
#: Hosts have one interface.
_DEVICE = "eth0"
_HUB = ""
_NOBODY = "02:00:00:00:ff:ff"
_REDIS = "redis"
_PORT = 6379
_START_TIMEOUT_S = 60.0


class Network:
    """Hosts, by name, until it is closed. Use it as a context manager.

    Raises:
        CommandError: namespaces cannot be made here.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(names, 1)}
        self._holders: dict[str, subprocess.Popen[str]] = {}
        for tool in _TOOLS:
            if shutil.which(tool) is None:
                raise _refusal(f"there is no program {tool}")
        try:
            self._hold(_HUB)
            self._ip(_HUB, ["link add bridge0 type bridge", "link set bridge0 up"])
            for name in self._numbers:
                self._add(name)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def address(self, name: str) -> str:
        """The address of a host."""
        return f"10.64.0.{self._numbers[name]}"

    def enter(self, name: str) -> list[str]:
        """Return the words that, put before a command, run it on a host, in the same process."""
        return ["nsenter", f"--net={self.namespace(name)}", "--"]

    def namespace(self, name: str) -> str:
        """Return the file of a host's namespace."""
        return f"/proc/{self._holders[name].pid}/ns/net"

    def cut(self, name: str) -> None:
        """Cut a host off: nothing reaches it, and nothing that it sends arrives."""
        self._ip(_HUB, [f"link set {self._port(name)} nomaster"])

    def heal(self, name: str) -> None:
        """Plug a host in again."""
        self._ip(_HUB, [f"link set {self._port(name)} master bridge0"])

    def reset(self, one: str, other: str) -> int:
        """End every connection between two hosts at once. Return how many there were."""
        command = [*self.enter(one), "ss", "--kill", "--no-header", "--tcp", "dst", self.address(other)]
        return len(subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines())

    def part(self, one: str, other: str) -> None:
        """Stop two hosts from reaching each other. All others still reach both."""
        self._ip(one, [self._neighbour(other, _NOBODY)])
        self._ip(other, [self._neighbour(one, _NOBODY)])

    def join(self, one: str, other: str) -> None:
        """Let two hosts reach each other again."""
        self._ip(one, [self._neighbour(other)])
        self._ip(other, [self._neighbour(one)])

    def replace(self, name: str) -> None:
        """Replace a host by another machine, as after a loss of power: it remembers no connection.

        Every process on the host must have been killed while it was cut off.
        """
        self._ip(_HUB, [f"link delete {self._port(name)}"])
        self._release(name)
        self._add(name)

    def close(self) -> None:
        """Release all hosts. They are gone when the processes on them are."""
        for name in list(self._holders):
            self._release(name)

    def _add(self, name: str) -> None:
        self._hold(name)
        port, pid = self._port(name), self._holders[name].pid
        self._ip(
            _HUB,
            [
                f"link add {port} type veth peer name {_DEVICE} address {self._hardware(name)} netns {pid}",
                f"link set {port} up",
                f"link set {port} master bridge0",
            ],
        )
        self._ip(
            name,
            [
                "link set lo up",
                f"address add {self.address(name)}/24 dev {_DEVICE}",
                f"link set {_DEVICE} up",
                # Permanent: otherwise others would notice a host that does not answer requests for its hardware
                # address.
                *(self._neighbour(other) for other in self._numbers if other != name),
            ],
        )

    def _hold(self, name: str) -> None:
        # It ends with its standard input, and so with this process, however this process ends.
        holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo here && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert holder.stdout is not None
        if not holder.stdout.readline():
            raise _refusal(holder.communicate()[1])
        self._holders[name] = holder

    def _release(self, name: str) -> None:
        holder = self._holders.pop(name)
        holder.kill()
        holder.communicate()

    def _ip(self, name: str, commands: Sequence[str]) -> None:
        done = subprocess.run(
            [*self.enter(name), "ip", "-batch", "-"],
            input="\n".join(commands) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise _refusal(done.stderr)

    def _port(self, name: str) -> str:
        return f"port{self._numbers[name]}"

    def _hardware(self, name: str) -> str:
        return f"02:00:00:00:00:{self._numbers[name]:02x}"

    def _neighbour(self, name: str, hardware: str = "") -> str:
        hardware = hardware or self._hardware(name)
        return f"neighbour replace {self.address(name)} lladdr {hardware} dev {_DEVICE} nud permanent"


def _refusal(why: str) -> CommandError:
    first = why.strip().partition("\n")[0]
    return CommandError(
        f"network namespaces cannot be made here ({first}): run it as root, or as `unshare --map-root-user --net ...`"
    )


class RedisNetwork:
    """A network with a running Redis. Use it as a context manager, which ends what runs there.

    Attributes:
        url: of Redis, for processes on any of the machines.
        runner_url: of Redis, for processes on none of the machines. No cut affects it.

    Raises:
        CommandError: network namespaces cannot be made here, or Redis does not start.
    """

    def __init__(self, directory: Path) -> None:
        self._network = Network([_REDIS, *QMGRS])
        self.url = f"redis://{self._network.address(_REDIS)}:{_PORT}"
        # The path must be short: the name of a unix socket has room for about a hundred bytes.
        self._sockets = tempfile.mkdtemp(prefix="igq")
        self._socket = f"{self._sockets}/s"
        self.runner_url = f"unix://{self._socket}"
        try:
            self._server = self._start_redis(directory)
        except BaseException:
            self._remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.kill()
        self._server.wait()
        self._remove()

    def enter(self, qmgr: str) -> list[str]:
        """Return the words that, put before a command, run it on the machine of a manager."""
        return self._network.enter(qmgr)

    def cut(self, qmgr: str) -> None:
        """Stop everything to and from the machine of a manager."""
        self._network.cut(qmgr)

    def heal(self, qmgr: str) -> None:
        """Put the machine back on the network."""
        self._network.heal(qmgr)

    def reset(self, one: str, other: str) -> int:
        """End the connections between the machines of two managers. Return how many there were."""
        return self._network.reset(one, other)

    def _start_redis(self, directory: Path) -> subprocess.Popen[bytes]:
        try:
            program = find_server()
        except EmbeddedRedisError as error:
            raise CommandError(str(error)) from None
        log = directory / "redis.log"
        server = subprocess.Popen(
            [
                *(*self._network.enter(_REDIS), program, "--port", str(_PORT)),
                *("--bind", self._network.address(_REDIS), "--protected-mode", "no", "--unixsocket", self._socket),
                *("--dir", str(directory), "--save", "", "--appendonly", "yes", "--appendfsync", "always"),
                *("--logfile", str(log)),
            ],
            env=server_environment(),
            # If the runner is killed, Redis must end too.
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - it does one system call
            start_new_session=True,
        )
        end_s = time.monotonic() + _START_TIMEOUT_S
        while not ping(self._socket).startswith("+"):
            if server.poll() is not None or time.monotonic() > end_s:
                server.kill()
                server.wait()
                raise CommandError(f"Redis does not start on a machine of its own; see {log}")
            time.sleep(0.02)
        return server

    def _remove(self) -> None:
        self._network.close()
        shutil.rmtree(self._sockets, ignore_errors=True)
