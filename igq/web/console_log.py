"""The log of the console: ``igq-console.log`` in the data directory."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable
from typing import Any

from igq.errors import CommandError
from igq.output.log import LogFile, start_log
from sharedq.members.audit_trail import Deed, note_deed
from sharedq.members.group import Group
from sharedq.redis.embedded import EmbeddedRedis
from sharedq.settings.loader import prepare_data_dir
from sharedq.settings.values import Settings


def start_console_log(settings: Settings, *, is_shown: bool = True) -> tuple[Callable[..., None], LogFile]:
    """Return what logs a message of `igq.output.messages` by its id and fields, and the file that it logs to.

    Args:
        is_shown: log to standard output, too.

    Raises:
        CommandError, ConfigError: the log cannot be written.
    """
    prepare_data_dir(settings)
    try:
        # No queue manager can have this name.
        logger, file = start_log("igq-console", settings.data_dir, is_shown=is_shown)
    except OSError as error:
        raise CommandError(f"the log of the console cannot be written: {error}") from None
    logger = logger.bind(qmgr=settings.group)

    def say(message_id: str, **fields: Any) -> None:
        logger.info(message_id, **fields)

    return say, file


def record_changes(settings: Settings) -> Callable[[str], None]:
    """Return what logs a change of the console's users, for the user of this machine that makes it.

    Raises:
        CommandError, ConfigError: the log cannot be written, so nobody may be given rights.
    """
    say, _ = start_console_log(settings, is_shown=False)
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"user {os.getuid()}"
    if sudo := os.environ.get("SUDO_USER"):
        user += f" for {sudo}"

    def record(command: str) -> None:
        say("IGQ0106I", user=user, command=command)
        if settings.is_embedded and not EmbeddedRedis.has_data(settings.data_dir):
            # There is no group yet, and so no trail.
            return
        group = Group(settings)
        try:
            note_deed(group, Deed(user, socket.gethostname(), "command line", command))
        finally:
            group.leave()

    return record
