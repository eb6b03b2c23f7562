"""A lease: taken by a registration, renewed in time, and counted on the clock of this machine.

A queue manager has one, and each process of it. The holder counts from the moment *before* a call was sent, so
that it stops before its peers may think it dead.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sharedq.members import formats
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.members import register_process_call, renew_call

#: A lease is renewed this many times in its length.
RENEWALS_PER_LEASE = 3
#: The holder stops by itself this part of a lease before the lease ends.
SAFETY_PART = 0.1


class Registration(NamedTuple):
    """The answer to the registration of a process.

    Attributes:
        address: where the manager is told that the process begins and ends (``sharedq.members.presence``).
        settings: the record of the group's settings.
        sent_at_s: monotonic time before it was sent.
    """

    incarnation: int
    number: int
    address: int
    settings: bytes
    sent_at_s: float


def register(group: Group, qmgr: str, lease_ms: int, appl: str, *, verb: str, is_internal: bool) -> Registration:
    """Register this process with the running manager *qmgr*; its lease begins.

    Args:
        verb: the call that an error names.
        is_internal: it is a process of the manager itself.

    Raises:
        MQIError: 2059 the manager is not running, or the group has a format that this igq does not speak; 2161 it is
            quiescing; 2009 Redis cannot be reached.
    """
    info = json.dumps({"pid": os.getpid(), "appl": appl, **formats.versions()})
    sent_at_s = time.monotonic()
    call = register_process_call(group.keys, qmgr, lease_ms, info, is_internal=is_internal, speaks=formats.spoken())
    reply = group.call(*call)
    if reply[0]:
        why = formats.why_refused(group.name, int(reply[1])) if len(reply) > 1 else ""
        raise error_for(MQRC(reply[0]), verb, qmgr, why)
    return Registration(int(reply[1]), int(reply[2]), int(reply[3]), bytes(reply[4]), sent_at_s)


@dataclass(frozen=True, slots=True)
class Renewal:
    """The answer to a renewal.

    Attributes:
        is_held: the lease is ours; false: a peer has taken its holder for dead.
        sent_at_s: monotonic time before it was sent.
        now_ms: Redis' time.
        member: what the group knows of the manager; may be empty where that was not asked.
        leases: if looked at, those that have run out and may be this manager's to recover (hundreds at a time), and the
            next to run out.
        lost: processes of ours that were not renewed.
        failures: how often the group was told that a structure has failed, or can be used again; None where that was
            not asked.
    """

    is_held: bool
    sent_at_s: float
    now_ms: int
    member: Mapping[str, Any]
    leases: Sequence[tuple[str, int]]
    lost: Sequence[str]
    failures: int | None


class Lease:
    """The lease of *token*, a manager or one of its processes.

    Attributes:
        lease_ms: its length, as it was when it was taken.
        renewed_at_s: monotonic time before the latest renewal that was granted was sent.
        safe_until_s: monotonic time until which it is surely held.
    """

    def __init__(self, group: Group, qmgr: str, token: str, sent_at_s: float) -> None:
        self.group, self.qmgr, self.token = group, qmgr, token
        self.lease_ms = group.settings.lease_ms
        self.length_s = self.lease_ms / 1000
        self.hold(sent_at_s)
        #: Its own, so that no renewal waits for a call of another caller.
        self.links = group.new_links()

    def hold(self, sent_at_s: float) -> None:
        """The lease was granted by a call sent at *sent_at_s* (monotonic)."""
        self.renewed_at_s = sent_at_s
        self.safe_until_s = sent_at_s + self.length_s * (1 - SAFETY_PART)

    def renew(self, processes: Sequence[str] = (), *, look: int = 0, ask: bool = True) -> Renewal:
        """Renew the lease, and with it those of *processes*. It is for the caller to `hold` what was granted.

        Args:
            look: how many leases of the group that run out next are returned.
            ask: return what the group knows of the manager.

        Raises:
            MQIError: 2009, Redis cannot be reached; the lease runs on.
        """
        sent_at_s = time.monotonic()
        held, now_ms, member, flat, tokens, told = self.call(
            renew_call(self.group.keys, self.token, self.lease_ms, self.qmgr, look, processes, ask=ask)
        )
        return Renewal(
            bool(held),
            sent_at_s,
            int(now_ms),
            json.loads(member) if member else {},
            [(name.decode(), int(float(at))) for name, at in zip(flat[::2], flat[1::2], strict=True)],
            [token.decode() for token in tokens],
            int(told) if ask else None,
        )

    def call(self, call: ScriptCall) -> Reply:
        """Call a script for the holder, over links of its own. Raises MQIError: 2009, Redis cannot be reached."""
        try:
            return self.links.call(*call)
        except MQIError as error:
            self.group.reconsider(error, self.links)
            raise

    def close(self) -> None:
        """It is renewed no more."""
        self.links.close()
