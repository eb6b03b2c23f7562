"""The audit over a journal of millions of events: `python -m bench.journal_at_size [EVENTS] [--directory DIR]`.

Makes the events up, in Parquet files, with some defects; has `igq pipeline audit --input` judge them in a process of
its own; prints how long it took and the most memory that its processes had: driver, Java, and the workers together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from bench.processor import peaks
from igq.pipeline.audit.increments import advance
from igq.pipeline.audit.state import StateStore
from igq.pipeline.schemas import JOURNAL
from igq.pipeline.spark.interim_tables import keeping
from igq.pipeline.spark.session import spark_session

#: Messages of a unit of work, and events of one: puts, gets, their commits, and for every second one transfers.
_UNIT, _EVENTS = 10, 27
#: How long the incremental audit keeps lives and marks: short, so that it drops some.
REMEMBER_MS = 60_000
#: Milliseconds from a unit's put to that of the next one, and to its get.
_STEP_MS, _WAIT_MS = 5, 53
_BEGIN_MS = 1_700_000_000_000
#: One message in so many units is left on its queue, got twice, or got before its predecessors.
_LEFT, _TWICE, _EARLY = 9_973, 49_999, 39_989


def journal(spark: SparkSession, events: int) -> DataFrame:
    """About *events* events: half of the messages on a shared queue, half through agents to two managers."""
    units = spark.range(events // _EVENTS, numPartitions=16).withColumnRenamed("id", "u")
    number = F.col("r") % (_UNIT + 1)
    rows = units.withColumn("r", F.explode(F.sequence(F.lit(0), F.lit(4 * _UNIT + 3))))
    rows = rows.withColumns({"part": F.floor(F.col("r") / (_UNIT + 1)), "n": number, "of": F.col("u") % 4})
    is_igq, is_end = F.col("of") >= 2, F.col("n") == _UNIT
    # 0: puts and their commit, 1: transfers, 2: gets and their commit, 3: what is got a second time.
    is_kept = (
        F.when(F.col("part") == 1, is_igq & ~is_end)
        .when(F.col("part") == 3, (F.col("u") % _TWICE == 1) & (F.col("n") == 0))
        .when((F.col("part") == 2) & (F.col("u") % _LEFT == 2), F.col("n") != 3)
        .otherwise(True)
    )
    return rows.where(is_kept).select(*(column.alias(name) for name, column in _columns(is_igq, is_end).items()))


def _columns(is_igq: Column, is_end: Column) -> dict[str, Column]:
    part, u = F.col("part"), F.col("u")
    is_put, is_transfer = part == 0, part == 1
    early = (part == 2) & (u % _EARLY == 3) & (F.col("n") == 9)
    # Each structure has one putting and one getting program, so the order is defined.
    wait = F.when(is_put, 0).when(is_transfer, 2).when(early, _WAIT_MS - 1).otherwise(_WAIT_MS + part)
    ms = F.lit(_BEGIN_MS) + u * _STEP_MS + wait + F.when(is_end, 1).otherwise(0)
    structure = F.when(F.col("of") == 2, "@JFK").when(F.col("of") == 3, "@EWR").otherwise("APPL1")
    source = F.when(F.col("of") == 2, "EWR").otherwise("JFK")
    target = F.when(F.col("of") == 2, "JFK").otherwise("EWR")
    owner = F.when(is_put, F.concat(source, F.lit(".1.1.1"))).otherwise(F.concat(target, F.lit(".1.5.1")))
    queue = F.when(is_igq & (part < 2), "SYSTEM.QSG.TRANSMIT.QUEUE").otherwise("FLIGHTS")
    message = u * _UNIT + F.col("n") + 1
    of_message = {
        "message_number": message,
        "message_id": F.concat(message.cast("string"), F.when(is_igq, ".1").otherwise("")),
        "queue": queue,
    }
    of_put = {
        "msg_id": F.lpad(F.hex(message), 48, "0"),
        "correl_id": F.lpad(F.hex(message), 48, "c"),
        "group_id": F.lpad(F.hex(u), 48, "f"),
        "msg_seq_number": F.col("n") + 1,
        "length": F.lit(256),
        "persistent": F.lit(True),
        "priority": F.lit(5),
    }
    in_unit = is_put | (part == 2)
    values = {
        "event": F.when(is_end, "commit").when(is_put, "put").when(is_transfer, "transfer").otherwise("get"),
        "time": F.timestamp_millis(ms),
        "stream_id": F.concat(ms.cast("string"), F.lit("-0")),
        "position": F.when(is_end, 0).otherwise(F.col("n")),
        "structure": structure,
        "qmgr": F.substring_index(owner, ".", 1),
        "owner": owner,
        "target_queue": F.when(is_transfer, "FLIGHTS"),
        "unit_of_work": F.when(in_unit, F.concat(owner, F.lit("/"), u)),
        **dict.fromkeys(("recovered", "dead_letter", "chosen", "logical"), F.lit(False)),
        "messages": F.lit(_UNIT),
        **{name: F.when(~is_end, column) for name, column in of_message.items()},
        **{name: F.when(is_put & ~is_end, column) for name, column in of_put.items()},
    }
    return {field.name: values[field.name].cast(field.dataType) for field in JOURNAL.fields}


def audit(directory: Path) -> tuple[float, Counter[str], dict[str, int]]:
    """Let the audit judge the journal in *directory*: seconds, most memory of each kind of process, findings."""
    command = [sys.executable, "-m", "igq.pipeline", "audit", "--input", str(directory / "journal")]
    command += ["--output", str(directory / "audit"), "--url", "redis://127.0.0.1:1"]
    begun_s = time.monotonic()
    with subprocess.Popen(command, text=True, env=os.environ | {"IGQ_DATA_DIR": str(directory)}) as process:
        most = peaks(process)
    took_s = time.monotonic() - begun_s
    return took_s, most, json.loads((directory / "audit" / "verdict.json").read_text())["counts"]


def follow(spark: SparkSession, directory: Path, events: int, batches: int) -> dict[str, int]:
    """Let the audit judge it in batches, with a line about the state after each. Returns findings of ended lives."""
    table, store = spark.read.parquet(str(directory / "journal")), StateStore(directory / "state", "QSG1")
    width_ms = -(-(events // _EVENTS * _STEP_MS + 2 * _WAIT_MS) // batches)
    for number in range(batches):
        begun_s = time.monotonic()
        begin_ms = _BEGIN_MS + number * width_ms
        at = F.unix_millis("time")
        batch = table.where((at >= begin_ms) & (at < begin_ms + width_ms)).persist()
        with keeping(directory / "scratch"):
            store.store(number, advance(store.load(spark, number - 1), batch, REMEMBER_MS))
        batch.unpersist()
        state = store.load(spark, number)
        seen = sum(of["events"] for of in state.totals.structures.values())
        kept = f"{state.events.count():,} open events and {state.marks.count():,} marks kept"
        print(f"{seen:,} events seen: {kept}; {time.monotonic() - begun_s:.0f} s", flush=True)
    counts = Counter[str]()
    for of in state.totals.counts.values():
        counts.update(of)
    return counts


def main() -> int:
    """Run it, and compare the findings with the planted defects."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("events", type=int, nargs="?", default=10_000_000)
    arguments.add_argument(
        "--follow", type=int, metavar="BATCHES", help="judge in so many batches, by the incremental audit"
    )
    arguments.add_argument("--directory", type=Path, help="where the files go; default: a temporary one")
    given = arguments.parse_args()
    planted = {
        "duplicated": _planted(given.events, _TWICE, 1),
        # It has passed the nine that its unit of work put before it.
        "out_of_sequence": 9 * _planted(given.events, _EARLY, 3),
    }
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        directory = Path(name)
        with spark_session(directory) as spark:
            journal(spark, given.events).write.parquet(str(directory / "journal"))
            count = spark.read.parquet(str(directory / "journal")).count()
            print(f"{count:,} events made up", flush=True)
            counts = follow(spark, directory, given.events, given.follow) if given.follow else {}
        if not given.follow:
            planted["on_queue"] = _planted(given.events, _LEFT, 2)
            took_s, most, counts = audit(directory)
            print(f"{took_s:.0f} s, {count / took_s:,.0f} events a second, Spark's start included")
            print(", ".join(f"{who} {size / 2**20:,.0f} MiB" for who, size in most.items()))
    print(f"found { ({name: counts[name] for name in planted}) }, planted {planted}")
    return 0 if all(counts[name] == planted[name] for name in planted) else 1


def _planted(events: int, every: int, at: int) -> int:
    """The number of units with a defect."""
    return len(range(at, events // _EVENTS, every))


if __name__ == "__main__":
    sys.exit(main())
