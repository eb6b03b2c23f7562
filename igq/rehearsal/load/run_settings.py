"""The settings of a run: those in force, with a separate directory and, in a shared Redis, a separate group."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from igq.errors import CommandError
from igq.rehearsal.load.records import EXPECTED
from sharedq.settings.loader import load_settings, prepare_data_dir
from sharedq.settings.values import Settings

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def settings_of_run(kind: str, directory: Path | None = None, **changes: object) -> Settings:
    """Return settings whose data directory is the run's, and create the directory.

    Without a Redis URL the embedded server of that directory is used, which holds nothing of other runs. With a URL and
    the default group name, the group gets a name made from the time, which is not in use.

    Args:
        kind: first part of the directory's name: ``demo``, ``drill-kill-manager``.
        directory: of the run; default: ``KIND-TIME`` in the data directory.
        changes: settings of the run.

    Raises:
        CommandError: the directory holds the records of another run.
        ConfigError: the settings or the directory cannot be used.
    """
    settings = load_settings()
    given_as = "IGQ_DATA_DIR" if directory is None else "--data-dir"
    if directory is None:
        directory = settings.data_dir / f"{kind}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    directory = directory.absolute()
    if (directory / EXPECTED).exists():
        raise CommandError(f"{directory} holds the records of an earlier run; name another directory")
    values: dict[str, object] = {"data_dir": directory, **changes}
    if settings.redis_url is not None and settings.group == Settings.model_fields["group"].default:
        values["group"] = new_group_name()
    run = settings.model_copy(update=values)
    prepare_data_dir(run, given_as)
    return run


def new_group_name() -> str:
    """Return a group name for one run: a new one each second for half a day."""
    number = int(time.time()) % len(_DIGITS) ** 3
    return "D" + "".join(_DIGITS[number // len(_DIGITS) ** place % len(_DIGITS)] for place in (2, 1, 0))
