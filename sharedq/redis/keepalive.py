"""Socket options by which a TCP connection notices that the other end is gone.

A network that loses packets gives no sign, and neither does a machine without power. A sender notices the missing
acknowledgement; for a connection that only waits, the kernel must send probes. Neither costs a call anything.
"""

from __future__ import annotations

import socket

#: Leases for which a server may be silent. A network partition may heal within one lease, and nothing is lost.
SILENCE_LEASES = 2
#: Probes before the kernel gives up.
_PROBES = 4


def silence_of(lease_ms: int) -> float:
    """Return how long the servers of a group with this lease may be silent, in seconds."""
    return SILENCE_LEASES * lease_ms / 1000


def keepalive_options(silence_s: float) -> dict[int, int]:
    """Return options of ``IPPROTO_TCP`` that end a connection about *silence_s* after the last sign of its other end.

    Only the options that this system has are returned. Whole seconds count, at least two.
    """
    whole_s = max(2, round(silence_s))
    idle_s = max(1, whole_s // 2)
    wanted = {
        "TCP_KEEPIDLE": idle_s,
        "TCP_KEEPINTVL": max(1, (whole_s - idle_s) // _PROBES),
        "TCP_KEEPCNT": _PROBES,
        # For data that was sent and not acknowledged. Without it the kernel resends for a quarter of an hour.
        "TCP_USER_TIMEOUT": 1000 * whole_s,
    }
    return {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}
