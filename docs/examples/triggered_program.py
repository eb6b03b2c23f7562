"""A program that a trigger monitor starts: it serves its queue until that has been empty for a while.

    DEFINE PROCESS(REPLIES) APPLICID('python docs/examples/triggered_program.py') ENVRDATA('&')
    DEFINE QLOCAL(REQUESTS.FAILED)
    DEFINE QLOCAL(REQUESTS) TRIGGER INITQ(SYSTEM.DEFAULT.INITIATION.QUEUE) PROCESS(REPLIES) +
        BOTHRESH(3) BOQNAME(REQUESTS.FAILED)

    igq trigger-monitor QM1

Its last argument but those of ENVRDATA is the trigger message, an MQTMC2. A started program may find the queue empty:
another one may have been quicker, or it was started once more after a failure.

A request whose reply cannot be put stays on its queue, with its backout count raised, and the program ends with one
line and a status that is not 0. It is triggered again then, so after BOTHRESH times the request goes to BOQNAME.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from sharedq import pymqi
from sharedq.pymqi import CMQC

#: How long the program waits for a further message, ms.
WAIT_MS = 2000


def serve(qmgr: str, queue_name: str) -> int:
    """Answer each message on its reply queue, with its text in capitals. Returns how many there were."""
    connection = pymqi.connect(qmgr)
    try:
        return answer_all(connection, queue_name)
    except BaseException:
        # The end of the program, as MQDISC, commits: a request whose reply cannot be put would be lost.
        with suppress(pymqi.MQMIError):
            connection.backout()
        raise
    finally:
        connection.disconnect()


def answer_all(connection: pymqi.QueueManager, queue_name: str) -> int:
    """Answer until nothing has come for a while: each request and its reply are one unit of work."""
    how = CMQC.MQOO_INPUT_AS_Q_DEF | CMQC.MQOO_INQUIRE | CMQC.MQOO_FAIL_IF_QUIESCING
    queue = pymqi.Queue(connection, queue_name, how)
    threshold = queue.inquire(CMQC.MQIA_BACKOUT_THRESHOLD)
    failed_name = bytes(queue.inquire(CMQC.MQCA_BACKOUT_REQ_Q_NAME)).strip(b" \0")
    count = 0
    while True:
        md, options = pymqi.MD(), pymqi.GMO()
        options.Options = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING
        options.WaitInterval = WAIT_MS
        try:
            request = queue.get(None, md, options)
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            break
        reply_to = md.ReplyToQ.strip(b" \0")
        if failed_name and threshold and md.BackoutCount >= threshold:
            connection.put1(failed_name, request, md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        elif reply_to:
            reply = pymqi.MD(MsgType=CMQC.MQMT_REPLY, CorrelId=md.MsgId)
            connection.put1(reply_to, request.upper(), reply, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        connection.commit()
        count += 1
    queue.close()
    return count


def main() -> None:
    """Serve the queue that the trigger message names."""
    trigger = pymqi.TMC2()
    trigger.unpack(sys.argv[1].encode())
    qmgr, queue_name = (getattr(trigger, name).strip(b" \0").decode() for name in ("QMgrName", "QName"))
    print(f"{queue_name}: {serve(qmgr, queue_name)} served", flush=True)


if __name__ == "__main__":
    try:
        main()
    except pymqi.MQMIError as error:
        sys.exit(f"triggered_program.py: {error}")
