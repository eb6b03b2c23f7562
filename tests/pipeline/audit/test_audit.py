"""The audit passes a clean run and finds each planted defect.

DuckDB judges most cases. Some are for both engines, and `test_engines` has all findings at once for both.
"""

from __future__ import annotations

import json
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


@pytest.mark.parametrize(
    ("defect", "fault", "named", "why"),
    [
        ({"lost": frozenset({5})}, "lost", [5], "put and committed, never got, and no longer on a queue"),
        ({"doubled": frozenset({9})}, "duplicated", [9], "delivered 2 times"),
        ({"swapped": frozenset({12})}, "out_of_sequence", [12], "got "),
        ({"alien": frozenset({3})}, "unexpected", [3], "no input row asks for it"),
    ],
)
def test_a_planted_defect_is_found_named_and_nothing_else_is(
    redis_url: str,
    journal: HandWrittenJournal,
    tmp_path: Path,
    defect: dict[str, frozenset[int]],
    fault: str,
    named: list[int],
    why: str,
) -> None:
    SyntheticRun(journal, groups=5, **defect).write(tmp_path)  # type: ignore[arg-type]

    verdict = judge(redis_url, tmp_path)

    assert not verdict.is_passed
    assert faults(verdict) == NO_FAULT | {fault: len(named)}
    assert [finding.copy for finding in verdict.findings[fault]] == [f"igq {row:048x}" for row in named]
    assert all(finding.why.startswith(why) for finding in verdict.findings[fault])


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


def test_a_message_expired_in_a_unit_of_work_counts_at_its_commit(redis_url: str, journal: HandWrittenJournal) -> None:
    manager = "EWR.1.1.1"
    journal.define("APPL1")
    journal.put("APPL1", "Q", manager, ["1", "2"])
    for number, ends in enumerate(("backout", "commit", ""), start=1):
        unit = f"{manager}/{number}"
        journal.expire("APPL1", "Q", manager, ["1" if ends else "2"], unit=unit)
        if ends:
            journal.end("APPL1", ends, unit, 1)
    journal.store("APPL1", "2")

    verdict = judge(redis_url)

    assert not [name for name in FAULTS if verdict.counts[name]]
    assert (verdict.counts["expired"], verdict.counts["on_queue"] + verdict.counts["uncommitted"]) == (1, 1)


def test_an_undone_put_never_counts_however_its_unit_ends(redis_url: str, journal: HandWrittenJournal) -> None:
    owner = "EWR.1.1.1"
    journal.define("APPL1")
    for number, ends in enumerate(("commit", "backout", ""), start=1):
        unit = f"{owner}/{number}"
        journal.put("APPL1", "Q", owner, [f"{number}1"], unit=unit)
        journal.put("APPL1", "Q", owner, [f"{number}2", f"{number}3"], unit=unit)
        journal.undo("APPL1", "Q", unit, [f"{number}2", f"{number}3"])
        if ends:
            journal.end("APPL1", ends, unit, 1)
    journal.store("APPL1", "11", "31")

    verdict = judge(redis_url)

    assert faults(verdict) == NO_FAULT
    assert [verdict.counts[name] for name in ("sent", "on_queue", "uncommitted")] == [1, 1, 1]


def test_a_message_handed_over_and_returned_is_delivered_once(redis_url: str, journal: HandWrittenJournal) -> None:
    putter, dead, other = "EWR.1.1.1", "JFK.1.1.1", "JFK.1.2.1"
    journal.define("APPL1")
    journal.put("APPL1", "Q", putter, ["1", "2"])
    for number in ("1", "2"):
        journal.get("APPL1", "Q", dead, [number])
        journal.give_back("APPL1", "Q", dead, [number])
    journal.get("APPL1", "Q", other, ["1"])
    journal.store("APPL1", "2")

    verdict = judge(redis_url)

    assert faults(verdict) == NO_FAULT
    assert (verdict.counts["delivered"], verdict.counts["on_queue"]) == (1, 1)


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


@pytest.mark.spark
def test_a_message_the_agent_passed_on_call_by_call_is_one_delivery(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    agent, unit = "JFK.1.9.1", "JFK.1.9.1/1"
    journal.define("@JFK")
    journal.put("@JFK", "SYSTEM.QSG.TRANSMIT.QUEUE", "EWR.1.1.1", ["1.1"], details=["ab" * 24 + ",,,1,10,1,5"])
    journal.get("@JFK", "SYSTEM.QSG.TRANSMIT.QUEUE", agent, ["1.1"], unit=unit)
    journal.put("@JFK", "DEPARTURES", agent, ["2"], unit=unit, details=["ab" * 24 + ",,,1,10,1,5"])
    journal.end("@JFK", "commit", unit, 2)
    journal.get("@JFK", "DEPARTURES", "JFK.1.3.1", ["2"])

    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url))

    assert faults(verdict) == NO_FAULT
    assert verdict.counts_by_path["igq"]["sent"] == verdict.counts_by_path["igq"]["delivered"] == 1
    assert list(verdict.counts_by_path) == ["igq"]


