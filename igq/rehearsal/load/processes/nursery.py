"""The nursery: a process that forks the load programs, so that their imports are loaded only once.

A new program spends a second or two of a slow core on its imports, and a run starts a dozen: more than the load itself
costs. The nursery has one thread and holds no connection, so a fork of it is a program at its start. Each forked
program is a separate process, killed and waited for like any other.

The runner (`igq.rehearsal.load.processes.forked`) speaks to it over one socket, in JSON lines. A request carries a
program's kind and command line, and three descriptors for its standard input, output and error. The next request
follows the answer ``{"started": PID}``. The nursery sends ``{"ended": PID, "status": STATUS}`` by itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Sequence

import igq.rehearsal.load.programs.consumer
import igq.rehearsal.load.programs.putter
from igq.processes.child import die_with_parent
from igq.rehearsal.load.programs.program import run_program

#: Bytes of a request, at most.
REQUEST_BYTES = 1 << 16
#: Standard input, output and error.
_STREAMS = 3
_MAINS = {"putter": igq.rehearsal.load.programs.putter.main, "consumer": igq.rehearsal.load.programs.consumer.main}


class Nursery:
    """Serves one runner until the runner hangs up. Make it in the main thread of a process with no other thread."""

    def __init__(self, runner: socket.socket) -> None:
        self._runner, self._pid = runner, os.getpid()
        # A child's end becomes readable here, so that one wait covers ends and requests.
        self._ends, self._end_writer = socket.socketpair()
        for each in (self._ends, self._end_writer):
            each.setblocking(False)
        signal.set_wakeup_fd(self._end_writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._runner, selectors.EVENT_READ)
        self._selector.register(self._ends, selectors.EVENT_READ)

    def serve(self) -> None:
        """Fork the requested programs and report ended ones."""
        # Loaded modules stay shared with the children: a garbage collection would write to every page and so copy it.
        gc.freeze()
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._ends:
                    self._reap()
                elif not self._take_request():
                    # Programs that are left end with this process.
                    return

    def _take_request(self) -> bool:
        request, descriptors, _, _ = socket.recv_fds(self._runner, REQUEST_BYTES, _STREAMS)
        if not request:
            return False
        wanted = json.loads(request)
        pid = os.fork()
        if pid == 0:
            self._become(wanted["kind"], wanted["arguments"], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self._tell(started=pid)
        return True

    def _become(self, kind: str, arguments: Sequence[str], descriptors: Sequence[int]) -> None:
        """Become the program, in the child. Does not return."""
        status = 1
        try:
            die_with_parent(self._pid)
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            for each in (self._runner, self._ends, self._end_writer):
                each.close()
            # Siblings must not draw the same pauses.
            random.seed()
            status = run_program(_MAINS[kind], arguments)
        except BaseException:  # noqa: BLE001 - as the interpreter does with an exception that nobody catches
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            # Skip all exit handlers: they belong to the parent process.
            os._exit(status)

    def _reap(self) -> None:
        self._ends.recv(REQUEST_BYTES)
        # Several ends may arrive as one signal.
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                self._tell(ended=ended[0], status=os.waitstatus_to_exitcode(ended[1]))

    def _tell(self, **answer: int) -> None:
        self._runner.sendall(json.dumps(answer).encode() + b"\n")


def main(arguments: Sequence[str]) -> None:
    """Serve the runner at the other end of the socket. Arguments: ``DESCRIPTOR RUNNER_PID``."""
    descriptor, runner_pid = map(int, arguments)
    die_with_parent(runner_pid)
    # Ctrl-C is for the runner, which ends its programs in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as runner, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        Nursery(runner).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
