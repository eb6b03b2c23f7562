"""Certificates that end soon: of the console, of the metrics, and of Redis."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, warning

#: Days before its end at which a certificate should be replaced.
_DAYS = 30
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
#: The validity in a certificate: a sequence of two times, of 13 (UTCTime) or 15 bytes (GeneralizedTime) each.
_VALIDITY = re.compile(rb"\x30[\x1e\x20\x22](?:\x17\x0d\d{12}Z|\x18\x0f\d{14}Z)(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)")


def check_certificates(seen: GroupSeen) -> Iterator[Diagnosis]:
    """The certificates of the console and the metrics with their chains, and those that servers showed."""
    own = {"the console": "console_certificate", "the metrics": "metrics_certificate"}
    for name, setting in own.items():
        path = getattr(seen.settings, setting)
        if path is None:
            continue
        try:
            ends = min(ends_in(path))
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or str(problem)
            yield error(f"{setting}: {path} cannot be read: {why}", "give a PEM file with the chain")
        else:
            yield from _ending(f"the certificate of {name}, {path},", ends, seen.now)
    for server in seen.servers:
        if server.certificate_ends is not None:
            yield from _ending(f"the certificate of Redis {server.name}", server.certificate_ends, seen.now)


def _ending(what: str, ends: datetime, now: datetime) -> Iterator[Diagnosis]:
    days = (ends - now).days
    todo = "replace it, and restart what serves with it"
    if ends <= now:
        yield error(f"{what} ended on {ends:%Y-%m-%d}", todo)
    elif days < _DAYS:
        yield warning(f"{what} ends on {ends:%Y-%m-%d}, in {days} days", todo)


def ends_in(path: Path) -> list[datetime]:
    """Return when each certificate in a PEM file ends.

    Raises:
        OSError: it cannot be read.
        ValueError: there is no certificate in it.
    """
    found = []
    for block in _PEM.findall(path.read_text(encoding="ascii", errors="replace")):
        validity = _VALIDITY.search(ssl.PEM_cert_to_DER_cert(block))
        if validity is not None:
            short, long = validity.groups()
            text = long.decode() if long else _with_century(short.decode())
            found.append(datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC))
    if not found:
        raise ValueError("there is no certificate in it")
    return found


def _with_century(text: str) -> str:
    """A UTCTime has two digits of the year: 50 to 99 are of the last century (RFC 5280)."""
    return f"{'19' if text >= '50' else '20'}{text}"