def test_same_msg_ids_in_one_batch_of_the_agent_are_one_delivery_each(
    redis_url: str, journal: HandWrittenJournal
) -> None:
    agent, unit = "JFK.1.9.1", "JFK.1.9.1/1"
    same, other = detail(msg_id="ab" * 24), detail("c0" * 24, msg_id="ab" * 24)
    journal.define("@JFK")
    details = [same, same, other, same]
    journal.put("@JFK", "SYSTEM.QSG.TRANSMIT.QUEUE", "EWR.1.1.1", ["1.1", "2.1", "3.1", "4.1"], details=details)
    for number, each in enumerate(details, 1):
        journal.get("@JFK", "SYSTEM.QSG.TRANSMIT.QUEUE", agent, [f"{number}.1"], unit=unit)
        journal.put("@JFK", "DEPARTURES", agent, [f"{10 + number}"], unit=unit, details=[each])
    journal.end("@JFK", "commit", unit, 8)
    journal.get("@JFK", "DEPARTURES", "JFK.1.3.1", ["11", "12", "13"])
    journal.store("@JFK", "14")

    verdict = judge(redis_url)

    assert faults(verdict) == NO_FAULT
    assert [verdict.counts[name] for name in ("sent", "delivered", "on_queue")] == [4, 3, 1]
    assert list(verdict.counts_by_path) == ["igq"]


@pytest.mark.parametrize("is_taken", [False, True])
@pytest.mark.spark
def test_a_dead_letter_is_neither_delivered_nor_waiting(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, *, is_taken: bool
) -> None:
    journal.define("@JFK")
    agent, msg_id = "JFK.1.9.1", "ab" * 24
    journal.put("@JFK", "SYSTEM.QSG.TRANSMIT.QUEUE", "EWR.1.1.1", ["1.1"], details=[detail(msg_id=msg_id)])
    journal.get("@JFK", "SYSTEM.QSG.TRANSMIT.QUEUE", agent, ["1.1"], unit=f"{agent}/1")
    letter = detail(msg_id=msg_id, is_dead_letter=True)
    journal.put("@JFK", "DEAD", agent, ["2"], unit=f"{agent}/1", details=[letter])
    journal.end("@JFK", "commit", f"{agent}/1", 2)
    journal.put("@JFK", "DEAD", "JFK.1.2.1", ["3"], details=[detail(is_dead_letter=True)])
    journal.store("@JFK", "2", "3")
    if is_taken:
        # In the order of the peers that do the work.
        journal.get("@JFK", "DEAD", "JFK.1.5.1", ["3"])
        journal.get("@JFK", "DEAD", "JFK.1.5.1", ["2"])

    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url))

    assert faults(verdict) == NO_FAULT
    counts = {name: verdict.counts[name] for name in ("sent", "delivered", "on_queue", "dead_lettered")}
    assert counts == {"sent": 2, "delivered": 0, "on_queue": 0, "dead_lettered": 2}
    why = f"dead letter, {'taken off' if is_taken else 'on'} DEAD"
    assert [(each.copy, each.why) for each in verdict.findings["dead_lettered"]] == [("@JFK/2", why), ("@JFK/3", why)]
    assert verdict.findings["dead_lettered"][0].msg_id == msg_id
    assert headline(verdict) == "Passed: 0 of 2 messages arrived once and in order; 2 are dead letters."


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


def test_messages_of_an_open_unit_of_work_are_named_with_it(redis_url: str, journal: HandWrittenJournal) -> None:
    owner = "EWR.1.1.1"
    journal.define("APPL1")
    journal.put("APPL1", "Q", owner, ["1", "2"])
    journal.get("APPL1", "Q", owner, ["1"], unit=f"{owner}/7")
    journal.put("APPL1", "Q", owner, ["3"], unit=f"{owner}/8")
    journal.store("APPL1", "1", "2", "3")

    verdict = judge(redis_url)

    assert faults(verdict) == NO_FAULT
    assert (verdict.counts["uncommitted"], verdict.counts["on_queue"]) == (2, 1)
    assert {finding.copy: finding.why for finding in verdict.findings["uncommitted"]} == {
        "APPL1/1": f"got by unit of work {owner}/7, which has not ended",
        "APPL1/3": f"put by unit of work {owner}/8, which has not ended",
    }


@pytest.mark.spark
def test_work_in_doubt_is_listed_apart_until_it_ends(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal
) -> None:
    owner = "EWR.1.1.1"
    journal.define("APPL1")
    journal.put("APPL1", "Q", owner, ["1", "2", "3"])
    for number in (1, 2, 3):
        journal.get("APPL1", "Q", owner, [str(number)], unit=f"{owner}/{number}")
        journal.prepare("APPL1", f"{owner}/{number}")
    journal.put("APPL1", "Q", owner, ["4"], unit=f"{owner}/4")
    journal.prepare("APPL1", f"{owner}/4")
    journal.end("APPL1", "commit", f"{owner}/2", 1)
    journal.end("APPL1", "backout", f"{owner}/3", 1, recoverer="JFK.1.1.1")
    journal.store("APPL1", "1", "3", "4")

    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url))

    assert faults(verdict) == NO_FAULT
    told = {name: verdict.counts[name] for name in ("in_doubt", "uncommitted", "delivered", "on_queue", "recovered")}
    assert told == {"in_doubt": 2, "uncommitted": 0, "delivered": 1, "on_queue": 1, "recovered": 1}
    assert {finding.copy: finding.why for finding in verdict.findings["in_doubt"]} == {
        "APPL1/1": f"got by unit of work {owner}/1, which is in doubt",
        "APPL1/4": f"put by unit of work {owner}/4, which is in doubt",
    }


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
