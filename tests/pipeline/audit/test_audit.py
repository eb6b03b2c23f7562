"""The audit passes a clean run and finds each planted defect.

DuckDB judges most cases. Some are for both engines, and `test_engines` has all findings at once for both.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.audit.audit import EXAMPLES, REASONS, audit
from igq.pipeline.audit.records import read_run
from igq.pipeline.audit.runs import check_run
from igq.pipeline.audit.verdict import FAULTS, Finding, Verdict
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.errors import PipelineError
from igq.pipeline.reports.report import headline
from igq.pipeline.schemas import FINDINGS
from tests.pipeline.audit import engines
from tests.pipeline.support import GROUP, HandWrittenJournal, detail
from tests.pipeline.synthetic import SyntheticRun

NO_FAULT = dict.fromkeys(FAULTS, 0)


def judge(url: str, run: Path | None = None) -> Verdict:
    return engines.judge(JournalPart(GROUP, url), run)


def faults(verdict: Verdict) -> dict[str, int]:
    return {name: verdict.counts[name] for name in FAULTS}


@pytest.mark.share
def test_a_clean_run_passes_and_every_copy_is_counted(
    redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    SyntheticRun(journal, groups=10).write(tmp_path)

    verdict = judge(redis_url, tmp_path)

    assert verdict.is_passed
    assert faults(verdict) == NO_FAULT
    assert verdict.findings == {}
    for path in ("igq", "shared"):
        counts = verdict.counts_by_path[path]
        assert (counts["expected"], counts["sent"], counts["delivered"]) == (40, 40, 40)
        assert verdict.figures[path].messages == 40
        assert 1 <= verdict.figures[path].p50_ms <= verdict.figures[path].max_ms


@pytest.mark.parametrize("outcome", ["", "unknown"])
def test_a_delivery_that_only_the_journal_has_is_reported(
    redis_url: str, journal: HandWrittenJournal, tmp_path: Path, outcome: str
) -> None:
    """A program was killed after its commit, or has lost its message."""
    SyntheticRun(journal, groups=2).write(tmp_path)
    path = min(tmp_path.glob("received-*.jsonl"))
    first, *more = path.read_text().splitlines()
    row = json.loads(first)
    kept = [json.dumps(row | {"outcome": outcome})] if outcome else []
    path.write_text("\n".join([*kept, *more]) + "\n")

    verdict = judge(redis_url, tmp_path)

    assert verdict.is_passed
    assert verdict.counts["delivered"] == verdict.counts["expected"] == 16
    named = [finding.copy for finding in verdict.findings.get("unrecorded", [])]
    assert named == ([] if outcome else [f"{row['path']} {row['correl']}"])


def test_a_clean_journal_passes_without_records(redis_url: str, journal: HandWrittenJournal, tmp_path: Path) -> None:
    SyntheticRun(journal, groups=3).write(tmp_path)
    journal.put("APPL1", "FLIGHTS", "EWR.1.1.1", ["900"])
    journal.store("APPL1", "900")

    verdict = judge(redis_url)

    assert faults(verdict) == NO_FAULT
    assert (verdict.counts["sent"], verdict.counts["delivered"], verdict.counts["on_queue"]) == (25, 24, 1)


def test_planted_defects_are_found_named_and_nothing_else_is(
    redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    defects = {name: frozenset({row}) for name, row in (("lost", 5), ("doubled", 9), ("swapped", 12), ("alien", 3))}
    SyntheticRun(journal, groups=5, **defects).write(tmp_path)  # type: ignore[arg-type]

    verdict = judge(redis_url, tmp_path)

    assert not verdict.is_passed
    found = {
        "lost": (5, "put and committed, never got, and no longer on a queue"),
        "duplicated": (9, "delivered 2 times"),
        "out_of_sequence": (12, "got "),
        "unexpected": (3, "no input row asks for it"),
    }
    assert faults(verdict) == NO_FAULT | dict.fromkeys(found, 1)
    for fault, (row, why) in found.items():
        (finding,) = verdict.findings[fault]
        assert (finding.copy, finding.why[: len(why)]) == (f"igq {row:048x}", why)


@pytest.mark.spark
def test_the_journal_alone_shows_loss_duplicates_and_phantoms(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    owner = "EWR.1.1.1"
    journal.define("APPL1")
    journal.put("APPL1", "Q", owner, ["1", "2", "3", "4"])
    journal.get("APPL1", "Q", owner, ["2"])
    journal.get("APPL1", "Q", owner, ["2"])
    journal.put("APPL1", "Q", owner, ["5"], unit=f"{owner}/1")
    journal.get("APPL1", "Q", owner, ["5", "6"])
    journal.end("APPL1", "backout", f"{owner}/1", 1)
    journal.expire("APPL1", "Q", owner, ["3"])
    journal.store("APPL1", "4")

    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url))

    found = {name: [finding.copy for finding in verdict.findings[name]] for name in FAULTS if verdict.counts[name]}
    assert found == {"lost": ["APPL1/1"], "duplicated": ["APPL1/2"], "unexpected": ["APPL1/5", "APPL1/6"]}
    assert (verdict.counts["expired"], verdict.counts["on_queue"]) == (1, 1)


@pytest.mark.spark
def test_every_copy_that_a_finding_is_about_is_in_a_table(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    owner, lost = "EWR.1.1.1", [str(number) for number in range(1, EXAMPLES + 6)]
    journal.define("APPL1")
    journal.put("APPL1", "Q", owner, [*lost, "900"])
    journal.store("APPL1", "900")
    kept: list[DataFrame] = []

    # As a job writes it: while the audit keeps its tables of the journal.
    def keep(findings: DataFrame) -> None:
        kept.append(spark.createDataFrame(findings.toArrow(), FINDINGS))

    verdict, _ = audit(spark, JournalPart(GROUP, redis_url), None, keep=keep)

    assert len(verdict.findings["lost"]) == EXAMPLES
    (table,) = kept
    named = {name: [row["copy"] for row in table.where(F.col("finding") == name).collect()] for name in REASONS}
    assert sorted(named["lost"]) == sorted(f"APPL1/{number}" for number in lost)
    assert [named[name] for name in REASONS if name != "lost"] == [[]] * (len(REASONS) - 1)
    assert [row["copy"] for row in table.where(F.col("finding") == "on_queue").collect()] == ["APPL1/900"]


#: The counts of a history, and why each of its copies is among the findings.
Told = tuple[dict[str, int], dict[str, dict[str, str]]]
OWNER, AGENT, TRANSMIT = "EWR.1.1.1", "JFK.1.9.1", "SYSTEM.QSG.TRANSMIT.QUEUE"


def expired_in_units_of_work(journal: HandWrittenJournal, at: str) -> Told:
    """It counts at the commit."""
    journal.put(at, "Q", OWNER, ["1", "2"])
    for number, ends in enumerate(("backout", "commit", ""), start=1):
        unit = f"{OWNER}/{at}{number}"
        journal.expire(at, "Q", OWNER, ["1" if ends else "2"], unit=unit)
        if ends:
            journal.end(at, ends, unit, 1)
    journal.store(at, "2")
    return {"sent": 2, "expired": 1, "uncommitted": 1}, {"uncommitted": {f"{at}/2": ""}}


def puts_that_were_undone(journal: HandWrittenJournal, at: str) -> Told:
    """They never count, however their unit of work ends."""
    for number, ends in enumerate(("commit", "backout", ""), start=1):
        unit = f"{OWNER}/{at}{number}"
        journal.put(at, "Q", OWNER, [f"{number}1"], unit=unit)
        journal.put(at, "Q", OWNER, [f"{number}2", f"{number}3"], unit=unit)
        journal.undo(at, "Q", unit, [f"{number}2", f"{number}3"])
        if ends:
            journal.end(at, ends, unit, 1)
    journal.store(at, "11", "31")
    return {"sent": 1, "on_queue": 1, "uncommitted": 1}, {"on_queue": {f"{at}/11": ""}, "uncommitted": {f"{at}/31": ""}}


def handed_over_and_returned(journal: HandWrittenJournal, at: str) -> Told:
    journal.put(at, "Q", OWNER, ["1", "2"])
    for number in ("1", "2"):
        journal.get(at, "Q", "JFK.1.1.1", [number])
        journal.give_back(at, "Q", "JFK.1.1.1", [number])
    journal.get(at, "Q", "JFK.1.2.1", ["1"])
    journal.store(at, "2")
    return {"sent": 2, "delivered": 1, "on_queue": 1}, {"on_queue": {f"{at}/2": ""}}


def units_of_work_that_are_open(journal: HandWrittenJournal, at: str) -> Told:
    journal.put(at, "Q", OWNER, ["1", "2"])
    journal.get(at, "Q", OWNER, ["1"], unit=f"{OWNER}/{at}7")
    journal.put(at, "Q", OWNER, ["3"], unit=f"{OWNER}/{at}8")
    journal.store(at, "1", "2", "3")
    why = {
        f"{at}/1": f"got by unit of work {OWNER}/{at}7, which has not ended",
        f"{at}/3": f"put by unit of work {OWNER}/{at}8, which has not ended",
    }
    return {"sent": 2, "uncommitted": 2, "on_queue": 1}, {"uncommitted": why, "on_queue": {f"{at}/2": ""}}


def units_of_work_in_doubt(journal: HandWrittenJournal, at: str) -> Told:
    """They are listed apart until they end."""
    journal.put(at, "Q", OWNER, ["1", "2", "3"])
    units = [f"{OWNER}/{at}{number}" for number in range(5)]
    for number in (1, 2, 3):
        journal.get(at, "Q", OWNER, [str(number)], unit=units[number])
        journal.prepare(at, units[number])
    journal.put(at, "Q", OWNER, ["4"], unit=units[4])
    journal.prepare(at, units[4])
    journal.end(at, "commit", units[2], 1)
    journal.end(at, "backout", units[3], 1, recoverer="JFK.1.1.1")
    journal.store(at, "1", "3", "4")
    why = {
        f"{at}/1": f"got by unit of work {units[1]}, which is in doubt",
        f"{at}/4": f"put by unit of work {units[4]}, which is in doubt",
    }
    counts = {"sent": 3, "in_doubt": 2, "delivered": 1, "on_queue": 1, "recovered": 1}
    return counts, {"in_doubt": why, "on_queue": {f"{at}/3": ""}}


def passed_on_by_the_agent_call_by_call(journal: HandWrittenJournal, at: str) -> Told:
    """Messages with the same MsgId in one batch are one delivery each."""
    same, other = detail(msg_id="ab" * 24), detail("c0" * 24, msg_id="ab" * 24)
    details, unit = [same, same, other, same], f"{AGENT}/1"
    journal.put(at, TRANSMIT, OWNER, ["1.1", "2.1", "3.1", "4.1"], details=details)
    for number, each in enumerate(details, 1):
        journal.get(at, TRANSMIT, AGENT, [f"{number}.1"], unit=unit)
        journal.put(at, "DEPARTURES", AGENT, [f"{10 + number}"], unit=unit, details=[each])
    journal.end(at, "commit", unit, 8)
    journal.get(at, "DEPARTURES", "JFK.1.3.1", ["11", "12", "13"])
    journal.store(at, "14")
    return {"sent": 4, "delivered": 3, "on_queue": 1}, {"on_queue": {f"{at}/14": ""}}


def dead_letters(journal: HandWrittenJournal, at: str, *, is_taken: bool) -> Told:
    """They are neither delivered nor waiting."""
    unit, queue = f"{AGENT}/{at}", f"DEAD.{is_taken}"
    journal.put(at, TRANSMIT, OWNER, ["1.1"], details=[detail(msg_id="ab" * 24)])
    journal.get(at, TRANSMIT, AGENT, ["1.1"], unit=unit)
    journal.put(at, queue, AGENT, ["2"], unit=unit, details=[detail(msg_id="ab" * 24, is_dead_letter=True)])
    journal.end(at, "commit", unit, 2)
    journal.put(at, queue, "JFK.1.2.1", ["3"], details=[detail(is_dead_letter=True)])
    if is_taken:
        # In the order of the peers that do the work.
        journal.get(at, queue, "JFK.1.5.1", ["3"])
        journal.get(at, queue, "JFK.1.5.1", ["2"])
    else:
        journal.store(at, "2", "3")
    why = f"dead letter, {'taken off' if is_taken else 'on'} {queue}"
    return {"sent": 2, "dead_lettered": 2}, {"dead_lettered": {f"{at}/2": why, f"{at}/3": why}}


HISTORIES: dict[str, Callable[[HandWrittenJournal, str], Told]] = {
    "S1": expired_in_units_of_work,
    "S2": puts_that_were_undone,
    "S3": handed_over_and_returned,
    "S4": units_of_work_that_are_open,
    "S5": units_of_work_in_doubt,
    "@JFK": passed_on_by_the_agent_call_by_call,
    "@LGA": partial(dead_letters, is_taken=False),
    "@EWR": partial(dead_letters, is_taken=True),
}


@pytest.mark.spark
def test_each_history_counts_as_it_went_and_is_no_fault(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    """Each is in a structure of its own, so that one judgement by both engines is enough."""
    counts, findings = Counter[str](), dict[str, dict[str, str]]()
    for structure, write in HISTORIES.items():
        journal.define(structure)
        counted, named = write(journal, structure)
        counts.update(counted)
        for name, copies in named.items():
            findings.setdefault(name, {}).update(copies)

    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url))

    assert faults(verdict) == NO_FAULT
    assert {name: verdict.counts[name] for name in counts} == dict(counts)
    for name, copies in findings.items():
        found = {each.copy: each.why for each in verdict.findings[name]}
        assert found.keys() == copies.keys(), name
        assert {copy: why for copy, why in copies.items() if why and found[copy] != why} == {}
    assert all(each.msg_id == "ab" * 24 for each in verdict.findings["dead_lettered"] if each.copy.endswith("/2"))
    by_agent = {name: verdict.counts_by_path["igq"][name] for name in ("sent", "delivered")}
    assert by_agent == {"sent": 6, "delivered": 3}
    assert headline(verdict).startswith("Passed: 5 of 18 messages arrived once and in order; ")
    assert "4 are dead letters" in headline(verdict)


def test_a_dead_consumers_messages_are_recovered_and_unknown_gets_settled(
    redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    SyntheticRun(journal, groups=4, kill_at_group=2).write(tmp_path)

    verdict = judge(redis_url, tmp_path)

    assert faults(verdict) == NO_FAULT
    assert (verdict.counts["recovered"], verdict.counts["unknown"], verdict.counts["backed_out"]) == (4, 4, 4)
    assert verdict.unknown_settled == {"get: it was backed out": 4}
    work = verdict.peer_work[0]
    assert (work.failed, work.by, work.committed_units, work.backed_out_units, work.messages) == ("EWR", "LGA", 0, 1, 4)


def test_a_copy_that_became_a_dead_letter_is_lost_and_its_place_named(
    redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    journal.define("@JFK")
    transmit, agent, correl, msg_id = "SYSTEM.QSG.TRANSMIT.QUEUE", "JFK.1.9.1", "cd" * 24, "ab" * 24
    journal.put("@JFK", transmit, "EWR.1.1.1", ["1.1"], details=[detail(correl, msg_id=msg_id)])
    journal.get("@JFK", transmit, agent, ["1.1"], unit=f"{agent}/1")
    letter = detail(correl, msg_id=msg_id, is_dead_letter=True)
    journal.put("@JFK", "DEAD", agent, ["2"], unit=f"{agent}/1", details=[letter])
    journal.end("@JFK", "commit", f"{agent}/1", 2)
    journal.store("@JFK", "2")
    copy = {"path": "igq", "correl": correl, "group": "", "seq": 1, "group_size": 1}
    row = copy | {"row": 1, "source": "EWR", "target": "JFK", "queue": "DEPARTURES"}
    (tmp_path / "expected.jsonl").write_text(json.dumps(row) + "\n")

    verdict = judge(redis_url, tmp_path)

    assert faults(verdict) == NO_FAULT | {"lost": 1}
    assert verdict.counts["dead_lettered"] == 1
    assert verdict.findings["lost"] == [Finding(f"igq {correl}", "dead letter, on DEAD", msg_id)]


@pytest.mark.spark
def test_a_journal_without_events_proves_nothing(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    journal.define("APPL1")

    with pytest.raises(PipelineError, match="has no events to judge"):
        audit(spark, JournalPart(GROUP, redis_url), None)
    with pytest.raises(PipelineError, match="has no events to judge"):
        judge(redis_url)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected.jsonl: is empty"),
        ("garbage\n", r"expected.jsonl: 1 of 1 lines cannot be read"),
        ('{"correl":"0a","path":"igq"}\n{"correl":\n{"correl":"0b","path":"igq"}\n', "1 of 3 lines cannot be read"),
    ],
)
@pytest.mark.spark
def test_the_list_of_demands_is_read_whole_or_not_judged(
    spark: SparkSession, tmp_path: Path, text: str, why: str
) -> None:
    """An unread demand cannot be missed."""
    (tmp_path / "expected.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(PipelineError, match=why):
        read_run(spark, tmp_path)


@pytest.mark.parametrize("text", ["{}", '{"structure":"APPL1"}', '{"structure":"APPL1","backup":"1-0"}', "[]", '{"str'])
def test_an_incomplete_list_of_losses_is_refused_before_spark_starts(tmp_path: Path, text: str) -> None:
    (tmp_path / "expected.jsonl").write_text("{}\n", encoding="utf-8")
    (tmp_path / "losses.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(PipelineError, match=r"losses.jsonl: line 1"):
        check_run(tmp_path)


@pytest.mark.spark
def test_tables_that_the_session_has_cached_stay(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    SyntheticRun(journal, groups=2).write(tmp_path)
    own = spark.range(3).persist()
    own.count()
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url), tmp_path)
    assert (verdict.has_run, verdict.findings) == (True, {})
    assert own.storageLevel.useMemory
    # No table of the audit stays, either.
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before
    own.unpersist()
