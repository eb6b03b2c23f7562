"""Settings that look wrong."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, note, warning

#: A shorter lease ends managers of a machine that is only busy, milliseconds.
_SHORT_LEASE_MS = 1_000


def check_settings(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Settings that differ from those of the group, contradict each other, or are dangerous."""
    settings = seen.settings
    for difference in seen.differences:
        yield warning(f"settings: {difference}", "igq group set changes the group's; else change this process's")
    if settings.lease_ms < _SHORT_LEASE_MS:
        yield warning(
            f"lease_ms is {settings.lease_ms}: a manager that pauses for as long counts as dead",
            "igq group set lease_ms=5000, then start the managers anew, one after the other",
        )
    if settings.wait_replicas and settings.wait_replicas_timeout_ms >= settings.lease_ms:
        yield warning(
            f"wait_replicas_timeout_ms ({settings.wait_replicas_timeout_ms}) is no less than lease_ms",
            "igq group set wait_replicas_timeout_ms to a fifth of lease_ms",
        )
    if seen.backups and not settings.journal:
        yield error(
            "journal is off: no structure can be backed up", "igq group set journal=true, then restart the managers"
        )
    if settings.recovery_log and not settings.backup_schedule:
        yield warning(
            "recovery_log is on without backup_schedule: its logs grow without end",
            "set backup_schedule, for example '0 3 * * *'",
        )
    if settings.console_port and settings.console_port == settings.metrics_port:
        yield error(f"console_port and metrics_port are both {settings.console_port}", "give each a port of its own")


def check_exposure(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Data that others in the network can read."""
    settings = seen.settings
    if settings.console_port and settings.console_certificate is None and not _is_loopback(settings.console_listen):
        yield warning(
            f"the console listens at {settings.console_listen} without TLS: passwords cross the network in the clear",
            'set console_certificate and console_key, or console_listen = "127.0.0.1" behind a proxy',
        )
    if settings.metrics_port and not _is_loopback(settings.metrics_listen):
        if settings.metrics_token_file is None:
            yield warning(
                f"metrics are served at {settings.metrics_listen} to everybody: they tell the names of queues",
                "set metrics_token_file, and give the token to Prometheus",
            )
        elif settings.metrics_certificate is None:
            yield warning(
                f"metrics are served at {settings.metrics_listen} without TLS: their token can be read on its way",
                "set metrics_certificate and metrics_key",
            )
    for server in seen.servers:
        if server.is_elsewhere and not server.is_tls:
            yield note(
                f"Redis {server.name}: messages and passwords cross the network in the clear",
                "use rediss:// in IGQ_REDIS_URL, see docs/how-to/secure.md",
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
