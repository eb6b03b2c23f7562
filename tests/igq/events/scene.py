"""The events of a manager, and commands that cause some."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

from igq.events import formats
from igq.events.reading import as_fields
from igq.events.writer import EventWriter
from igq.mqsc.executor import run
from igq.mqsc.session import SessionRepository, noted_for
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import PCFMessage
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup

EVENTS = ["performance", "inhibit", "local", "remote", "authority", "start_stop", "command", "configuration"]


class Events:
    """The events of one manager."""

    def __init__(self, group: TestGroup, qmgr: str = "QM1") -> None:
        self.group, self.said = group, list[tuple[str, dict[str, Any]]]()
        self.reader = group.connect(qmgr)
        connection = group.connect(qmgr).connection
        self.writer = EventWriter(group.group, qmgr, lambda: connection, self._say)

    def _say(self, message_id: str, **fields: Any) -> None:
        self.said.append((message_id, fields))

    def read(self, queue: str) -> list[tuple[dict[str, Any], MQMD]]:
        """Take what is on a queue of events, after the manager has looked."""
        self.writer.look()
        found = list[tuple[dict[str, Any], MQMD]]()
        with self.reader.open(queue, OpenOption.INPUT_SHARED) as source:
            while True:
                try:
                    message = source.get(GetOption.NO_SYNCPOINT)
                except NoMsgAvailable:
                    return found
                representation = Representation(message.md.coded_char_set_id, message.md.encoding)
                found.append((as_fields(read(message.body, representation), representation), message.md))

    def messages(self, queue: str) -> list[PCFMessage]:
        """Take the PCF messages of a queue of events, after the manager has looked."""
        self.writer.look()
        found = list[PCFMessage]()
        with self.reader.open(queue, OpenOption.INPUT_SHARED) as source, suppress(NoMsgAvailable):
            while True:
                found.append(read(source.get(GetOption.NO_SYNCPOINT).body))
        return found

    def names(self, queue: str = formats.PERFM_QUEUE) -> list[str]:
        return [fields["reasonName"] for fields, _ in self.read(queue)]


def mqsc(group: TestGroup, *commands: str) -> str:
    out = io.StringIO()
    repository = SessionRepository(group.group, "QM1")
    run(commands, repository, out, on_command=noted_for(repository))
    return out.getvalue()


def told_commands(events: Events) -> list[str]:
    return [fields["commandData"]["commandMqsc"] for fields, _ in events.read(formats.COMMAND_QUEUE)]
