"""A target of recovery: an incarnation of a manager, a program, or a lost connection; and leases that ran out. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: The prefix of a target's token in the group's leases after a recoverer has claimed it.
CLAIM_MARK = "!"
_QMGR_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")
_TOKEN = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,47})\.(\d+)(?:\.(\d+)(?:\.(\d+))?)?")
__all__ = ["Target", "due", "next_look_ms"]


def is_owner(text: str) -> bool:
    """Whether *text* is the token of a connection."""
    match = _TOKEN.fullmatch(text)
    return match is not None and match[4] is not None


def valid_qmgr_name(name: str) -> bool:
    """Whether *name* can be a queue manager's: 1 to 48 of A-Z a-z 0-9 _, the first a letter.

    IBM MQ for z/OS allows four characters and no dots, other platforms 48 characters and dots. Here a dot separates the
    parts of an owner token, so a name cannot contain one.
    """
    return _QMGR_NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Target:
    """One entry of the group's leases: the holder that must renew it, or a recoverer's claim on that holder.

    Attributes:
        process, connection: numbers. None above their level.
        is_claim: the lease is a recoverer's claim on this target.
    """

    qmgr: str
    incarnation: int
    process: int | None = None
    connection: int | None = None
    is_claim: bool = False

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse a member of the leases, or an owner token.

        Raises:
            ValueError: the text is not ``QM.incarnation[.process[.connection]]``, with or without ``!`` before it.
        """
        match = _TOKEN.fullmatch(text.removeprefix(CLAIM_MARK))
        if match is None:
            raise ValueError(f"{text!r} names no incarnation, process or connection")
        qmgr, incarnation, process, connection = match.groups()
        return cls(
            qmgr,
            int(incarnation),
            None if process is None else int(process),
            None if connection is None else int(connection),
            text.startswith(CLAIM_MARK),
        )

    @property
    def incarnation_token(self) -> str:
        """``QM.incarnation``."""
        return f"{self.qmgr}.{self.incarnation}"

    @property
    def process_token(self) -> str:
        """``QM.incarnation.process``, or ``QM.incarnation`` if there is no process."""
        return self.incarnation_token if self.process is None else f"{self.incarnation_token}.{self.process}"

    @property
    def token(self) -> str:
        """The target as owner tokens begin with it, without the mark of a claim."""
        numbers = [str(number) for number in (self.process, self.connection) if number is not None]
        return ".".join([self.incarnation_token, *numbers])

    @property
    def is_manager(self) -> bool:
        """Whether this is a whole incarnation of a queue manager."""
        return self.process is None

    def covers(self, token: str) -> bool:
        """Whether *token* is the target's own or below it."""
        return token == self.token or token.startswith(f"{self.token}.")


def common_beginning(texts: Sequence[str]) -> str:
    """Return what all *texts* begin with, character by character."""
    return os.path.commonprefix(texts)  # noqa: RUF071 - these are no paths


class Targets:
    """Several targets that are recovered together."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._by_token = {target.token: target for target in targets}
        #: Connections: what they own stands under their own tokens, so no search is needed.
        self.connections = [token for token, target in self._by_token.items() if target.connection is not None]
        #: Incarnations and processes.
        self.wide = [target for target in self._by_token.values() if target.connection is None]
        self.managers = [target for target in self.wide if target.is_manager]

    def covering(self, token: str) -> Target | None:
        """Return the narrowest target that *token* belongs to."""
        while token:
            if (target := self._by_token.get(token)) is not None:
                return target
            token = token.rpartition(".")[0]
        return None

    def pattern(self, targets: Iterable[Target] | None = None) -> str:
        """Return a Redis pattern that matches the tokens of *targets* (default: all) and all tokens below them."""
        return common_beginning([each.token for each in targets or self._by_token.values()]) + "*"


def due(leases: Iterable[tuple[str, int]], now_ms: int, own: str) -> list[Target]:
    """Return what the manager *own* should try to recover now, dead managers first.

    A manager recovers its own dead programs; when the manager is dead, its recovery covers them. If only the earliest
    leases are given, the list may name a program whose manager lives; the claim is then refused.

    Args:
        leases: members of the group's leases with their deadlines: all of them, or the earliest.
        now_ms: the Redis time when the leases were read.
        own: the incarnation of the manager that asks, ``QM.incarnation``.

    Raises:
        ValueError: a lease names no target.
    """
    deadlines = {Target.parse(member): deadline for member, deadline in leases}
    others = {target.token for target in deadlines if target.is_manager and target.token != own}
    found = [
        target
        for target, deadline in deadlines.items()
        if deadline <= now_ms and target.token != own and (target.is_manager or target.incarnation_token not in others)
    ]
    return sorted(found, key=lambda target: (not target.is_manager, deadlines[target], target.token))


def next_look_ms(leases: Iterable[tuple[str, int]], now_ms: int, longest_ms: int) -> int:
    """Return the milliseconds until the next lease runs out, at most *longest_ms*.

    Leases that have already run out do not count: another manager recovers them, or they are not ours.
    """
    return min([longest_ms, *(deadline - now_ms for _, deadline in leases if deadline > now_ms)])
