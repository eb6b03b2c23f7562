"""A drop-in for the ``pymqi`` package: a program changes its import and runs on a queue-sharing group.

    from sharedq import pymqi

    qmgr = pymqi.connect("QM1")
    queue = pymqi.Queue(qmgr, "ORDERS")
    queue.put("Hello")
    print(queue.get())

The group is the one that the settings name (``IGQ_GROUP``, ``IGQ_REDIS_URL``, ``IGQ_CONFIG``).
``docs/how-to/move-a-pymqi-program.md`` lists the differences from pymqi.
"""

from __future__ import annotations

from typing import Any

from sharedq.pymqi import CMQC, CMQCFC, CMQXC, CMQZC
from sharedq.pymqi.boundary import (
    ByteString,
    checked_call,
    default,
    ensure_bytes,
    ensure_not_unicode,
    is_unicode,
    padded_count,
    py23long,
)
from sharedq.pymqi.commands.execution import Filter, FilterOperator, IntegerFilter, PCFExecute, StringFilter
from sharedq.pymqi.connection.message_handle import MessageHandle
from sharedq.pymqi.connection.messages import common_q_args, commonQArgs
from sharedq.pymqi.connection.queue import Queue
from sharedq.pymqi.connection.queue_manager import QueueManager
from sharedq.pymqi.connection.topics import Subscription, Topic
from sharedq.pymqi.errors import Error, MQMIError, PYIFError, WrongTypeError
from sharedq.pymqi.structures.client import CD, SCO, cd, sco
from sharedq.pymqi.structures.descriptors import (
    BMHO,
    CMHO,
    DMHO,
    DMPO,
    GMO,
    IMPO,
    MD,
    MHBO,
    OD,
    PD,
    PMO,
    SD,
    SMPO,
    SRO,
    TM,
    TMC2,
    XQH,
    gmo,
    make_q_desc,
    makeQDesc,
    md,
    od,
    pmo,
)
from sharedq.pymqi.structures.options import INTEGER64_TYPE, MQLONG_TYPE, MQOpts
from sharedq.pymqi.structures.pcf import (
    CFBF,
    CFBS,
    CFGR,
    CFH,
    CFIF,
    CFIL,
    CFIL64,
    CFIN,
    CFIN64,
    CFSF,
    CFSL,
    CFST,
)
from sharedq.pymqi.structures.rfh2 import RFH2

__all__ = [
    "connect",
    "QueueManager",
    "Queue",
    "Topic",
    "Subscription",
    "PCFExecute",
    "Filter",
    "FilterOperator",
    "IntegerFilter",
    "StringFilter",
    "MD",
    "GMO",
    "PMO",
    "OD",
    "CD",
    "SCO",
    "SD",
    "SRO",
    "TM",
    "TMC2",
    "XQH",
    "RFH2",
    "CFH",
    "CFBF",
    "CFBS",
    "CFGR",
    "CFIF",
    "CFIL",
    "CFIL64",
    "CFIN",
    "CFIN64",
    "CFSF",
    "CFSL",
    "CFST",
    "MessageHandle",
    "CMHO",
    "DMHO",
    "PD",
    "SMPO",
    "IMPO",
    "DMPO",
    "BMHO",
    "MHBO",
    "MQOpts",
    "md",
    "gmo",
    "pmo",
    "od",
    "cd",
    "sco",
    "Error",
    "MQMIError",
    "PYIFError",
    "CMQC",
    "CMQCFC",
    "CMQXC",
    "CMQZC",
    "ByteString",
    "default",
    "ensure_bytes",
    "ensure_not_unicode",
    "is_unicode",
    "padded_count",
    "py23long",
    "make_q_desc",
    "makeQDesc",
    "common_q_args",
    "commonQArgs",
    "MQLONG_TYPE",
    "INTEGER64_TYPE",
    "is_py2",
    "is_py3",
    "__version__",
    "__mqlevels__",
    "__mqbuild__",
]

#: The pymqi release whose interface this is.
__version__ = "1.12.13"
#: Levels of the MQI whose structures are known.
__mqlevels__ = ("5.0", "5.1", "5.2", "5.3", "6.0", "7.0", "7.1", "8.0.0")
#: Programs are connected in-process, not by way of a channel.
__mqbuild__ = "bindings"
is_py2, is_py3 = False, True


@checked_call
def connect(
    queue_manager: str | bytes | None,
    channel: str | bytes | None = None,
    conn_info: str | bytes | None = None,
    user: str | bytes | None = None,
    password: str | bytes | None = None,
    disconnect_on_exit: bool = True,
    bytes_encoding: str = default.bytes_encoding,
    default_ccsid: int = default.ccsid,
    *,
    conn_tag: str | bytes = b"",
    cno_options: int = CMQC.MQCNO_NONE,
) -> QueueManager:
    """Connect to a queue manager, or by the group's name (or ``*`` and it) to any member that runs.

    Args:
        channel, conn_info, user, password: where a client would connect, and as whom. Programs that name these
            run unchanged; the connection is made in-process all the same, with the user this program runs as.
        disconnect_on_exit: disconnect, which commits, when the returned object or the program ends.
        bytes_encoding, default_ccsid: for messages that are put as text.
        conn_tag, cno_options: the connection tag, and MQCNO_* options such as MQCNO_SERIALIZE_CONN_TAG_QSG
            (not in pymqi).

    Raises:
        MQMIError: 2058 no such manager, 2059 it does not run, 2161 it quiesces, 2271 the tag is in use.
        PYIFError: neither a queue manager nor a channel with its address is given.
        PYIFError: the settings cannot be used, or an argument is wrong.
    """
    is_client = bool(channel and conn_info)
    if not queue_manager and not is_client:
        raise WrongTypeError("connect: a queue manager's name, or a channel and its address, is needed")
    qmgr = QueueManager(None, disconnect_on_exit, bytes_encoding=bytes_encoding, default_ccsid=default_ccsid)
    options: dict[str, Any] = {"opts": cno_options, "conn_tag": conn_tag}
    if is_client:
        descriptor = CD(ChannelName=ensure_bytes(channel), ConnectionName=ensure_bytes(conn_info))
        options |= {"cd": descriptor, "user": user, "password": password}
    qmgr.connect_with_options(queue_manager or b"", **options)
    return qmgr
