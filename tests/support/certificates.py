"""Certificates that tests make for servers of theirs."""

from __future__ import annotations

import subprocess
from pathlib import Path


def new_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for localhost and 127.0.0.1. Returns it, and its key."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "server.key", "-out", "server.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder / "server.pem", folder / "server.key"
