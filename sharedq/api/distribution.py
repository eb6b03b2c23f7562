"""Distribution lists of the native API: one put to several queues."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.api.open_objects import Opened
from sharedq.api.queue import Queue, context_number, refuse_put
from sharedq.calls.put.distribution import close_list, put_list
from sharedq.calls.put.extension import put_message
from sharedq.calls.put.properties import put_with_properties
from sharedq.mqi.arguments import whole
from sharedq.mqi.constants import MQRC, CloseOption, PutOption, PutRecordField
from sharedq.mqi.structures import MQMD, MQPMO, MQPMR, MQRR
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.session.handle import ListHandle


class DistributionList(Opened[ListHandle]):
    """An open distribution list.

    Attributes:
        warning: of the open, then of the latest ``put``: 2136 if the destinations had different outcomes.
        responses: completion code and reason for each destination after such a warning.
    """

    def __init__(self, connection: Connection, handle: ListHandle, responses: Sequence[MQRR]) -> None:
        super().__init__(connection, handle)
        self.warning, self.responses = handle.warning, responses

    def put(
        self,
        body: bytes,
        md: MQMD | None = None,
        *,
        options: PutOption | int = 0,
        context: Queue | None = None,
        records: Sequence[MQPMR] = (),
        fields: PutRecordField | int = 0,
        properties: MessageHandle | None = None,
    ) -> MQRC:
        """MQPUT one message to every queue of the list.

        Without ``PutOption.SYNCPOINT`` it is committed for all that take it, or for none.

        Args:
            records: one for each destination: what the message has there, as far as *fields* say so. The identifiers
                among these are returned there.
            context, properties: as for a queue.

        Returns:
            NONE, or the reason of a warning, as ``warning`` has it.

        Raises:
            MQIError: what every destination was refused for; 2136 if for different reasons, which ``responses`` tell.
        """
        refuse_put("MQPUT", "", md, body)
        md = MQMD() if md is None else md
        self.responses = [MQRR() for _ in self.handle.members]
        pmo = MQPMO(
            version=2,
            options=whole(options, MQRC.OPTIONS_ERROR, "MQPUT", ""),
            recs_present=len(self.responses),
            put_msg_rec_fields=whole(fields, MQRC.PMO_RECORD_FLAGS_ERROR, "MQPUT", "", "the fields"),
            put_msg_records=records,
            response_records=self.responses,
        )
        pmo.context = context_number(self.connection, context, "")

        def send(md: MQMD, body: bytes) -> MQRC:
            return put_list(self.connection, self.handle, md, pmo, body)

        def send_with_properties(md: MQMD, body: bytes) -> MQRC:
            return put_with_properties(send, "", md, pmo, body, new=properties)

        with self.connection.lock:
            self.connection.check()
            chosen = send if properties is None else send_with_properties
            self.warning = put_message(self.connection, "", chosen, md, pmo.options, body)
        return self.warning

    def close(self, options: CloseOption | int = 0) -> MQRC:
        """MQCLOSE; returns the reason of a warning, as that of a queue."""
        with self.connection.lock:
            self.connection.check()
            return close_list(self.connection, self.handle, options)
