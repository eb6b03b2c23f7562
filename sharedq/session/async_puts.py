"""Asynchronous puts: those that are not yet sent, and the outcomes that MQSTAT returns. Values."""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.messages.record import PutArguments
from sharedq.mqi.errors import MQIError
from sharedq.session.handle import Handle


@dataclass(slots=True)
class PendingPuts:
    """Messages of asynchronous puts through one handle that wait to be sent.

    Attributes:
        version: of the queue's definition that they were completed by, whatever the handle has learned since.
        details: the journal's lines about them; none where there is no journal.
        begun: for each message 1 where it is a put's first or only one, 0 where it is a later segment.
    """

    handle: Handle
    version: str
    arguments: list[PutArguments]
    details: list[str]
    begun: list[int]


@dataclass(slots=True)
class PutStatus:
    """Asynchronous MQPUTs since the last MQSTAT: how many were stored, how many not, and why the first was not."""

    successes: int = 0
    failures: int = 0
    first_failure: MQIError | None = None
    resolved: tuple[bytes, bytes] = b"", b""

    def failed(self, puts: int, why: MQIError, resolved: tuple[bytes, bytes]) -> None:
        """Count puts that were not stored, on the queue and manager of the names *resolved*."""
        self.failures += puts
        if self.first_failure is None:
            self.first_failure, self.resolved = why, resolved
