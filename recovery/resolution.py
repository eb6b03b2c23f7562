"""Peer recovery of dead targets, from the claim to the end: many in one go, and one that is stuck delays no other.

Presumed abort: a unit of work with a decision record, or whose commit has begun, is completed. Every other one is
backed out, except prepared ones, which stay in doubt. A recoverer may die after any step; the next one that claims the
target does what is left.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from recovery.claim import Claim, ClaimLostError, Recovery, RecoveryClaims, from_record, is_unfencing
from recovery.leftovers import admin_remains, leases_under, oldest_recoveries
from recovery.structure import dead_under, end_subscriptions, fence, resolve_dead, unfence
from recovery.target import Target, Targets
from sharedq.calls.handles.subscriptions import delete_orphans
from sharedq.calls.unit.in_doubt import PreparedUnit, complete, prepared_units
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.members.lease import RENEWALS_PER_LEASE
from sharedq.members.news import tell
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.redis.answers import little_patience
from sharedq.scripts.objects import remove_structure_call
from sharedq.scripts.reads import fields_named, has_owners
from sharedq.session.connection import Connection
from sharedq.session.handle import StructureAccess

log = LibraryLogger(__name__)

#: Reasons about one structure, which the group can be told about. A recovery that ends with one is delayed.
STRUCTURE_TROUBLES = (
    MQRC.CF_STRUC_IN_USE,
    MQRC.CF_STRUC_LIST_HDR_IN_USE,
    MQRC.CF_STRUC_FAILED,
    MQRC.CF_NOT_AVAILABLE,
    MQRC.STORAGE_MEDIUM_FULL,
)


#: Dots in the token of a program: ``QM.incarnation.process``.
_PROGRAM = 2


class Phase(StrEnum):
    """How far a recovery has come."""

    DETECTED = "DETECTED"
    CLAIMED = "CLAIMED"
    FENCED = "FENCED"
    RESOLVING = "RESOLVING"
    #: A structure cannot be used now; the next attempt continues from here.
    DELAYED = "DELAYED"
    RESOLVED = "RESOLVED"


class Outcome(StrEnum):
    """How a call of `recover` ended."""

    RESOLVED = "RESOLVED"
    #: The lease has not run out, or another manager recovers the target: see ``RecoveryReport.wait_ms``.
    NOT_YET = "NOT YET"
    NOTHING = "NOTHING"
    #: Another recoverer took over, because our claim ran out.
    TAKEN_OVER = "TAKEN OVER"


@dataclass(slots=True)
class RecoveryReport:
    """The work that one call of `recover` has done so far. The report passed to ``on_phase`` still changes.

    Attributes:
        units_of_work, messages: resolved by this call. The group's totals are in ``recovery``.
        in_doubt: units of work that the target had prepared and that stay in doubt.
        wait_ms: with ``NOT_YET``, the time after which to call again.
        error: why the target could not be resolved now: one of `STRUCTURE_TROUBLES`, or 2195.
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
    error: MQIError | None = None
    recovery: Recovery | None = None

    @property
    def is_resolved(self) -> bool:
        """Whether the target is completely resolved."""
        return self.outcome is Outcome.RESOLVED


OnPhase = Callable[[Phase, Sequence[RecoveryReport]], None]


def recover(
    group: Group,
    connection: Connection,
    target: Target | str,
    *,
    force: bool = False,
    state: str = "FAILED",
    on_phase: Callable[[Phase, RecoveryReport], None] | None = None,
) -> RecoveryReport:
    """Recover one target: see `recover_all`.

    Raises:
        MQIError: as `recover_all`, and an error that `recover_all` leaves in the report.
        ValueError: *target* names no target.
    """
    target = Target.parse(target) if isinstance(target, str) else target

    def tell(phase: Phase, reports: Sequence[RecoveryReport]) -> None:
        if on_phase is not None:
            on_phase(phase, reports[0])

    (report,) = recover_all(group, connection, [target], force=force, state=state, on_phase=tell)
    if report.error is not None:
        raise report.error
    return report


