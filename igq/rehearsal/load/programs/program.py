"""The common part of the two load programs: their command line and their end."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from igq.errors import CommandError
from igq.output.log import log_to_stderr
from igq.rehearsal.load.records import History
from igq.rehearsal.load.rows.sources import RowSource
from sharedq import MQIError
from sharedq.redis.deployment import DeploymentError


@dataclass(frozen=True, slots=True)
class Options:
    """How a load program was started.

    Attributes:
        name: the program's name, also of its files, its connection tag and its status message.
        directory: of the run.
        queue: the queue that a consumer drains.
        is_history_kept: write every call to history-NAME.jsonl.
        channel: the unix socket of the manager's channel by which the program connects; empty: it uses Redis itself.
    """

    name: str
    qmgr: str
    directory: Path
    source: RowSource
    queue: str
    is_history_kept: bool
    channel: str = ""

    def history(self) -> History:
        """The program's history."""
        path = self.directory / f"history-{self.name}.jsonl" if self.is_history_kept else None
        return History(path, self.name)

    def arguments(self) -> list[str]:
        """Return the command line that `run_program` reads."""
        given = ["--name", self.name, "--qmgr", self.qmgr, "--run", str(self.directory), "--source", str(self.source)]
        given += ["--queue", self.queue, "--channel", self.channel]
        return [*given, *(["--history"] if self.is_history_kept else [])]


def run_program(main: Callable[[Options], None], arguments: Sequence[str]) -> int:
    """Parse the command line and run. Reports an error in one line. Returns the exit status."""
    parser = argparse.ArgumentParser(description="A program of igq's demo and drills; they start it themselves.")
    for option in ("--name", "--qmgr", "--run", "--source", "--queue", "--channel"):
        parser.add_argument(option, default="")
    parser.add_argument("--history", action="store_true")
    given = parser.parse_args(arguments)
    # Standard output is for the events.
    log_to_stderr()
    # Ctrl-C is for the runner, which ends its programs in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source = RowSource.parse(given.source)
    options = Options(given.name, given.qmgr, Path(given.run), source, given.queue, given.history, given.channel)
    try:
        main(options)
    except (MQIError, DeploymentError, CommandError) as error:
        print(f"{options.name}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0
