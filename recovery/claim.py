"""The claim on a target: one recoverer wins it, keeps it by reporting, and gives it up when the work is done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from recovery.target import Target
from sharedq.members.group import Group
from sharedq.members.recovery_records import MOMENTS, recovery_records
from sharedq.redis.link import ScriptCall
from sharedq.scripts.recovery import claim_call, finish_recovery_call, progress_call
from sharedq.session.connection import Connection

#: Leases, or fields of the administration structure, that one script call removes.
CHUNK_FIELDS = 250
#: Targets that one script call claims or reports.
CHUNK_TARGETS = 100
_WON, _NOT_YET, _NOTHING = 0, 1, 2
T = TypeVar("T")
#: An entry to forget: its kind (tag, own, process, decision, fence, recovery) and its field.
Remain = tuple[str, str]


class ClaimLostError(Exception):
    """Another recoverer took over: the rest of the work is the other one's."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The claim was not won.

    Attributes:
        wait_ms: time after which to ask again. None if there is nothing to recover.
    """

    wait_ms: int | None


@dataclass(slots=True)
class Claim:
    """A claim that is held.

    Attributes:
        claimed_ms: when the claim was won.
        record: the recovery as the group knew it (``recovery.claim``) at the last call.
    """

    target: Target
    claimed_ms: int
    record: dict[str, Any] = field(default_factory=dict)


class RecoveryClaims:
    """Claims that *connection* holds. Each report extends them by one lease length.

    The claims belong to the connection. Its manager may claim again over another connection, which ends these claims.

    Attributes:
        held: claims by target token, without those that another recoverer took over.
    """

    def __init__(self, group: Group, connection: Connection) -> None:
        self.held: dict[str, Claim] = {}
        self._group, self._connection = group, connection

    def win(self, targets: Sequence[Target], *, force: bool, state: str) -> dict[str, Refusal]:
        """Claim *targets*. In the same moment this shuts them out of the administration structure.

        Args:
            force: we saw them end, so do not wait for their leases.
            state: the state that the member gets if a target is its present incarnation.

        Returns:
            The refusals, by target token.

        Raises:
            MQIError: 2009, the connection is broken, or our own process was fenced.
        """
        connection, refused = self._connection, dict[str, Refusal]()
        claimant = (connection.qmgr_name, self._group.settings.lease_ms, state, connection.token)
        for chunk in chunks(targets, CHUNK_TARGETS):
            claimed = [(each.token, each.qmgr, each.incarnation) for each in chunk]
            _, now_ms, answers = connection.checked_call(*claim_call(self._group.keys, *claimant, claimed, force=force))
            for target, (answer, *wait_ms) in zip(chunk, answers, strict=True):
                if answer == _WON:
                    self.held[target.token] = Claim(target, int(now_ms))
                elif answer in (_NOT_YET, _NOTHING):
                    refused[target.token] = Refusal(int(wait_ms[0]) if wait_ms else None)
                else:
                    raise connection.error(answer)
        return refused

    def report(
        self,
        state: str,
        done: Mapping[str, tuple[int, int]] | None = None,
        *,
        leases: Sequence[str] = (),
    ) -> None:
        """Report progress and keep the claims.

        Args:
            done: units of work and messages resolved since the last report, for these targets only. Default: all.
            leases: leases of programs under the targets. They end, so that programs that still run stop at once.

        Raises:
            ClaimLostError: none of these claims is held any more.
            MQIError: 2009.
        """
        done = dict.fromkeys(self.held, (0, 0)) if done is None else done
        left = dict(done)
        for tokens in chunks(list(done), CHUNK_TARGETS):
            for ended in [*chunks(leases, CHUNK_FIELDS)] or [()]:
                told = [(token, *left[token]) for token in tokens]
                left |= dict.fromkeys(tokens, (0, 0))
                self._call(tokens, progress_call(self._group.keys, *self._claimant, state, told, ended))
        if not self.held:
            raise ClaimLostError(f"another recoverer took over {', '.join(done)}")

    def forget(self, remains: Mapping[str, Sequence[Remain]]) -> None:
        """Forget part of what the administration structure holds, as `finish` does, but keep the claims.

        Raises:
            MQIError: 2009.
        """
        self._finish(remains, is_last=False)

    def finish(self, remains: Mapping[str, Sequence[Remain]]) -> list[str]:
        """End the recovery of these targets: free their tags and forget what the administration structure holds.

        Returns:
            The targets whose recovery ended with this call. Other recoverers took over the rest.

        Raises:
            MQIError: 2009.
        """
        self._finish(remains, is_last=True)
        return [token for token in remains if token in self.held]

    def _finish(self, remains: Mapping[str, Sequence[Remain]], *, is_last: bool) -> None:
        for parts in _calls_to_finish(remains):
            ending = [(token, is_last and is_end, entries) for token, is_end, entries in parts]
            call = finish_recovery_call(self._group.keys, *self._claimant, ending)
            self._call([token for token, *_ in parts], call)

    def drop(self, token: str) -> None:
        """Leave a target to whichever recoverer claims it after this claim has run out."""
        self.held.pop(token, None)

    @property
    def _claimant(self) -> tuple[str, int]:
        return self._connection.token, self._group.settings.lease_ms

    def _call(self, tokens: Sequence[str], call: ScriptCall) -> None:
        _, answers = self._connection.call(*call)
        for token, answer in zip(tokens, answers, strict=True):
            if answer is None:
                self.drop(token)
            elif (claim := self.held.get(token)) is not None:
                claim.record = json.loads(answer)


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield *items* in slices of at most *size*."""
    for position in range(0, len(items), size):
        yield items[position : position + size]