def recover_all(
    group: Group,
    connection: Connection,
    targets: Sequence[Target],
    *,
    force: bool = False,
    state: str = "FAILED",
    on_phase: OnPhase | None = None,
) -> list[RecoveryReport]:
    """Recover dead incarnations, programs or connections. Call it for the targets that `watch.due` names.

    One search covers all targets. A target that cannot be resolved delays no other, and a structure that cannot be used
    now delays no work in another one.

    Every structure is recovered, and so are the private queues of a dead manager. On z/OS the private queues wait for
    the manager's restart; here any peer can reach them.

    A manager that stops uses this call to recover its own incarnation over its last connection, which is spared.

    Args:
        connection: of a living manager's own process. It enters every structure.
        targets: as in the leases, each once. A claim (``!`` before the token) is taken over if it has run out.
        force: we saw them end (or they are our own incarnation), so do not wait for their leases.
        state: the new state of a member: FAILED or STOPPED.
        on_phase: called with the reports of all targets that begin a phase, and for each chunk during RESOLVING.

    Returns:
        A report for each target. A claim lost to another recoverer is an outcome, not an error.

    Raises:
        MQIError: one of `STRUCTURE_TROUBLES` if none of them can use a structure now, after the work in all others;
            2009, the connection broke or its process was fenced. The claims end with their leases, and this or another
            manager takes over.
    """
    reports = {target.token: RecoveryReport(target.token, connection.qmgr_name) for target in targets}
    recoverer = _Recoverer(group, connection, targets, reports, on_phase or _ignore)
    try:
        # The claims must not run out while a call waits for a structure whose slot of the Cluster is being moved.
        with little_patience(group.settings.lease_ms / 1000 / RENEWALS_PER_LEASE):
            recoverer.run(force=force, state=state)
    except ClaimLostError as error:
        log.info("recovery_taken_over", failed=targets[0].token, targets=len(targets), why=str(error))
    for report in reports.values():
        if report.outcome is None and report.error is None:
            report.outcome = Outcome.TAKEN_OVER
    return [*reports.values()]


