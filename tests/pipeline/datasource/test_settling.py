"""Set-up that is done once in a worker, and the choice of Java's compilers."""

import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from igq.pipeline.datasource.worker import settle
from sharedq.redis.deployment import Deployment


@pytest.fixture
def unsettled() -> Iterator[None]:
    settle.cache_clear()
    yield
    gc.unfreeze()
    settle.cache_clear()


@pytest.mark.usefixtures("unsettled")
def test_imported_modules_are_never_garbage_and_later_objects_may_be() -> None:
    settle()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    garbage: list[object] = []
    garbage.append(garbage)
    del garbage
    # A second freeze would keep each task's garbage for ever.
    settle()
    assert gc.get_freeze_count() <= frozen
    assert gc.collect() >= 1


def test_a_servers_memory_is_known_and_a_missing_ones_is_not(redis_url: str, tmp_path: Path) -> None:
    assert (Deployment(redis_url).memory("any") or (0, 0))[0] > 0
    assert Deployment(f"unix://{tmp_path}/nobody").memory("any") is None


#: A source's process. When its input ends, as Spark ends it, it stops the source. It reports each step.
PROCESS = """
import signal, sys, threading
from igq.pipeline.datasource.worker import end_in_good_order, end_undisturbed

POINT, pause = sys.argv[1], threading.Event()

def reach(point):
    if point == POINT:
        print(point, flush=True)
        # A signal cuts this short; where none can, it is over when the other side has said all it has to say.
        pause.wait(PAUSE_S if point in ("stopping", "stopped") else 600)

def stop():
    end_undisturbed()
    reach("stopping")
    print("given back", flush=True)
    reach("stopped")

PAUSE_S = 0.5
# The tests may have been started with SIGTERM ignored.
signal.signal(signal.SIGTERM, signal.SIG_DFL)
end_in_good_order(stop)
try:
    reach("at work")
    sys.stdin.read()
finally:
    reach("input ended")
    stop()
"""


@pytest.mark.parametrize("point", ["at work", "input ended", "stopping", "stopped"])
def test_a_source_ended_twice_while_its_input_ends_still_gives_back(point: str) -> None:
    source = subprocess.Popen(
        [sys.executable, "-c", PROCESS, point], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert source.stdin is not None
    assert source.stdout is not None
    if point != "at work":
        source.stdin.close()
    said = []
    for line in source.stdout:
        said.append(line.rstrip())
        if said[-1] == point:
            for _ in range(2):
                source.send_signal(signal.SIGTERM)
    source.wait()
    assert "given back" in said
    assert source.returncode >= 0
