"""Errors of backups and recoveries. The ids are IBM's if IBM has one for the case."""

from __future__ import annotations


class BackupError(Exception):
    """One line that begins with its message id."""


def in_use(structure: str, why: str) -> BackupError:
    """Another process works on the structure, or it cannot be reached."""
    return BackupError(f"CSQE101I: Unable to backup or recover structure {structure}, structure in use: {why}.")


def not_recoverable(structure: str, why: str) -> BackupError:
    """The structure's definition or the setup permits no backup."""
    return BackupError(f"CSQE108E: Unable to backup or recover structure {structure}, {why}.")


def no_backup(structure: str, why: str) -> BackupError:
    """There is no backup to recover the structure from."""
    return BackupError(f"CSQE109E: Unable to recover structure {structure}, no backup information available: {why}.")


def failed(structure: str, why: str) -> BackupError:
    """The backup or recovery began and did not succeed."""
    return BackupError(f"CSQE106E: Unable to backup or recover structure {structure}: {why}.")
