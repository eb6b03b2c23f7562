"""Commands that people gave: noted for a manager, which logs each as IGQ0031I, and tells of it by an event (CMDEV).

The audit trail of the group has each of them, too, but for those that only display.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Final

from igq.errors import CommandError
from sharedq.display.text import mask_secrets
from sharedq.members.audit_trail import Deed, Way, deed_call
from sharedq.members.event_notes import Giver, leave_note, leave_together, note_call
from sharedq.members.group import Group
from sharedq.mqi.constants.pcf import EventOrigin, PCFCommand
from sharedq.mqi.errors import MQIError
from sharedq.mqi.pcf.structures import PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.repository import Repository
from sharedq.redis.deployment import DeploymentError
from sharedq.redis.link import ScriptCall

#: The name by which the console gives commands.
CONSOLE: Final = "igq console"
#: A command is noted up to this length, in characters.
_LENGTH_MAX: Final = 4_000
#: Results of commands that changed nothing.
_NOT_DONE: Final = ("failed", "syntax", "passed over")


class CommandNote:
    """A command that is being given. At its `end` it is noted, with whether an event is to tell of it.

    CMDEV decides that as it is now, and for ALTER QMGR also as that leaves it. A command that failed causes no event.

    Args:
        qmgr: the manager that it is given to, which logs it.
        command: its text. Secrets in it, and in the result, are masked.
        runs_at: the managers that do it, by CMDSCOPE, and tell of it; default: *qmgr*.
        number: MQCMD_*, 0 where there is none.
        is_display: CMDEV(NODISPLAY) passes it over.
        request: of a command by message, as the event tells it. Its inquiries are not logged.
        may_note: asked at the end whether the audit trail takes the command.
        attributes: those of *qmgr*, if they were just read.
    """

    def __init__(
        self,
        group: Group,
        qmgr: str,
        command: str,
        giver: Giver | None = None,
        *,
        runs_at: Sequence[str] = (),
        number: int = 0,
        is_display: bool = False,
        request: PCFMessage | None = None,
        may_note: Callable[[], bool] = lambda: True,
        attributes: QueueManagerAttributes | None = None,
    ) -> None:
        self._group, self._qmgr, self._giver = group, qmgr, giver or Giver()
        self._command, self._number, self._is_display = command, number, is_display
        self._request, self._may_note = request, may_note
        self._runs_at = tuple(runs_at) or (qmgr,)
        self._asked_before = {
            each for each in self._runs_at if self._is_told(each, attributes if each == qmgr else None)
        }

    def end(self, result: str) -> None:
        """Note the command with its result, in one line."""
        # The message about a wrong command quotes a part of it.
        result = mask_secrets(result)
        notes = (self._note(qmgr, result) for qmgr in dict.fromkeys((self._qmgr, *self._runs_at)))
        calls = [call for call in notes if call is not None]
        if not self._is_display and self._may_note():
            deed = Deed(self._giver.user, self._giver.host, self._way(), self._text(), result, self._qmgr)
            calls.append(deed_call(self._group, deed))
        leave_together(self._group, calls)

    def _way(self) -> Way:
        if self._request is not None:
            return "PCF"
        if self._giver.origin != EventOrigin.REST:
            return "command line"
        return "console" if self._giver.appl == CONSOLE else "REST"

    def _text(self) -> str:
        return mask_secrets(" ".join(self._command.split()))[:_LENGTH_MAX]

    def _note(self, qmgr: str, result: str) -> ScriptCall | None:
        is_asked_for = qmgr in self._asked_before or (
            self._number == PCFCommand.CHANGE_Q_MGR and qmgr in self._runs_at and self._is_told(qmgr)
        )
        is_told = is_asked_for and not result.startswith(_NOT_DONE)
        is_logged = qmgr == self._qmgr and (self._request is None or not self._is_display)
        if not is_told and not is_logged:
            return None
        fields = {
            **asdict(self._giver),
            "command": self._text(),
            "number": self._number,
            "result": result,
            "is_told": is_told,
            "is_logged": is_logged,
        }
        if self._request is not None and is_told:
            fields["request"] = write(self._request).hex()
        return note_call(self._group, qmgr, "command", "", fields)

    def _is_told(self, qmgr: str, attributes: QueueManagerAttributes | None = None) -> bool:
        try:
            attributes = attributes or Repository(self._group, qmgr).qmgr_attributes(qmgr)
        except (MQIError, DeploymentError):
            return False
        asked = attributes.command_event
        return asked == "ENABLED" or (asked == "NODISPLAY" and not self._is_display)


def note_command(group: Group, qmgr: str, command: str, result: str, giver: Giver | None = None) -> None:
    """Note a command of igq that has been done, or has failed, for *qmgr*."""
    CommandNote(group, qmgr, command, giver).end(result)


def note_group_command(group: Group, command: str, result: str, *, without: str = "") -> None:
    """Note a command that is about the group, for one of its members: a running one if there is any.

    Args:
        without: a member that is no longer there to log it.
    """
    try:
        members = [member for member in group.members() if member.name != without]
    except (MQIError, DeploymentError):
        return
    members.sort(key=lambda member: (member.state != "RUNNING", member.name))
    if members:
        note_command(group, members[0].name, command, result)


@contextmanager
def noting_refusal(group: Group, command: str) -> Iterator[None]:
    """Note a command about the group that the body refuses. Where Redis does not answer, no note could be left."""
    try:
        yield
    except CommandError as error:
        note_group_command(group, command, f"failed: {error}")
        raise


def note_refresh(group: Group, qmgr: str, wanted: str, pattern: str, giver: Giver) -> None:
    """Note that *qmgr* is to tell of the objects that it has now (REFRESH QMGR TYPE(CONFIGEV)).

    Args:
        wanted: ALL, QUEUE, or MQSC's word for a kind of object.
        pattern: names of queues and structures, maybe generic.
    """
    fields = {"wanted": wanted, "pattern": pattern, **asdict(giver)}
    leave_note(group, qmgr, "refresh", "", fields)
