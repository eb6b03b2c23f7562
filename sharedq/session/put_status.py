"""The record of asynchronous puts that MQSTAT returns."""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.mqi.errors import MQIError


@dataclass(slots=True)
class PutStatus:
    """Asynchronous MQPUTs since the last MQSTAT: how many were stored, how many not, and why the first was not."""

    successes: int = 0
    failures: int = 0
    first_failure: MQIError | None = None
    resolved: tuple[bytes, bytes] = b"", b""

    def failed(self, puts: int, why: MQIError, resolved: tuple[bytes, bytes]) -> None:
        """So many were not stored, on the queue of this name at this manager."""
        self.failures += puts
        if self.first_failure is None:
            self.first_failure, self.resolved = why, resolved
