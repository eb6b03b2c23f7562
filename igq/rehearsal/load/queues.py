"""The queues of a run, which are defined by MQSC as by an administrator, and other MQSC of a run."""

from __future__ import annotations

import io

from igq.errors import CommandError
from igq.mqsc.executor import COULD_NOT_RUN
from igq.mqsc.executor import run as run_mqsc
from igq.rehearsal.load.programs.putter import STATUS_QUEUE
from igq.rehearsal.load.rows.plan import PRIVATE_QUEUE, SHARED_QUEUE
from igq.rehearsal.load.rows.sources import QMGRS
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.repository import Repository

#: The queue for bulk puts, which are never committed.
BULK_QUEUE = "BULK"

_STRUCTURE_MQSC = """
DEFINE CFSTRUCT({structure}) CFLEVEL(5) RECOVER(YES) DESCR('Queues drained by all managers together')
"""
_SHARED_MQSC = f"""
DEFINE QLOCAL({SHARED_QUEUE}) QSGDISP(SHARED) CFSTRUCT({{shared}}) DEFPSIST(YES) MSGDLVSQ(FIFO) +
       DESCR('Departures, drained by all managers together') REPLACE
DEFINE QLOCAL({STATUS_QUEUE}) QSGDISP(SHARED) CFSTRUCT({{structure}}) DEFPSIST(YES) +
       DESCR('How far each putting program has come') REPLACE
"""
_BULK_MQSC = f"""
DEFINE QLOCAL({BULK_QUEUE}) QSGDISP(SHARED) CFSTRUCT({{structure}}) DEFPSIST(YES) REPLACE
"""
_PRIVATE_MQSC = f"""
DEFINE QLOCAL({PRIVATE_QUEUE}) QSGDISP(QMGR) DEFPSIST(YES) MSGDLVSQ(FIFO) +
       DESCR('Departures sent here by intra-group queuing') REPLACE
"""


def define_queues(group: Group, structure: str, shared: str = "") -> None:
    """Define the shared queues once for the group, and the private ones at every manager.

    Args:
        structure: of the shared queues.
        shared: another structure to define, for the queue that all managers drain.

    Raises:
        CommandError: a definition was refused.
        MQIError: 2009, Redis cannot be reached.
    """
    if shared:
        do_mqsc(group, QMGRS[0], _STRUCTURE_MQSC.format(structure=shared))
    do_mqsc(group, QMGRS[0], _SHARED_MQSC.format(structure=structure, shared=shared or structure))
    for name in QMGRS:
        do_mqsc(group, name, _PRIVATE_MQSC)


def define_bulk_queue(group: Group, structure: str) -> None:
    """Define the queue for bulk puts.

    Raises:
        CommandError: the definition was refused.
        MQIError: 2009, Redis cannot be reached.
    """
    do_mqsc(group, QMGRS[0], _BULK_MQSC.format(structure=structure))


def do_mqsc(group: Group, qmgr: str, text: str) -> None:
    """Run MQSC commands at a manager.

    Raises:
        CommandError: a command was refused.
        MQIError: 2009, Redis cannot be reached.
    """
    out = io.StringIO()
    status = run_mqsc(text.splitlines(), Repository(group, qmgr), out)
    if status == COULD_NOT_RUN:
        raise error_for(MQRC.CONNECTION_BROKEN, "", qmgr, "whether the commands were done is unknown")
    if status:
        raise CommandError(f"MQSC is refused at {qmgr}: {' '.join(out.getvalue().split())}")
