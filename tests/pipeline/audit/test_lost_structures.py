"""A structure that was lost and recovered: losses that its backup allows are no fault, and all others are."""

from __future__ import annotations

from pathlib import Path

import pytest

from igq.pipeline.audit.verdict import FAULTS, Verdict
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.history.lost_structures import AGAIN, LOST, UNDECIDED
from tests.pipeline.audit import engines
from tests.pipeline.audit.two_lives import (
    AFTER_MS,
    BACKUP_MS,
    BEFORE_MS,
    OWNER,
    QUEUE,
    SECOND_MS,
    STRUCTURE,
    TwoLives,
    correl,
)
from tests.pipeline.support import GROUP, HandWrittenJournal, detail


@pytest.fixture
def run(journal: HandWrittenJournal, tmp_path: Path) -> TwoLives:
    return TwoLives(journal, tmp_path)


def found(verdict: Verdict, name: str) -> dict[str, str]:
    return {finding.copy: finding.why for finding in verdict.findings.get(name, [])}


def named(why: dict[int, str]) -> dict[str, str]:
    return {f"shared {correl(number)}": text for number, text in why.items()}


def test_a_loss_within_the_backups_promise_is_no_fault(run: TwoLives, redis_url: str) -> None:
    got_before, stood, got_after, put_after, put_and_got_after, in_doubt, in_second = range(1, 8)
    for number in (got_before, stood, got_after):
        run.put(number, BEFORE_MS)
    run.get(got_before, BEFORE_MS + 1)
    run.journal.expire(STRUCTURE, QUEUE, OWNER, ["99x"], ms=BACKUP_MS)
    run.get(got_after, AFTER_MS)
    for number in (put_after, put_and_got_after):
        run.put(number, AFTER_MS)
    run.get(put_and_got_after, AFTER_MS + 1)
    # Its program learned from another structure that the unit of work was committed.
    run.put(in_doubt, AFTER_MS + 2, outcomes=("unknown", "ok"), unit=f"{OWNER}/7")
    run.lose()
    run.put(in_second, SECOND_MS)
    for number in (stood, got_after, in_second):
        run.get(number, SECOND_MS + 1)

    verdict = engines.judge(JournalPart(GROUP, redis_url), run.record(range(1, 8)))

    assert {name: verdict.counts[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert found(verdict, "promised_gone") == named({put_after: LOST, in_doubt: UNDECIDED})
    assert found(verdict, "promised_again") == named({got_after: AGAIN})
    assert (verdict.counts["expected"], verdict.counts["delivered"], verdict.counts["on_queue"]) == (7, 5, 0)
    assert verdict.journal.trimmed_structures == ()


def test_a_loss_beyond_the_backups_promise_is_a_fault(run: TwoLives, redis_url: str) -> None:
    gone, twice, again, put_again, later_again, never_ended, gone_again, twice_and_gone, expired = range(1, 10)
    for number in (gone, twice, again, put_again, gone_again, twice_and_gone, expired):
        run.put(number, BEFORE_MS)
    run.get(again, BEFORE_MS + 1)
    run.journal.expire(STRUCTURE, QUEUE, OWNER, [f"{expired}x"], ms=BEFORE_MS + 1)
    for number in (gone_again, twice_and_gone, twice_and_gone):
        run.get(number, AFTER_MS)
    run.put(later_again, AFTER_MS)
    run.get(later_again, AFTER_MS + 1)
    run.put(never_ended, AFTER_MS + 2, unit=f"{OWNER}/7")
    run.lose()
    # Got before the backup ended, or put after it: not there any more.
    for number in (twice, twice, again, later_again):
        run.get(number, SECOND_MS)
    # Its program put it a second time, as another message.
    run.journal.put(STRUCTURE, QUEUE, OWNER, ["20x"], details=[detail(correl(put_again))], ms=SECOND_MS)
    run.journal.get(STRUCTURE, QUEUE, OWNER, ["20x"], ms=SECOND_MS + 1)
    run.get(put_again, SECOND_MS + 2)

    verdict = engines.judge(JournalPart(GROUP, redis_url), run.record(range(1, 10)))

    assert found(verdict, "lost") == named(
        {
            expired: "expired",
            # It is gone in its second life. Two gets in the first life do not make up for that.
            twice_and_gone: "put and committed, never got, and no longer on a queue",
            gone: "put and committed, never got, and no longer on a queue",
            never_ended: "put, its unit of work never ended",
            # The backup has it, so the get in the first life does not count.
            gone_again: "put and committed, never got, and no longer on a queue",
        }
    )
    assert found(verdict, "duplicated") == named(
        dict.fromkeys((twice, again, put_again, later_again), "delivered 2 times")
        | {twice_and_gone: "delivered several times before its structure was lost"}
    )
    assert not verdict.is_passed