def _calls_to_finish(remains: Mapping[str, Sequence[Remain]]) -> Iterator[list[tuple[str, bool, Sequence[Remain]]]]:
    """Split the entries to forget into calls. Each call lists (token, is this the last part of the token, entries)."""
    parts: list[tuple[str, bool, Sequence[Remain]]] = []
    size = 0
    for token, entries in remains.items():
        pieces = [*chunks(entries, CHUNK_FIELDS)] or [()]
        for chunk in pieces:
            if parts and size + len(chunk) > CHUNK_FIELDS:
                yield parts
                parts, size = [], 0
            parts.append((token, chunk is pieces[-1], chunk))
            size += len(chunk) + 1
    if parts:
        yield parts


@dataclass(frozen=True, slots=True)
class Recovery:
    """The recovery of one incarnation, program or connection.

    Attributes:
        failed: its token, ``QM.incarnation[.process[.connection]]``.
        by: the manager that recovers or recovered it.
        state: CLAIMED, FENCED, RESOLVING, DELAYED or RESOLVED.
        units_of_work, messages: resolved so far. If a recoverer died between a step and its report,
            that step is not counted; a unit of work that two recoverers shared counts twice.
        seconds: from the detection to the end, or to the last report.
        claims: how many recoverers took part.
        moments: names (``MOMENTS``) with their times in ms of the Redis clock, in order.
    """

    failed: str
    by: str
    state: str
    units_of_work: int
    messages: int
    seconds: float
    claims: int
    moments: tuple[tuple[str, int], ...] = field(default=())

    def as_status(self) -> dict[str, Any]:
        """Return the recovery as `igq status --json` shows it."""
        return {
            "detected_at": datetime.fromtimestamp(dict(self.moments)["detected"] / 1000, UTC),
            "failed": self.failed,
            "by": self.by,
            "state": self.state,
            "units_of_work": self.units_of_work,
            "messages": self.messages,
            "seconds": self.seconds,
        }


def recoveries(group: Group) -> list[Recovery]:
    """Return the recoveries that are under way or not yet forgotten (the latest 100), the oldest first.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    return in_order(map(from_record, recovery_records(group)))


def in_order(found: Iterable[Recovery]) -> list[Recovery]:
    """Return recoveries, the oldest first."""
    return sorted(found, key=lambda recovery: (dict(recovery.moments)["detected"], recovery.failed))


def is_unfencing(text: bytes | None) -> bool:
    """Whether a recovery with this record removes its fences, or has done so. None: its record is gone, so it has."""
    return text is None or json.loads(text).get("is_unfencing", False)


def from_record(record: dict[str, Any]) -> Recovery:
    """Make a recovery from its record in the administration structure."""
    return Recovery(
        failed=record["failed"],
        by=record["by"],
        state=record["state"],
        units_of_work=int(record["units_of_work"]),
        messages=int(record["messages"]),
        seconds=float(record.get("seconds", 0.0)),
        claims=int(record["claims"]),
        moments=tuple((name, int(record[key])) for name, key in MOMENTS.items() if key in record),
    )
