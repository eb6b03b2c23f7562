"""Commands about the command server of a manager.

Source: IBM MQ reference, "START CMDSERV", "STOP CMDSERV", "DISPLAY CMDSERV".
"""

from __future__ import annotations

from igq.mqsc import messages
from igq.mqsc.language.parser import Command
from igq.operations.command_service import RUNNING, STOPPED, ask_command_server, command_server_state
from sharedq.objects.repository import Repository


def display_command_server(command: Command, repository: Repository) -> list[str]:
    """DISPLAY CMDSERV."""
    command.check_keywords(())
    return [messages.COMMAND_SERVER_STATES[command_server_state(repository.group, repository.qmgr or "")]]


def start_command_server(command: Command, repository: Repository) -> list[str]:
    """START CMDSERV."""
    command.check_keywords(())
    is_new = ask_command_server(repository.group, repository.qmgr or "", RUNNING)
    return [messages.COMMAND_SERVER_STARTED if is_new else messages.COMMAND_SERVER_ALREADY_STARTED]


def stop_command_server(command: Command, repository: Repository) -> list[str]:
    """STOP CMDSERV."""
    command.check_keywords(())
    is_new = ask_command_server(repository.group, repository.qmgr or "", STOPPED)
    return [messages.COMMAND_SERVER_STOPPED if is_new else messages.COMMAND_SERVER_ALREADY_STOPPED]
