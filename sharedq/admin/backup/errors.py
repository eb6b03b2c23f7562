"""Why a structure cannot be backed up or recovered. Identifiers are IBM's where IBM has one for the case."""

from __future__ import annotations


class BackupError(Exception):
    """One line, beginning with its message id."""


def in_use(structure: str, why: str) -> BackupError:
    """Somebody else is at it, or it cannot be got hold of."""
    return BackupError(f"CSQE101I: Unable to backup or recover structure {structure}, structure in use: {why}.")


def not_recoverable(structure: str, why: str) -> BackupError:
    """It is defined, or set up, so that no backup of it can be."""
    return BackupError(f"CSQE108E: Unable to backup or recover structure {structure}, {why}.")


def no_backup(structure: str, why: str) -> BackupError:
    """There is nothing to recover it from."""
    return BackupError(f"CSQE109E: Unable to recover structure {structure}, no backup information available: {why}.")


def failed(structure: str, why: str) -> BackupError:
    """It was begun and did not end well."""
    return BackupError(f"CSQE106E: Unable to backup or recover structure {structure}: {why}.")
