"""The result of an audit as data, for verdict.json, the report and the table on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from igq.pipeline.audit.recovery_timeline import RecoveryTimes

#: Findings that make an audit fail.
FAULTS = ("lost", "duplicated", "out_of_sequence", "unexpected")
#: Finding -> what it means, in the order in which they are shown.
MEANINGS = {
    "expected": "copies that the input rows say must arrive",
    "sent": "of these, put and committed (without a run: all committed puts)",
    "delivered": "got and committed at least once (dead letters apart)",
    "dead_lettered": "put with a dead-letter header: on a dead-letter queue, or taken off one",
    "lost": "must have arrived and did not",
    "duplicated": "got and committed more than once",
    "out_of_sequence": "got before what had to come first, or after what had to come later",
    "unexpected": "arrived without being expected, or not as it was put",
    "recovered": "touched by a unit of work that a peer resolved for a dead program",
    "unrecorded": "got and committed, but in no program's record: it was killed before it wrote one, or lost it",
    "unknown": "a program could not tell how its call ended; the journal settles it",
    "backed_out": "came back to their queue from a get at least once",
    "on_queue": "still on a queue at the end",
    "expired": "discarded: their expiry time had passed",
    "cleared": "discarded: an operator cleared their queue",
    "in_doubt": "put or got by a prepared unit of work, which its coordinator or an operator will end",
    "uncommitted": "put or got by a unit of work that has not ended and is not prepared",
    "promised_gone": "lost with a structure, as its backup promises",
    "promised_again": "got again after a structure was lost, as its backup promises",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One message copy that is wrong or worth naming."""

    copy: str
    why: str
    #: Hexadecimal, as ``igq pipeline trace --msg-id`` takes it; None if its put is not known.
    msg_id: str | None = None


@dataclass(frozen=True, slots=True)
class PathFigures:
    """Speed on one path. Latency is from the commit of the put to the commit of the get, in milliseconds."""

    messages: int
    first_put_ms: int
    last_get_ms: int
    messages_per_s: float
    p50_ms: int
    p90_ms: int
    p99_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class PeerWork:
    """The units of work that one manager ended for dead programs of another, according to the journal."""

    failed: str
    by: str
    committed_units: int
    backed_out_units: int
    messages: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class JournalFacts:
    """The extent of the journal that was read. ``first_ms`` and ``last_ms`` are null if it is empty."""

    group: str
    events: int
    first_ms: int | None
    last_ms: int | None
    structures: tuple[str, ...]
    trimmed_structures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of an audit. `has_run`: there were records of a run to compare the journal with."""

    has_run: bool
    counts: dict[str, int]
    counts_by_path: dict[str, dict[str, int]]
    findings: dict[str, list[Finding]]
    lost_because: dict[str, int]
    unknown_settled: dict[str, int]
    figures: dict[str, PathFigures]
    recoveries: list[RecoveryTimes]
    peer_work: list[PeerWork]
    journal: JournalFacts

    @property
    def is_passed(self) -> bool:
        """Nothing lost, duplicated, out of sequence or unexpected."""
        return not any(self.counts[fault] for fault in FAULTS)

    def write(self, path: Path) -> None:
        """Write it as JSON; `verdict` is ``passed`` or ``failed``."""
        text = json.dumps({"verdict": "passed" if self.is_passed else "failed", **asdict(self)}, indent=2)
        # Rename it into place, so that no reader finds half of it.
        unfinished = path.with_suffix(".json.new")
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(path)
