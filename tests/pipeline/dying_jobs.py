"""`igq pipeline archive` as a program of its own, in which the process at a step dies there, once.

Arguments: a JSON object with ``die``, ``scratch`` and ``outlive``, as in ``tests.pipeline.dying_source``; then those of
the command. The test kills the driver with Java, and the process at the step unless it is to outlive them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from igq.pipeline.jobs.archive import Taker
from igq.pipeline.jobs.archives import Archive
from sharedq.messages.message import Message
from tests.pipeline.dying_source import Death

#: Steps of the driver; and of the worker that takes messages off their queue.
ARCHIVE_STEPS = ("begun", "written", "one archived", "archived", "removed")
TAKING_STEPS = ("first taken", "within a unit", "between units")
#: The number of messages that it has taken when a survivor goes on beside it.
_MEETING = 20
_DEATH = "DYING_JOB_TOLD"


@cache
def death() -> Death:
    """Also in the workers: they have the environment of the driver."""
    told = json.loads(os.environ[_DEATH])
    return Death((told["die"],), told["scratch"], told["victim"], told["outlive"])


class DyingTaker(Taker):
    """Dies among the messages that it takes, a hundred in a unit of work."""

    _taken = 0

    def take(self, structure: str, message_id: str) -> Message | None:
        if self._taken == 200:
            death().at("between units")
        found = super().take(structure, message_id)
        self._taken += 1
        if self._taken == _MEETING:
            death().meet()
        if self._taken == 1:
            death().at("first taken")
        if self._taken == 350:
            death().at("within a unit")
        return found


def main() -> int:
    """The command, with its steps."""
    told = json.loads(sys.argv[1])
    os.environ[_DEATH] = json.dumps(told | {"victim": os.getpgid(0)})
    from igq.pipeline import tables
    from igq.pipeline.__main__ import main as run
    from igq.pipeline.jobs import archive
    from tests.pipeline import dying_jobs

    # By name, so that the workers import them, too.
    for module, name, value in (
        (archive, "Taker", dying_jobs.DyingTaker),
        (archive, "archive_queue", _around(archive.archive_queue, "begun", "one archived")),
        (archive, "archived", _around(archive.archived, "archived", "")),
        (tables, "print_table", _around(tables.print_table, "removed", "told")),
        (Archive, "adding", _adding(Archive.adding)),
    ):
        setattr(module, name, value)
    return run(sys.argv[2:])


def _around(function: Callable[..., Any], before: str, after: str) -> Callable[..., Any]:
    """With a step before it, and one after it."""

    def stepping(*args: Any, **kwargs: Any) -> Any:
        death().at(before)
        found = function(*args, **kwargs)
        death().at(after)
        return found

    return stepping


def _adding(adding: Callable[[Archive], Any]) -> Callable[[Archive], Any]:
    """With a step at which everything is written, and nothing is in its final place."""

    @contextmanager
    def stepping(archive: Archive) -> Iterator[Path]:
        with adding(archive) as directory:
            yield directory
            death().at("written")

    return stepping


if __name__ == "__main__":
    sys.exit(main())
