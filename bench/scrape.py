"""``python -m bench.scrape``: one scrape of many queues, on an embedded server of its own."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from igq.manager.membership import Membership
from igq.monitoring.collector import GroupCollector
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.system import define_system_objects
from sharedq.session.connection import Connection
from sharedq.settings.values import Settings

_ROUNDS = 5


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.scrape", description=__doc__)
    parser.add_argument("--queues", type=int, default=2_000, help="shared queues with a message each (2000)")
    with tempfile.TemporaryDirectory(prefix="igq") as folder:
        group = Group(Settings(data_dir=Path(folder), lease_ms=600_000))
        try:
            _fill(group, parser.parse_args().queues)
            _measure(group)
        finally:
            group.leave()
    return 0


def _fill(group: Group, queues: int) -> None:
    membership = Membership.join(group, "QM1", {"pid": os.getpid(), "host": "bench"}, time.sleep)
    membership.tell(state="RUNNING")
    repository = Repository(group, "QM1")
    repository.prepare_manager("QM1")
    define_system_objects(repository, "APPL1")
    process = Process.register(group, "QM1")
    from sharedq.api import QueueManagerConnection

    with QueueManagerConnection(Connection(group, process, is_internal=True)) as connection:
        for number in range(queues):
            name = f"BENCH.QUEUE.{number}"
            repository.define(QueueLocal(name=name, disposition="SHARED", structure="APPL1"))
            connection.put1(name, b"x" * 256)
    process.stop_renewing()


def _measure(group: Group) -> None:
    from prometheus_client.exposition import generate_latest
    from prometheus_client.registry import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    registry.register(GroupCollector(group))
    client = group.client()
    print("scrape  Redis, commands ms  Redis, CPU ms  exporter, CPU ms  elapsed ms  bytes")
    for number in range(1, _ROUNDS + 1):
        client.config_resetstat()
        before = client.info("cpu")
        cpu_s, begun_s = time.process_time(), time.perf_counter()
        text = generate_latest(registry)
        elapsed_s, cpu_s = time.perf_counter() - begun_s, time.process_time() - cpu_s
        after = client.info("cpu")
        commands = client.info("commandstats")
        in_commands = sum(each["usec"] for name, each in commands.items() if "config" not in name) / 1000
        redis_cpu = sum(float(after[key]) - float(before[key]) for key in ("used_cpu_user", "used_cpu_sys")) * 1000
        shown = (number, in_commands, redis_cpu, cpu_s * 1000, elapsed_s * 1000, len(text))
        print("{:>6}  {:>18.1f}  {:>13.1f}  {:>16.1f}  {:>10.1f}  {:>7}".format(*shown))


if __name__ == "__main__":
    raise SystemExit(main())
