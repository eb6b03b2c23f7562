"""Peer recovery of one target, from the claim to the end.

Presumed abort: a unit of work with a decision record, or whose commit has begun, is completed; every other is
backed out, but for those that are prepared: they stay in doubt. A recoverer may die after any step; whoever claims the
target next does what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from recovery.claim import Claim, ClaimLostError, Refusal
from recovery.prepared import complete_decided
from recovery.remains import admin_remains, leases_under
from recovery.report import Recovery, from_record
from recovery.structure import resolve_dead, shut_out
from recovery.target import Target
from sharedq.connection import Connection
from sharedq.group import Group
from sharedq.handle import StructureAccess
from sharedq.log import LibraryLogger
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

log = LibraryLogger(__name__)

#: Reasons about one structure; the group as a whole can be told of them. A recovery that ends with one is delayed.
STRUCTURE_TROUBLES = (
    MQRC.CF_STRUC_IN_USE,
    MQRC.CF_STRUC_LIST_HDR_IN_USE,
    MQRC.CF_STRUC_FAILED,
    MQRC.CF_NOT_AVAILABLE,
    MQRC.STORAGE_MEDIUM_FULL,
)


class Phase(StrEnum):
    """How far a recovery is."""

    DETECTED = "DETECTED"
    CLAIMED = "CLAIMED"
    FENCED = "FENCED"
    RESOLVING = "RESOLVING"
    #: A structure cannot be used now; the next attempt begins where this one came to.
    DELAYED = "DELAYED"
    RESOLVED = "RESOLVED"


class Outcome(StrEnum):
    """How a call of `recover` ended."""

    RESOLVED = "RESOLVED"
    #: Its lease has not run out, or somebody else recovers it: see ``RecoveryReport.wait_ms``.
    NOT_YET = "NOT YET"
    NOTHING = "NOTHING"
    #: Somebody else took over, because our claim had run out.
    TAKEN_OVER = "TAKEN OVER"


@dataclass(slots=True)
class RecoveryReport:
    """What one call of `recover` has done so far; as passed to ``on_phase`` it still changes.

    Attributes:
        units_of_work, messages: resolved by this call; the group's totals are in ``recovery``.
        in_doubt: units of work that the target had prepared, and that stay so.
        wait_ms: with ``NOT_YET``, until it is worth calling again.
        recovery: the recovery as the group knows it, once there is one.
    """

    failed: str
    by: str
    outcome: Outcome | None = None
    units_of_work: int = 0
    messages: int = 0
    in_doubt: int = 0
    structures: int = 0
    wait_ms: int | None = None
    recovery: Recovery | None = None

    @property
    def is_resolved(self) -> bool:
        """Whether nothing of the target is left."""
        return self.outcome is Outcome.RESOLVED


OnPhase = Callable[[Phase, RecoveryReport], None]


def recover(
    group: Group,
    connection: Connection,
    target: Target | str,
    *,
    force: bool = False,
    state: str = "FAILED",
    on_phase: OnPhase | None = None,
) -> RecoveryReport:
    """Recover a dead incarnation, program or connection; call it for each target that `watch.due` names.

    Every structure is recovered, the dead manager's own with its private queues too: on z/OS those wait for
    its restart, here any peer reaches them.

    A manager that stops recovers its own incarnation in this way, over its last connection, which is spared.

    Args:
        connection: of a living manager's own process; it enters every structure.
        target: as in the leases; a claim (``!`` before it) is taken over when it has run out.
        force: it ended in our sight (or is our own incarnation); do not wait for its lease.
        state: what the member becomes: FAILED, or STOPPED.
        on_phase: called when a phase begins, and during RESOLVING for each chunk.

    Returns:
        Losing the claim to another recoverer is an outcome, not an error.

    Raises:
        MQIError: one of `STRUCTURE_TROUBLES`, a structure cannot be used now (2345, its server cannot be reached: what
            the target left in the others is resolved); 2009, the connection broke or its process was shut out. The
            claim ends with its lease, and this or another manager takes over.
        ValueError: *target* names none.
    """
    target = Target.parse(target) if isinstance(target, str) else target
    report = RecoveryReport(target.token, connection.qmgr_name)
    recoverer = _Recoverer(group, connection, target, report, on_phase or _ignore)
    try:
        recoverer.run(force=force, state=state)
    except ClaimLostError as error:
        report.outcome = Outcome.TAKEN_OVER
        log.info("recovery_taken_over", failed=target.token, why=str(error))
    return report


@dataclass(slots=True)
class _Recoverer:
    group: Group
    connection: Connection
    target: Target
    report: RecoveryReport
    on_phase: OnPhase
    claim: Claim = field(init=False)
    seen_units: set[str] = field(default_factory=set)
    unreachable: MQIError | None = None

    def run(self, *, force: bool, state: str) -> None:
        self.on_phase(Phase.DETECTED, self.report)
        if self.target.covers(self.connection.token):
            # The claim shuts our own incarnation out of structures that it has not entered.
            self._accesses()
        won = Claim.win(self.group, self.connection, self.target, force=force, state=state)
        if isinstance(won, Refusal):
            self.report.wait_ms = won.wait_ms
            self.report.outcome = Outcome.NOTHING if won.wait_ms is None else Outcome.NOT_YET
            return
        self.claim = won
        self.on_phase(Phase.CLAIMED, self.report)

        # Only now: who entered a structure before the claim is in one of these, and nobody enters later. What was done
        # in one is resolved without the others: the claim has shut the target out of the place of decisions.
        accesses = self._accesses()
        self.report.structures = len(accesses)
        for access in accesses:
            with self._delayed_by(access.keys.name):
                shut_out(self.connection, access, self.target, won.claimed_ms)
            self._progress(Phase.FENCED if access is accesses[-1] else Phase.CLAIMED)
        self._progress(Phase.FENCED, leases=leases_under(self.connection, self.group, self.target))
        self.on_phase(Phase.FENCED, self.report)

        self._progress(Phase.RESOLVING)
        self.on_phase(Phase.RESOLVING, self.report)
        for access in accesses:
            with self._delayed_by(access.keys.name):
                resolve_dead(self.connection, access, self.target, self._decision_of, self._count)
        if self.unreachable is not None:
            with self._delayed_by(self.unreachable.object_name):
                raise self.unreachable
        with self._delayed_by("of a prepared unit of work"):
            self.report.in_doubt = complete_decided(self.connection, self.group, self.target, self._count)

        # Decisions go last: while one is there, whoever comes after us completes its unit of work.
        won.finish(admin_remains(self.connection, self.group, self.target))
        self.report.recovery = from_record(won.record)
        self.report.outcome = Outcome.RESOLVED
        self.on_phase(Phase.RESOLVED, self.report)

    @contextmanager
    def _delayed_by(self, structure: str) -> Iterator[None]:
        """Let the group know when a structure keeps this recovery from going on: until then no tag comes free."""
        try:
            yield
        except MQIError as error:
            if error.reason in STRUCTURE_TROUBLES:
                self._progress(Phase.DELAYED)
                log.warning("recovery_delayed", failed=self.target.token, structure=structure, why=str(error))
            raise

    def _accesses(self) -> list[StructureAccess]:
        """The structures, entered; not those whose server is out of reach: a call there would break the connection."""
        accesses = []
        self.unreachable = None
        for name in self.group.structure_names():
            try:
                self.group.require_reachable(name)
                accesses.append(self.connection.access(name))
            except MQIError as error:
                if error.reason == MQRC.CF_NOT_AVAILABLE:
                    self.unreachable = error
                    continue
                # It was deleted since it was listed, and only an empty one can be.
                if error.reason != MQRC.CF_STRUC_ERROR:
                    raise
        return accesses

    def _decision_of(self, unit_id: str) -> bytes | None:
        decisions = self.group.keys.decisions
        decision: bytes | None = self.connection.command(decisions, "HGET", decisions, unit_id)
        return decision

    def _count(self, unit_id: str, messages: int | None) -> None:
        if messages is None:
            self._progress(Phase.RESOLVING)
            return
        units = int(unit_id not in self.seen_units)
        self.seen_units.add(unit_id)
        self.report.units_of_work += units
        self.report.messages += messages
        self._progress(Phase.RESOLVING, units=units, messages=messages)
        self.on_phase(Phase.RESOLVING, self.report)

    def _progress(self, phase: Phase, *, units: int = 0, messages: int = 0, leases: Sequence[str] = ()) -> None:
        self.claim.report(phase.value, units=units, messages=messages, leases=leases)
        self.report.recovery = from_record(self.claim.record)


def _ignore(_phase: Phase, _report: RecoveryReport) -> None:
    """Where nobody listens."""
