"""A program that a trigger monitor starts: it serves its queue until that has been empty for a while.

    DEFINE PROCESS(REPLIES) APPLICID('python docs/examples/triggered_program.py') ENVRDATA('&')
    DEFINE QLOCAL(REQUESTS) TRIGGER INITQ(SYSTEM.DEFAULT.INITIATION.QUEUE) PROCESS(REPLIES)

    igq trigger-monitor QM1

Its last argument but those of ENVRDATA is the trigger message, an MQTMC2. A started program may find the queue empty:
another one may have been quicker, or it was started once more after a failure.
"""

from __future__ import annotations

import sys

from sharedq import pymqi
from sharedq.pymqi import CMQC

#: How long the program waits for a further message, ms.
WAIT_MS = 2000


def serve(qmgr: str, queue_name: str) -> int:
    """Answer each message on its reply queue, with its text in capitals. Returns how many there were."""
    connection = pymqi.connect(qmgr)
    queue = pymqi.Queue(connection, queue_name, CMQC.MQOO_INPUT_AS_Q_DEF | CMQC.MQOO_FAIL_IF_QUIESCING)
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
        if reply_to:
            reply = pymqi.MD(MsgType=CMQC.MQMT_REPLY, CorrelId=md.MsgId)
            connection.put1(reply_to, request.upper(), reply, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        connection.commit()
        count += 1
    queue.close()
    connection.disconnect()
    return count


def main() -> None:
    """Serve the queue that the trigger message names."""
    trigger = pymqi.TMC2()
    trigger.unpack(sys.argv[1].encode())
    qmgr, queue_name = (getattr(trigger, name).strip(b" \0").decode() for name in ("QMgrName", "QName"))
    print(f"{queue_name}: {serve(qmgr, queue_name)} served", flush=True)


if __name__ == "__main__":
    main()
