"""The commands of MQSC that a role may give."""

from __future__ import annotations

from igq.mqsc.language.parser import Command
from igq.web.access.gate import Identity
from igq.web.access.users import Role
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for

#: The least role for a verb. Any other verb changes definitions or authorities.
_LEAST = {
    "DISPLAY": Role.VIEWER,
    **dict.fromkeys(("START", "STOP", "CLEAR", "RESOLVE", "BACKUP", "RECOVER", "MOVE", "RESET"), Role.OPERATOR),
}


def least_role(verb: str) -> Role:
    """Return the least role that may give a command with this verb."""
    return _LEAST.get(verb, Role.ADMINISTRATOR)


def check_command(identity: Identity, command: Command) -> None:
    """Refuse a command that the user may not give.

    Raises:
        MQIError: 2035.
    """
    least = least_role(command.verb)
    if identity.role < least:
        why = f"{identity.user} is {identity.role.word}; {command.verb} needs {least.word}"
        raise error_for(MQRC.NOT_AUTHORIZED, "", command.name, why)
