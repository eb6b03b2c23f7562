"""TLS of a server: its certificate and key, as its settings name them."""

from __future__ import annotations

import ssl
from typing import Final, Literal

from igq.errors import CommandError
from sharedq.settings.values import Settings

#: The beginning of the names of a server's settings -> the server, for people.
_SERVERS: Final = {"console": "the console", "metrics": "the metrics"}


def tls_of(settings: Settings, server: Literal["console", "metrics"]) -> ssl.SSLContext | None:
    """Return the TLS of a server, or None for none: its settings name no certificate.

    Raises:
        CommandError: certificate or key cannot be used.
    """
    certificate, key = getattr(settings, f"{server}_certificate"), getattr(settings, f"{server}_key")
    if certificate is None:
        if key is not None:
            raise CommandError(f"{server}_key={key} needs {server}_certificate")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a password would ask for it on the terminal; there may be none.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or getattr(error, "reason", None) or str(error)
        what = f"certificate {certificate} and key {key}"
        raise CommandError(f"{_SERVERS[server]} cannot use {what}: {why}") from None
    return context