@dataclass(slots=True)
class _Recoverer:
    group: Group
    connection: Connection
    targets: Sequence[Target]
    reports: dict[str, RecoveryReport]
    on_phase: OnPhase
    claims: RecoveryClaims = field(init=False)
    seen_units: set[str] = field(default_factory=set)
    #: Structures that cannot be used now, and why. Their work is left to the next attempt.
    away: dict[str, MQIError] = field(default_factory=dict)
    #: Targets that something prevents from being resolved in the present structure.
    stuck_here: set[str] = field(default_factory=set)
    phase: Phase = Phase.CLAIMED
    #: Structures that were deleted while connections were registered in them.
    deleted: list[StructureAccess] = field(default_factory=list)
    #: When all claims were last reported, monotonic.
    reported_s: float = 0.0

    def run(self, *, force: bool, state: str) -> None:
        self.on_phase(Phase.DETECTED, [*self.reports.values()])
        self.claims = RecoveryClaims(self.group, self.connection)
        if any(target.covers(self.connection.token) for target in self.targets):
            # The claim shuts our own incarnation out of every structure that it has not entered, so enter them all
            # first.
            self._accesses()
        self.reported_s = time.monotonic()
        for token, refusal in self.claims.win(self.targets, force=force, state=state).items():
            self.reports[token].wait_ms = refusal.wait_ms
            self.reports[token].outcome = Outcome.NOTHING if refusal.wait_ms is None else Outcome.NOT_YET
        if not self.claims.held:
            return
        self._enter(Phase.CLAIMED)
        accesses = self._fence()
        self._progress(Phase.RESOLVING)
        self._enter(Phase.RESOLVING)
        # Before the queues: a later publication goes to no queue that is about to be deleted.
        end_subscriptions(self.connection, self._held_targets())
        for access in accesses:
            self._resolve(access)
        self._drop_stuck()
        self._complete_decided()
        self._drop_stuck()
        self._require_all()
        delete_orphans(self.group)
        self._finish(accesses)

    def _fence(self) -> list[StructureAccess]:
        # Only after the claim: owners that entered a structure before it are in one of these, and no owner enters
        # later. One structure is resolved without the others, because the claim has shut the targets out of the place
        # of decisions.
        accesses = self._accesses()
        for report in self.reports.values():
            report.structures = len(accesses)
        for access in accesses:
            claims = self._held()
            with self._step(access.keys.name):
                fence(self.connection, access, claims)
            try:
                self._progress(Phase.FENCED if access is accesses[-1] else Phase.CLAIMED)
            finally:
                with self._step(access.keys.name):
                    self._take_back_fences(access, [claim.target for claim in claims])
        leases = leases_under(self.connection, self.group, self._held_targets())
        self._progress(Phase.FENCED, leases=leases)
        # Programs that still run end their calls now, and not only when they try to renew their leases.
        tell(self.group, [lease for lease in leases if lease.count(".") == _PROGRAM])
        self._enter(Phase.FENCED)
        return [access for access in accesses if access.keys.name not in self.away]

    def _take_back_fences(self, access: StructureAccess, fenced: Sequence[Target]) -> None:
        """Take back the fences of targets that were lost before they were fenced, if nobody else will.

        Before a recoverer removes fences, it notes that in the record of the recovery. If the note is not there yet,
        the recoverer that has overtaken this one will remove these fences, too.
        """
        lost = [target for target in fenced if target.token not in self.claims.held]
        if lost and not self.connection.is_ended:
            records = fields_named(self.connection, self.group.keys.recoveries, [target.token for target in lost])
            over = [each for each, text in zip(lost, records, strict=True) if is_unfencing(text)]
            if over:
                unfence(self.connection, access, Targets(over))

    def _resolve(self, access: StructureAccess) -> None:
        self.stuck_here.clear()
        with self._step(access.keys.name):
            dead = dead_under(self.connection, access, self._held_targets())
            resolve_dead(self.connection, access, dead, self)

    def _complete_decided(self) -> None:
        structure = "of a prepared unit of work"
        in_doubt, decided = prepared_under(self.group, self._held_targets())
        for claim in self._held():
            token = claim.target.token
            self.reports[token].in_doubt = in_doubt[token]
            try:
                for unit in decided.get(token, ()):
                    # A structure that is away has not set its part apart, and would lose it.
                    if self.away.keys().isdisjoint(unit.structures):
                        complete(self.connection, unit, lambda *done, token=token: self.count([(token, *done)]))
            except MQIError as error:
                self.give_up(token, structure, error)

    def _finish(self, accesses: Sequence[StructureAccess]) -> None:
        if not (held := self._held()):
            return
        # Decisions go last: while one is there, the next recoverer completes its unit of work.
        found = admin_remains(self.connection, self.group, self._held_targets())
        # From here on the group knows none of these targets, so the fences in the structures can go.
        first = ("tag", "own")
        self.claims.forget({token: [each for each in found[token] if each[0] in first] for token in found})
        for access in accesses:
            with self._step(access.keys.name):
                unfence(self.connection, access, self._held_targets())
        for access in self.deleted:
            with self._step(access.keys.name):
                self._leave_deleted(access)
        self._require_all()
        if not (held := self._held()):
            return
        remains = {
            claim.target.token: [each for each in found.get(claim.target.token, []) if each[0] not in first]
            for claim in held
        }
        remains[held[-1].target.token] += [
            ("recovery", each) for each in oldest_recoveries(self.connection, self.group)
        ]
        for token in self.claims.finish(remains):
            self.reports[token].recovery = from_record(self.claims.held[token].record)
            self.reports[token].outcome = Outcome.RESOLVED
        self._enter(Phase.RESOLVED)

    def _leave_deleted(self, access: StructureAccess) -> None:
        """Leave a deleted structure. The last one to leave it forgets it."""
        self.connection.leave_deleted(access)
        if not has_owners(self.connection, access.keys):
            self.connection.call(*remove_structure_call(self.group.keys, access.keys.name, "forget"))

    def _held(self) -> list[Claim]:
        return [*self.claims.held.values()]

    def _held_targets(self) -> Targets:
        return Targets(claim.target for claim in self._held())

    def is_held(self, target: str) -> bool:
        """Whether nobody took the target over and nothing prevents its resolution in the present structure."""
        return target in self.claims.held and target not in self.stuck_here

    def give_up(self, target: str, structure: str, error: MQIError) -> None:
        """Delay one target. It goes on in other structures, and the others go on, unless our connection has ended."""
        if self.connection.is_ended or error.reason == MQRC.CONNECTION_BROKEN:
            raise error
        self._tell_delayed(structure, [self.claims.held[target]], error)
        self.reports[target].error = error
        self.stuck_here.add(target)

    def _drop_stuck(self) -> None:
        """Leave the targets that were given up to a later recovery."""
        for report in self.reports.values():
            if report.error is not None:
                self.claims.drop(report.failed)

    @contextmanager
    def _step(self, structure: str) -> Iterator[None]:
        """Do a step in one structure. If it cannot be used now, the other structures go on."""
        try:
            yield
        except MQIError as error:
            if self.connection.is_ended or error.reason not in STRUCTURE_TROUBLES:
                raise
            self.away.setdefault(structure, error)
            self.keep()

    def _require_all(self) -> None:
        """Raise if a structure was away. Until it is back, the connection tags stay in use."""
        for structure, error in self.away.items():
            self._tell_delayed(structure, self._held(), error)
        for error in self.away.values():
            raise error

    def _tell_delayed(self, structure: str, claims: Sequence[Claim], error: MQIError) -> None:
        """Tell the group that a structure delays recoveries."""
        if claims and error.reason in STRUCTURE_TROUBLES:
            self._progress(Phase.DELAYED, {claim.target.token: (0, 0) for claim in claims})
            failed = claims[0].target.token
            log.warning("recovery_delayed", failed=failed, targets=len(claims), structure=structure, why=str(error))

    def _accesses(self) -> list[StructureAccess]:
        """Enter the structures, except those whose server is unreachable: a call there would break the connection."""
        accesses = []
        names = self.group.structure_names()
        self.deleted, self.away = [], {}
        # After the defined ones: a structure that is deleted now is among these.
        for name in [*names, *self.group.deleted_structures()]:
            try:
                with self._step(name):
                    self.group.require_reachable(name)
                    if name in names:
                        accesses.append(self.connection.access(name))
                    else:
                        accesses.append(self.connection.access_deleted(name))
                        self.deleted.append(accesses[-1])
            except MQIError as error:
                # It was deleted after it was listed, and only an empty structure can be deleted.
                if error.reason != MQRC.CF_STRUC_ERROR:
                    raise
        return accesses

    def decisions_of(self, unit_ids: Sequence[str]) -> Sequence[bytes | None]:
        """Return the group's decisions about units of work, None where there is none."""
        return fields_named(self.connection, self.group.keys.decisions, unit_ids)

    def count(self, done: Sequence[tuple[str, str, int | None]]) -> None:
        """Count targets, units of work and the messages of each that were resolved; None: it was set apart."""
        totals: dict[str, tuple[int, int]] = {}
        for token, unit_id, messages in done:
            units = int(messages is not None and unit_id not in self.seen_units)
            if units:
                self.seen_units.add(unit_id)
            before = totals.get(token, (0, 0))
            totals[token] = (before[0] + units, before[1] + (messages or 0))
        for token, (units, messages) in totals.items():
            self.reports[token].units_of_work += units
            self.reports[token].messages += messages
        self._progress(Phase.RESOLVING, totals)
        self.keep()
        self.on_phase(Phase.RESOLVING, [self.reports[token] for token in totals])

    def keep(self) -> None:
        """Report in time, so that no claim runs out while the work of other targets is resolved."""
        is_due = time.monotonic() - self.reported_s > self.group.settings.lease_ms / 1000 / RENEWALS_PER_LEASE
        if is_due and self.claims.held:
            self._progress(self.phase)

    def _progress(
        self, phase: Phase, done: dict[str, tuple[int, int]] | None = None, *, leases: Sequence[str] = ()
    ) -> None:
        if done is None:
            self.reported_s = time.monotonic()
        self.claims.report(phase.value, done, leases=leases)
        for claim in self._held():
            if done is None or claim.target.token in done:
                self.reports[claim.target.token].recovery = from_record(claim.record)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        if reports := [self.reports[claim.target.token] for claim in self._held()]:
            self.on_phase(phase, reports)


def _ignore(_phase: Phase, _reports: Sequence[RecoveryReport]) -> None:
    """The default listener: does nothing."""


def prepared_under(group: Group, targets: Targets) -> tuple[Counter[str], dict[str, list[PreparedUnit]]]:
    """Return what *targets* prepared that stays in doubt, and what they decided but did not complete.

    Call this after the structures are resolved: by then, all of them have set apart what the targets had prepared.

    Returns:
        Both by target token: how many units of work stay in doubt, and which units of work to complete.

    Raises:
        MQIError: 2009.
    """
    in_doubt, decided = Counter[str](), defaultdict[str, list[PreparedUnit]](list)
    for unit in prepared_units(group):
        if (target := targets.covering(unit.owner if unit.outcome is None else unit.decided_by)) is None:
            continue
        if unit.outcome is None:
            in_doubt[target.token] += 1
        else:
            decided[target.token].append(unit)
    return in_doubt, decided
