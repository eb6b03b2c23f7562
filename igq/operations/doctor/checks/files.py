"""Permissions of files that hold messages, passwords or keys."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, warning


def check_permissions(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Files and folders that others can read or write."""
    settings = seen.settings
    private = {
        "data_dir": settings.data_dir,
        "backup_dir": settings.backups,
        "console_key": settings.console_key,
        "console_users": settings.users_file,
        "redis_url_file": settings.redis_url_file,
        "metrics_key": settings.metrics_key,
        "metrics_token_file": settings.metrics_token_file,
        "console_oidc_client_secret_file": settings.console_oidc_client_secret_file,
    }
    for name, path in private.items():
        mode = _mode(path)
        if mode is not None and mode & 0o077 and _is_secret(name, mode):
            rights = "700" if stat.S_ISDIR(mode) else "600"
            yield warning(f"{name}: others than its user can read or write {path}", f"chmod {rights} {path}")
    config = os.environ.get("IGQ_CONFIG", "")
    mode = _mode(Path(config)) if config else None
    if mode is not None and mode & 0o022:
        yield warning(f"IGQ_CONFIG: others than its user can write {config}", f"chmod go-w {config}")
    if mode is not None and mode & 0o044 and "@" in (settings.redis_url or "") and "IGQ_REDIS_URL" not in os.environ:
        yield warning(f"IGQ_CONFIG: others can read the password of Redis in {config}", f"chmod 600 {config}")
    if settings.is_embedded and settings.data_dir.is_dir() and not os.access(settings.data_dir, os.W_OK | os.X_OK):
        yield error(f"data_dir: {settings.data_dir} cannot be written by this user", "run igq as the user who owns it")


def _mode(path: Path | None) -> int | None:
    try:
        return None if path is None else path.stat().st_mode
    except OSError:
        return None


def _is_secret(name: str, mode: int) -> bool:
    """Whether the rights of others matter: a mounted secret may be readable by its group, as in Kubernetes."""
    return not name.endswith("_file") or bool(mode & 0o007)
