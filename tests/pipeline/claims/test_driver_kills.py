"""The driver of a streaming query is killed at every step and at any moment: each message comes once.

Without Spark, whose part a small program plays: a kill costs less than a second, so there can be many.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from itertools import cycle
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from sharedq import MessageHandle
from tests.pipeline.dying_source import BACKGROUND_STEPS, DRIVER_STEPS
from tests.pipeline.plain_driver import PLAIN_STEPS
from tests.pipeline.plain_driver import start as start_driver
from tests.pipeline.streams import Watch, in_doubt, open_orders
from tests.support.groups import BOTH, LMIG, MIG, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

END_S = 300
OPTIONS = {"queue": "ORDERS", "qmgr": "QM1", "stream": "plain", "maxMessagesPerTrigger": "75", "rowsPerPartition": "20"}
WHOLE = {"wholeGroups": "true"}
#: Half of the messages are on each queue; each has properties, and a selector looks at one of these.
SEVERAL = {"queues": "ORDERS,MORE", "selector": "number >= 0 OR number IS NULL", "properties": "true"}
#: The steps of the sink are not among them.
STEPS = (*(step for step in DRIVER_STEPS if not step.startswith("committ")), *BACKGROUND_STEPS, *PLAIN_STEPS)
GROUPS = 600


@pytest.fixture(params=[{}, WHOLE, SEVERAL], ids=["messages", "groups", "several queues"])
def options(request: pytest.FixtureRequest) -> dict[str, str]:
    """Options of the source."""
    more: dict[str, str] = request.param
    return {name: value for name, value in (OPTIONS | more).items() if not (name == "queue" and "queues" in more)}


@pytest.fixture
def managers(group: TestGroup) -> Iterator[str]:
    """Each driver goes on at another manager than the one before."""
    group.add_member("QM2")
    return cycle(("QM1", "QM2"))


@pytest.fixture
def bodies(group: TestGroup, options: dict[str, str]) -> list[str]:
    """Everything on the queue: single messages, or groups of one to nine."""
    queue, chance = open_orders(group), random.Random(7)
    group.define_shared("MORE")
    more = group.connect().open("MORE", BOTH) if "queues" in options else queue
    found = [message.decode() for message in browse_all(queue)]
    for name in range(GROUPS if "wholeGroups" in options else 5 * GROUPS):
        size = chance.randint(1, 9) if "wholeGroups" in options else 1
        for number in range(1, size + 1):
            found.append(f"{name} {number} of {size}")
            if size == 1:
                handle = MessageHandle()
                handle.set("number", name)
                (more if name % 2 else queue).put(found[-1].encode(), properties=handle if more is not queue else None)
            else:
                put_member(queue, b"%d" % name, number, found[-1].encode(), LMIG if number == size else MIG)
    return found


@pytest.mark.invariant(8)
def test_killed_at_every_step_of_it_each_message_comes_once(
    group: TestGroup, options: dict[str, str], managers: Iterator[str], bodies: list[str], tmp_path: Path
) -> None:
    for step in STEPS:
        options["qmgr"] = next(managers)
        with Watch(group):
            assert end_of(start(group, options, tmp_path, die=step)) == -signal.SIGKILL, step
        assert (tmp_path / step).exists()
    assert stored(group) > 0
    options["qmgr"] = next(managers)
    check_end(group, options, bodies, tmp_path)


@pytest.mark.invariant(8)
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_each_message_comes_once(
    group: TestGroup,
    options: dict[str, str],
    managers: Iterator[str],
    bodies: list[str],
    tmp_path: Path,
    seed: int,
) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        options["qmgr"] = next(managers)
        with Watch(group):
            kill_soon(start(group, options, tmp_path), tmp_path, chance.random() * 0.1)
    check_end(group, options, bodies, tmp_path)


def kill_soon(driver: BaseProcess, directory: Path, delay_s: float) -> None:
    """Kill it this long after its next batch. Some batches take that long, so it can be anywhere."""
    before = batches(directory)
    until(lambda: batches(directory) > before or not driver.is_alive(), "it goes on", END_S)
    time.sleep(delay_s)
    driver.kill()
    end_of(driver)


def check_end(group: TestGroup, options: dict[str, str], bodies: list[str], directory: Path) -> None:
    with Watch(group):
        assert end_of(start(group, options, directory)) == 0
    read = [json.loads((directory / f"rows-{number}").read_text()) for number in range(1, batches(directory) + 1)]
    seen = [body for batch in read for body in batch]
    assert sorted(seen) == sorted(bodies)
    assert (in_doubt(group), stored(group)) == (0, 0)
    if "wholeGroups" in options:
        for batch in read:
            check_groups(batch)


def check_groups(batch: list[str]) -> None:
    """Groups of which a batch has messages are whole and in order."""
    found: dict[str, list[str]] = {}
    for body in batch:
        if " of " in body:
            found.setdefault(body.split()[0], []).append(body)
    for name, members in found.items():
        size = int(members[0].split()[-1])
        assert members == [f"{name} {number} of {size}" for number in range(1, size + 1)]


def batches(directory: Path) -> int:
    """The number of processed messages."""
    return len(list(directory.glob("rows-*")))


def start(group: TestGroup, options: dict[str, str], directory: Path, *, die: str = "") -> BaseProcess:
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "directory": str(directory)}
    return start_driver(told | {"options": options, "die": die})


def end_of(driver: BaseProcess) -> int | None:
    """Its exit status."""
    driver.join(END_S)
    return driver.exitcode
