"""Administer a queue manager by PCF messages: a small tool on `PCFExecute`.

    python docs/examples/pcf_tool.py QM1 ping
    python docs/examples/pcf_tool.py QM1 create ORDERS --max-depth 5000
    python docs/examples/pcf_tool.py QM1 queues 'ORD*' --deeper-than 100
    python docs/examples/pcf_tool.py QM1 members
    python docs/examples/pcf_tool.py QM1 delete ORDERS

A program for IBM MQ is the same with ``import pymqi``.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from sharedq import pymqi
from sharedq.pymqi import CMQC, CMQCFC


def ping(pcf: pymqi.PCFExecute) -> None:
    """Ask whether the command server answers."""
    pcf.MQCMD_PING_Q_MGR()
    print("the command server answers")


def show_queues(pcf: pymqi.PCFExecute, name: str, deeper_than: int) -> None:
    """Show local queues whose name fits and that hold more messages than that."""
    wanted = {
        CMQC.MQCA_Q_NAME: name.encode(),
        CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
        CMQCFC.MQIACF_Q_ATTRS: [CMQC.MQIA_CURRENT_Q_DEPTH, CMQC.MQIA_MAX_Q_DEPTH],
    }
    deep = pymqi.Filter(CMQC.MQIA_CURRENT_Q_DEPTH).greater(deeper_than)
    for queue in pcf.MQCMD_INQUIRE_Q(wanted, [deep]):
        print(f"{text(queue, CMQC.MQCA_Q_NAME)} {queue[CMQC.MQIA_CURRENT_Q_DEPTH]} of {queue[CMQC.MQIA_MAX_Q_DEPTH]}")


def create_queue(pcf: pymqi.PCFExecute, name: str, max_depth: int) -> None:
    """Make a local queue, or give the existing one these attributes: doing it twice does no harm."""
    pcf.MQCMD_CREATE_Q(
        {
            CMQC.MQCA_Q_NAME: name.encode(),
            CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
            CMQC.MQIA_MAX_Q_DEPTH: max_depth,
            CMQCFC.MQIACF_REPLACE: CMQCFC.MQRP_YES,
        }
    )
    print(f"{name} is there")


def delete_queue(pcf: pymqi.PCFExecute, name: str) -> None:
    """Delete a queue with no messages."""
    pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: name.encode()})
    print(f"{name} is deleted")


def show_members(pcf: pymqi.PCFExecute) -> None:
    """Have each running member of the group say its name."""
    everywhere = {CMQCFC.MQCACF_COMMAND_SCOPE: b"*", CMQCFC.MQIACF_Q_MGR_ATTRS: [CMQC.MQCA_Q_MGR_DESC]}
    for manager in pcf.MQCMD_INQUIRE_Q_MGR(everywhere):
        print(text(manager, CMQC.MQCA_Q_MGR_NAME))


def text(answer: dict[int, Any], attribute: int) -> str:
    """A string without the blanks that fill its length."""
    return str(answer[attribute].decode().strip(" \0"))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qmgr")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("ping")
    commands.add_parser("members")
    queues = commands.add_parser("queues")
    queues.add_argument("name")
    queues.add_argument("--deeper-than", type=int, default=-1)
    create = commands.add_parser("create")
    create.add_argument("name")
    create.add_argument("--max-depth", type=int, default=5000)
    commands.add_parser("delete").add_argument("name")
    given = parser.parse_args()
    manager = pymqi.connect(given.qmgr)
    pcf = pymqi.PCFExecute(manager, response_wait_interval=30_000)
    try:
        if given.command == "ping":
            ping(pcf)
        elif given.command == "members":
            show_members(pcf)
        elif given.command == "queues":
            show_queues(pcf, given.name, given.deeper_than)
        elif given.command == "create":
            create_queue(pcf, given.name, given.max_depth)
        else:
            delete_queue(pcf, given.name)
    finally:
        pcf.disconnect()
        manager.disconnect()


if __name__ == "__main__":
    try:
        main()
    except pymqi.MQMIError as error:
        sys.exit(f"pcf_tool.py: {error}")
