"""MQSC commands of a signed-in user: through the code of ``igq mqsc``, as far as the user's role goes."""

from __future__ import annotations

from functools import partial

from igq.errors import CommandError
from igq.mqsc.executor import Answer
from igq.mqsc.language.parser import Command
from igq.mqsc.session import answer_commands
from igq.web.access.gate import Identity
from igq.web.access.roles import check_command
from igq.web.site import Site
from sharedq.display.text import mask_secrets
from sharedq.members.event_notes import Giver
from sharedq.mqi.constants.pcf import EventOrigin

#: MQRCCF_COMMAND_FAILED.
COMMAND_FAILED = 3008
_LONGEST_LOGGED = 500


async def give_commands(
    site: Site, identity: Identity, qmgr: str, commands: str | Command, appl_name: str
) -> list[Answer]:
    """Do commands at the running manager *qmgr*: all in a text, or one that is parsed. Both logs tell of them.

    A command that the role does not allow fails by itself, with reason 2035.

    Args:
        appl_name: the program that the manager notes with the command.

    Raises:
        As `answer_commands`.
    """
    shown = commands.shown if isinstance(commands, Command) else commands
    logged = f"{qmgr}: {mask_secrets(shown)[:_LONGEST_LOGGED]}"
    giver = Giver(identity.user, identity.host, appl_name, origin=int(EventOrigin.REST))
    try:
        answers = await site.work(
            answer_commands,
            site.settings,
            qmgr,
            commands,
            partial(check_command, identity),
            giver,
            partial(site.may_note, identity),
        )
    except CommandError as error:
        site.record(identity, logged, str(error))
        raise
    failed = ", ".join(str(each.reason or COMMAND_FAILED) for each in answers if each.fault)
    site.record(identity, logged, f"failed, {failed}" if failed else "done")
    return answers
