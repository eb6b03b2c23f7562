"""Measures figures: contenders in turn on one server, short rounds, medians.

Single rounds are worthless on a shared machine: a request and its reply between two idle cores take 60 us or 10 us
depending on where the kernel puts the processes. So client and server are pinned to different cores, contenders
take turns in short rounds, and the median round counts.
"""

from __future__ import annotations

import contextlib
import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis

#: Cores that the benchmark may use; read once, because who is started by a pinned process has fewer. Only Linux can
#: pin: elsewhere the medians must do.
_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
#: The fewest rounds of a median.
ROUNDS_MIN = 5
#: Bytes of every message body.
BODY = bytes(range(256))


@dataclass(frozen=True, slots=True)
class Effort:
    """The length of a measurement.

    Attributes:
        rounds: of each contender; the median one counts.
        line_s: after which no further round begins, once there were `ROUNDS_MIN`: a slow disk must not take hours.
        operations: timed together in one round.
        deep: messages on the deep queue of the depth lines.
        hop_messages: moved in one round of the hop line.
        stored: messages that the memory lines put.
        idle_s: how long idle managers are watched: what they do every few minutes should fall into it.
        spark_rows: messages, or events, of the lines about Spark.
        spark_rounds: of each of their contenders.
    """

    rounds: int = 61
    line_s: float = 25.0
    operations: int = 40
    deep: int = 1_000_000
    hop_messages: int = 20_000
    stored: int = 50_000
    idle_s: float = 200.0
    spark_rows: int = 1_000_000
    spark_rounds: int = 3


#: For a first impression: the depth lines then compare with 100,000 messages.
QUICK = Effort(
    rounds=15,
    line_s=8.0,
    operations=30,
    deep=100_000,
    hop_messages=5_000,
    stored=20_000,
    idle_s=60.0,
    spark_rows=200_000,
)


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work of a line.

    Attributes:
        prepare: puts everything into the state that the given number of operations needs; not timed.
        run: does that many operations; timed.
    """

    prepare: Callable[[int], None]
    run: Callable[[int], None]


@dataclass(slots=True)
class Cost:
    """The cost of one message: microseconds in each round, and Redis commands (those inside scripts too)."""

    rounds_us: list[float] = field(default_factory=list)
    commands: float = 0.0

    @property
    def us(self) -> float:
        """Median, microseconds a message."""
        return statistics.median(self.rounds_us)


def compare(
    contenders: Mapping[str, Contender], client: redis.Redis, effort: Effort, *, messages_each: int = 1
) -> dict[str, Cost]:
    """Let the contenders take turns; costs are for one message, of which an operation handles *messages_each*.

    Args:
        client: of the server they all use, to count commands.
        messages_each: of a batch; then a round has half as many operations. Fewer would make much of its end, where a
            commit travels alone that rides on what follows everywhere else.
    """
    operations = effort.operations if messages_each == 1 else max(1, effort.operations // 2)
    costs = {name: Cost() for name in contenders}
    for name, contender in contenders.items():
        # Unmeasured rounds first: scripts, caches and code paths are warm afterwards.
        for _ in range(2):
            contender.prepare(operations)
            contender.run(operations)
        contender.prepare(operations)
        before = commands_processed(client)
        contender.run(operations)
        # The first INFO counts itself, too.
        costs[name].commands = (commands_processed(client) - before - 1) / operations / messages_each
    gc.collect()
    gc.disable()
    try:
        end_s = time.monotonic() + effort.line_s
        for turn in range(effort.rounds):
            if turn >= ROUNDS_MIN and time.monotonic() > end_s:
                break
            for name, contender in contenders.items():
                contender.prepare(operations)
                start_ns = time.perf_counter_ns()
                contender.run(operations)
                elapsed_ns = time.perf_counter_ns() - start_ns
                costs[name].rounds_us.append(elapsed_ns / 1_000 / operations / messages_each)
    finally:
        gc.enable()
    return costs


def commands_processed(client: redis.Redis) -> int:
    """Commands that the server has run since it started, with those of scripts."""
    return int(client.info("stats")["total_commands_processed"])


def used_memory(client: redis.Redis) -> int:
    """Bytes of the server's data now, without its buffers for the append-only file and for clients."""
    info = client.info("memory")
    return int(info["used_memory"]) - int(info["mem_aof_buffer"]) - int(info["mem_clients_normal"])


def pin_client() -> None:
    """Keep this process, and those it starts, off the core that the server has."""
    _pin(0, _CORES[:-1])


def pin_server(pid: int) -> None:
    """Give the server, all its threads, the last core, alone among the processes of the benchmark."""
    _pin(pid, _CORES[-1:])


def unpin(pid: int = 0) -> None:
    """Let a process, default this one, run on every core again."""
    _pin(pid, _CORES)


def _pin(pid: int, cores: Sequence[int]) -> None:
    # With one core there is nothing to choose.
    if len(_CORES) > 1:
        for thread in Path(f"/proc/{pid or 'self'}/task").iterdir():
            # One that has ended meanwhile needs no core.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), cores)
