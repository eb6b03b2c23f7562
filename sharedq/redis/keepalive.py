"""Socket options by which a TCP connection notices that nobody is at its other end any more.

A network that loses packets says nothing, and a machine that lost its power says nothing either. Who has sent something
learns it when no acknowledgement comes, who only waits must have the kernel ask. Neither costs a call anything.
"""

from __future__ import annotations

import socket

#: Leases for which a server may be silent. Within one a partition may heal, and nothing is lost.
SILENCE_LEASES = 2
#: How often the kernel asks before it gives up.
_PROBES = 4


def silence_of(lease_ms: int) -> float:
    """For how long the servers of a group with such leases may be silent, seconds."""
    return SILENCE_LEASES * lease_ms / 1000


def keepalive_options(silence_s: float) -> dict[int, int]:
    """Options of ``IPPROTO_TCP``, as far as this system has them, with which a connection ends about *silence_s* after
    the last sign of its other end. Whole seconds of it count, at least two.
    """
    whole_s = max(2, round(silence_s))
    idle_s = max(1, whole_s // 2)
    wanted = {
        "TCP_KEEPIDLE": idle_s,
        "TCP_KEEPINTVL": max(1, (whole_s - idle_s) // _PROBES),
        "TCP_KEEPCNT": _PROBES,
        # Of what was sent and not acknowledged; without it the kernel goes on for a quarter of an hour.
        "TCP_USER_TIMEOUT": 1000 * whole_s,
    }
    return {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}
