"""The incremental audit gives the verdict of the batch audit for any batches, and its state holds open lives only."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from typer.testing import Result

from igq.pipeline.audit.audit import NAMED, audit
from igq.pipeline.audit.increments import State, advance, verdict_of
from igq.pipeline.audit.rounds import FollowingAudit
from igq.pipeline.audit.state import StateStore
from igq.pipeline.audit.verdict import FAULTS, Verdict
from igq.pipeline.cli.options import NewDirectory
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import FINDINGS, JOURNAL
from igq.pipeline.spark.interim_tables import keeping
from sharedq.reading.journal import position_order
from sharedq.redis.keys import structure_keys
from tests.pipeline.random_history import RandomHistory
from tests.pipeline.support import GROUP, HandWrittenJournal, detail
from tests.pipeline.synthetic import SyntheticRun

pytestmark = pytest.mark.spark

HOUR_MS = 3_600_000
#: When the journals of these tests begin.
T0 = 1_700_000_000_000


def cut(rows: list[Row], chance: random.Random, batches: int) -> list[list[Row]]:
    """Batches of a journal, each up to some moment."""
    moments = sorted({position_order(row.stream_id, is_end=False)[0] for row in rows})
    ends = sorted(chance.choice(moments) for _ in range(batches - 1))
    found: list[list[Row]] = [[] for _ in range(batches)]
    for row in rows:
        found[bisect_left(ends, position_order(row.stream_id, is_end=False)[0])].append(row)
    return found


def follow(
    spark: SparkSession,
    url: str,
    directory: Path,
    batches: int,
    seed: int,
    remember_ms: int = HOUR_MS,
    keep: Callable[[DataFrame], object] = lambda _: None,
) -> tuple[Verdict, StateStore]:
    part = JournalPart(GROUP, url)
    store = StateStore(directory, GROUP)
    rows = part.read(spark).collect()
    for number, batch in enumerate(cut(rows, random.Random(seed), batches)):
        advanced(spark, store, number, batch, remember_ms)
    state, found = store.load(spark, batches - 1), store.found(spark, batches - 1)
    with keeping():
        return verdict_of(spark, state, found, part, keep)[0], store


def advanced(spark: SparkSession, store: StateStore, number: int, batch: list[Row], remember_ms: int = HOUR_MS) -> None:
    """Store the state after one more batch."""
    with keeping():
        state = advance(store.load(spark, number - 1), spark.createDataFrame(batch, JOURNAL), remember_ms)
        store.store(number, state)


def told(verdict: Verdict) -> dict[str, Any]:
    """All that must be the same: not percentiles, which are of slices, nor the path of what is duplicated.

    Of a message that is forgotten when it is got again, only its id tells that.
    """
    found = asdict(verdict)
    for counts in found["counts_by_path"].values():
        del counts["duplicated"]
    found["findings"] = {
        name: sorted((each["copy"], each["why"]) for each in found["findings"].get(name, ())) for name in FAULTS
    }
    found["peer_work"] = sorted(map(str, found["peer_work"]))
    for figures in found["figures"].values():
        del figures["p50_ms"], figures["p90_ms"], figures["p99_ms"]
    return found


@pytest.mark.timeout(900)
def test_its_verdict_is_that_of_the_batch_audit(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    seed = 0
    history = RandomHistory(journal, seed)
    history.write()

    tables: list[list[Row]] = []

    def keep(findings: DataFrame) -> None:
        assert findings.columns == FINDINGS.fieldNames()
        tables.append(findings.select("finding", "copy", "queue", "why").orderBy("finding", "copy").collect())

    batch, _ = audit(spark, JournalPart(GROUP, redis_url), None, keep=keep)
    verdict, _ = follow(spark, redis_url, tmp_path, 3, seed, keep=keep)

    assert told(verdict) == told(batch)
    assert tables[1] == tables[0]
    assert len(tables[0]) == sum(batch.counts[name] for name in NAMED)
    found = {name for name in FAULTS if batch.counts[name]}
    assert found >= history.planted, "the history has what was planted"
    for path, figures in batch.figures.items():
        assert verdict.figures[path].p50_ms == pytest.approx(figures.p50_ms, rel=0.04, abs=1)


#: A message's number, what happens to it after it is back, and whether it is a dead letter.
BACK = [
    (number, then, is_dead)
    for number, (then, is_dead) in enumerate(
        product(["waits", "is got", "is gone", "expires", "is being got", "is in doubt"], [False, True]), 1
    )
]


@pytest.mark.timeout(900)
def test_of_lives_that_are_over_only_marks_and_sums_are_kept(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    """The state does not grow with the messages that have gone through. Those that come back are judged anew."""
    run = SyntheticRun(journal, groups=12)
    run.write(tmp_path / "run")
    journal.put("APPL1", "FLIGHTS", "EWR.1.1.1", ["900"], ms=run.now_ms)
    journal.store("APPL1", "900")
    journal.define("APPL2", "APPL3")
    groups = [f"{each:048x}" for each in range(6)]
    for at, name in enumerate(groups):
        put_and_get_group(journal, name, at, T0 + 10 * at)
    put_and_get_some(journal)
    part, store = JournalPart(GROUP, redis_url), StateStore(tmp_path / "state", GROUP)
    before = part.read(spark).collect()
    for number, rows in enumerate(cut(before, random.Random(1), 2)):
        advanced(spark, store, number, rows)
    state = store.load(spark, 1)
    kept = {(row.structure, row.message_number) for row in state.events.select("structure", "message_number").collect()}
    assert kept == {("APPL1", 900), *(("APPL3", int(f"{number}3")) for number, _, _ in BACK)}
    # No other get was in logical order.
    assert sorted((row.name, row.number) for row in state.marks.collect()) == [(name, 2) for name in groups]

    put_and_get_group(journal, "b" * 48, len(groups), T0 + 3 * HOUR_MS)
    give_some_back(journal, T0 + 3 * HOUR_MS)
    known = {(row.structure, row.stream_id, row.position) for row in before}
    after = part.read(spark).collect()
    advanced(spark, store, 2, [row for row in after if (row.structure, row.stream_id, row.position) not in known])
    assert [(row.name, row.number) for row in store.load(spark, 2).marks.collect()] == [("b" * 48, 2)]
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["1", "2", "found"]

    tables: list[list[Row]] = []

    def keep(findings: DataFrame) -> None:
        tables.append(findings.select("finding", "copy", "queue").orderBy("finding", "copy").collect())

    batch_verdict, _ = audit(spark, part, None, keep=keep)
    with keeping():
        verdict, _ = verdict_of(spark, store.load(spark, 2), store.found(spark, 2), part, keep)
    assert verdict.counts == batch_verdict.counts
    assert tables[1] == tables[0]
    wrong = {(row["finding"], row["copy"]) for row in tables[1] if row["finding"] in FAULTS}
    assert wrong == {("lost", f"APPL3/{number}1") for number, then, _ in BACK if then == "is gone"}


def put_and_get_group(journal: HandWrittenJournal, name: str, at: int, ms: int) -> None:
    """Two messages of a group, the second of which is got in logical order."""
    ids = [f"{2 * at + 2}", f"{2 * at + 3}"]
    journal.put("APPL2", "Q", "EWR.1.1.1", ids, details=[detail(group=name, seq=seq) for seq in (1, 2)], ms=ms)
    journal.get("APPL2", "Q", "JFK.1.5.1", ids[:1], is_chosen=True, ms=ms + 1)
    journal.get("APPL2", "Q", "JFK.1.5.1", ids[1:], is_logical=True, ms=ms + 2)


def put_and_get_some(journal: HandWrittenJournal) -> None:
    """Of each kind one message that is got, on a queue of its own, between one that is gone and one that waits."""
    for number, _, is_dead in BACK:
        ids = [f"{number}1", f"{number}2", f"{number}3"]
        details = [detail(is_dead_letter=is_dead), detail(), detail()]
        journal.put("APPL3", f"Q{number}", "EWR.1.1.1", ids, details=details, ms=T0)
        journal.get("APPL3", f"Q{number}", "BOS.1.5.1", ids[:2], ms=T0)
        journal.store("APPL3", ids[2])


def give_some_back(journal: HandWrittenJournal, ms: int) -> None:
    """Their getter has died, and more happens to them."""
    for number, then, _ in BACK:
        at = ("APPL3", f"Q{number}")
        journal.give_back(*at, "BOS.1.5.1", [f"{number}1"], ms=ms)
        if then in ("waits", "is being got", "is in doubt"):
            journal.store("APPL3", f"{number}1")
        if then == "expires":
            journal.expire(*at, "LGA.1.1.1", [f"{number}1"], ms=ms)
        elif then in ("is got", "is being got", "is in doubt"):
            unit = "" if then == "is got" else f"LGA.1.5.1/{number}"
            journal.get(*at, "LGA.1.5.1", [f"{number}1"], unit=unit, ms=ms)
        if then == "is in doubt":
            journal.prepare("APPL3", f"LGA.1.5.1/{number}", ms=ms)


@pytest.mark.timeout(900)
def test_after_an_interruption_or_error_in_a_batch_nothing_counts_twice(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SyntheticRun(journal, groups=5, doubled=frozenset({3}))
    run.write(tmp_path / "run")
    assert interrupted(redis_url, tmp_path) == (130, ["igq pipeline audit: interrupted"])
    part = JournalPart(GROUP, redis_url)
    store = StateStore.store

    def die(self: StateStore, batch: int, state: State) -> None:
        if batch == 1:
            store(self, batch, state)
        if batch > 0:
            raise RuntimeError("no more")
        store(self, batch, state)

    def audit_of() -> FollowingAudit:
        return FollowingAudit(spark, part, tmp_path / "audit", HOUR_MS)

    monkeypatch.setattr(StateStore, "store", die)
    for number in (900, 901):
        # First the batch's state is stored and Spark not told, then the next batch fails before its state is stored.
        journal.put("APPL1", "FLIGHTS", "EWR.1.1.1", [str(number)], ms=run.now_ms + number)
        journal.get("APPL1", "FLIGHTS", "EWR.1.5.1", [str(number)], ms=run.now_ms + number)
        with pytest.raises(StreamingQueryException, match="no more"):
            audit_of().catch_up(lambda _: None)
    monkeypatch.setattr(StateStore, "store", store)
    audit_of().catch_up(lambda _: None)

    verdict, _ = audit_of().judge()
    counts = {name: verdict.counts[name] for name in ("sent", "delivered", *FAULTS)}
    assert counts == {"sent": 42, "delivered": 42, **dict.fromkeys(FAULTS, 0), "duplicated": 1}
    assert verdict.journal.events == part.read(spark).count()
    with pytest.raises(PipelineError, match=f"is about group {GROUP}, not QT02"):
        FollowingAudit(spark, JournalPart("QT02", redis_url), tmp_path / "audit", HOUR_MS).catch_up(lambda _: None)


def interrupted(url: str, directory: Path) -> tuple[int, list[str]]:
    """The status and the last lines of a command that is interrupted in its first batch."""
    at = ["--group", GROUP, "--url", url, "--output", str(directory / "audit")]
    command = [sys.executable, "-m", "igq.pipeline", "audit", "--follow", *at]
    told = os.environ | {"IGQ_DATA_DIR": str(directory / "data")}
    # As on a terminal: the signal is for all of its processes.
    with subprocess.Popen(command, env=told, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr)
        assert any("batch 0" in line for line in lines)
        os.killpg(process.pid, signal.SIGINT)
        rest = [line.strip() for line in lines]
    return process.returncode, rest


@pytest.mark.timeout(900)
def test_the_command_continues_alone_and_reports_what_was_trimmed_meanwhile(
    redis_url: str, journal: HandWrittenJournal, command: Callable[..., Result], tmp_path: Path
) -> None:
    journal.define("APPL1")
    journal.put("APPL1", "Q", "EWR.1.1.1", ["1", "2"])
    journal.get("APPL1", "Q", "EWR.1.5.1", ["1"])
    journal.store("APPL1", "2")
    own, other = tmp_path / "audit", tmp_path / "other"
    at = ("audit", "--group", GROUP, "--url", redis_url)
    follow = (*at, "--follow", "--once", "--output")

    shown = command(*follow, str(own))
    assert "Passed: 1 of 2 messages arrived once and in order; 1 wait on a queue." in shown.stdout
    journal.get("APPL1", "Q", "EWR.1.5.1", ["1"])
    shown = command(*follow, str(own), status=1)
    assert "duplicated: APPL1/1: ended 2 times" in shown.stdout
    assert "data:image/png" in (own / "report.html").read_text("utf-8")

    # A directory of another audit is left alone, and so is one that another command is writing.
    command(*at, "--output", str(other), status=1)
    # A message that was forgotten when it was got again has no MsgId any more.
    columns = [name for name in FINDINGS.fieldNames() if name != "msg_id"]
    found = [pq.read_table(directory / "findings", columns=columns).to_pylist() for directory in (own, other)]
    assert found[0] == found[1]
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    shown = command(*follow, str(other), status=2)
    assert f"output directory {other}: holds no audit made with --follow; name a new one" in shown.stderr
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == before
    with NewDirectory(own).alone():
        shown = command(*follow, str(own), status=2)
    assert shown.stderr == f"igq pipeline audit: output directory {own}: another command is writing it\n"

    for _ in range(2):
        journal.put("APPL1", "Q", "EWR.1.1.1", ["3"])
    journal.client.xtrim(structure_keys(GROUP, "APPL1").journal, maxlen=1, approximate=False)
    shown = command(*follow, str(own), status=2)
    (line,) = (line for line in shown.stderr.splitlines() if not line.startswith("audit: "))
    assert line.startswith("igq pipeline audit: the journal of APPL1 was trimmed after ")
    assert line.endswith("; the audit cannot judge events that are gone: begin again in a new directory")


@pytest.mark.parametrize("more", [(), ("--output", "there", "--run", "here"), ("--output", "there", "--to", "5")])
def test_following_goes_with_an_output_and_without_an_end(
    command: Callable[..., Result], more: tuple[str, ...]
) -> None:
    shown = command("audit", "--follow", *more, status=2)
    assert shown.stderr == (
        "igq pipeline audit: --follow needs --output, and cannot be combined with --run, --input and --to\n"
    )
