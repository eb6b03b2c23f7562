"""A message as an MQGET returns it."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.logical import group_status, reassembled, segment_status, segmentation
from sharedq.messages.record import (
    RECORD_GROUP,
    RECORD_PERSISTENT,
    RECORD_REPORT,
    carried_record,
    decode_descriptor,
    may_have_format,
    message_token,
    record_body,
    record_destination,
    record_flags,
    record_length,
    record_origin,
)
from sharedq.messages.transmission import as_transmitted
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQRC
from sharedq.mqi.structures import MQMD

# Looked up as a member, it costs a batch two microseconds.
_NO_REASON = MQRC.NONE
#: Not all of the message was returned, or its parts differ in what would be converted.
_NEVER_CONVERTED = (MQRC.TRUNCATED_MSG_FAILED, MQRC.INCONSISTENT_CCSIDS, MQRC.INCONSISTENT_ENCODINGS)


class Message:
    """The result of an MQGET: one message, or a logical message put together from its segments.

    Its parts are made when the program reads them: in a batch they cost more than all the rest of a get.

    Args:
        got: record, message id, the structure's number, and Redis' time of the get if the message expires, ms.

    Attributes:
        reason: ``NONE``, or the reason of a warning.
    """

    __slots__ = ("_body", "_data_length", "_got", "_md", "_whole", "reason")

    def __init__(self, got: tuple[bytes, bytes, int, int]) -> None:
        self._got = got
        self._md: MQMD | None = None
        self._body: bytes | None = None
        self._data_length = -1
        self._whole: bytes | None = None
        self.reason = _NO_REASON

    @property
    def body(self) -> bytes:
        """The data, cut when ``reason`` is 2079 or 2080."""
        if self._body is None:
            self._body = record_body(self._got[0])
        return self._body

    @body.setter
    def body(self, body: bytes) -> None:
        self._body = body

    def cut(self, room: int) -> None:
        """Leave the program so many bytes of the data; ``whole`` has more, if the structure returned more."""
        self._whole = self.body
        self.body = self._whole[: max(room, 0)]

    @property
    def whole(self) -> bytes:
        """All of the data that the structure returned, cut or not: what a report of the delivery is about."""
        return self.body if self._whole is None else self._whole

    @property
    def data_length(self) -> int:
        """Length of the whole data, bytes."""
        return record_length(self._got[0]) if self._data_length < 0 else self._data_length

    @data_length.setter
    def data_length(self, length: int) -> None:
        self._data_length = length

    @property
    def is_persistent(self) -> bool:
        """As the descriptor's Persistence says."""
        return bool(record_flags(self._got[0]) & RECORD_PERSISTENT)

    @property
    def has_group(self) -> bool:
        """Whether it has a GroupId: it is in a group, a segment, or may be segmented."""
        return bool(self._got[0][0] & RECORD_GROUP)

    @property
    def asks_reports(self) -> bool:
        """Whether the descriptor's Report says anything."""
        return bool(record_flags(self._got[0]) & RECORD_REPORT)

    @property
    def msg_token(self) -> bytes:
        """MsgToken: with MQMO_MATCH_MSG_TOKEN it names this message for as long as that is on the queue."""
        _, message_id, structure_number, _ = self._got
        return message_token(message_id, structure_number)

    @property
    def group_status(self) -> bytes:
        """GroupStatus: b"G" in a group, b"L" the last message of one, b" " in none."""
        return group_status(self._msg_flags)

    @property
    def segment_status(self) -> bytes:
        """SegmentStatus: b"S" a segment, b"L" the last or only one, b" " none."""
        return segment_status(self._msg_flags)

    @property
    def segmentation(self) -> bytes:
        """Segmentation: b"A" the message may be segmented further, b" " it may not."""
        return segmentation(self._msg_flags)

    @property
    def _msg_flags(self) -> int:
        return self.md.msg_flags if self.has_group else 0

    @property
    def md(self) -> MQMD:
        """The message's descriptor, as it was when the message was got."""
        if self._md is None:
            record, message_id, structure_number, now_ms = self._got
            self._md = decode_descriptor(record, message_number(message_id), structure_number, now_ms)
        return self._md

    def has_format(self, name: bytes) -> bool:
        """Whether the Format is *name*. The descriptor is not decoded if the Format is certainly another one."""
        if self._md is None and not may_have_format(self._got[0], name):
            return False
        return self.md.format.rstrip(b" \0") == name

    def put_together(self, segments: Sequence[Message]) -> None:
        """Make it the logical message that it is the first segment of."""
        whole = reassembled([(segment.md, segment.body) for segment in segments])
        self._md, self.body, self.reason = whole.md, whole.body, whole.reason
        self.data_length = len(whole.body)

    def convert(self, target: Representation, room: int, *, may_cut: bool) -> None:
        """MQGMO_CONVERT: convert the data to another character set and encoding, and update the descriptor.

        If that is impossible, ``reason`` says why, and data and descriptor stay unchanged. Another warning about the
        message stays.

        Args:
            room: length of the buffer, bytes.
            may_cut: converted data that does not fit the buffer is cut (2079).
        """
        md = self.md
        source = Representation(md.coded_char_set_id, md.encoding)
        if source == target or self.reason in _NEVER_CONVERTED or not (self.body and room):
            return
        is_cut = len(self.body) < self.data_length
        # Most programs ask for no conversion, and its tables take long to import.
        from sharedq.mqi.conversion.messages import Converted, convert

        converted = convert(self.body, md.format, source, target, room, may_cut=may_cut, is_cut=is_cut)
        if not isinstance(converted, Converted):
            if self.reason in (MQRC.NONE, MQRC.TRUNCATED_MSG_ACCEPTED):
                self.reason = converted
            return
        self.body, md.coded_char_set_id, md.encoding = converted.data, target.ccsid, target.encoding
        # The length of data that were cut, whenever that was, is what they had on the queue.
        if converted.is_cut:
            self.reason = self.reason or MQRC.TRUNCATED_MSG_ACCEPTED
        elif not is_cut:
            self.data_length = len(self.body)

    def as_stored(self) -> tuple[MQMD, bytes]:
        """The descriptor and the data as they were put, with every header and unconverted."""
        record, message_id, structure_number, now_ms = self._got
        return decode_descriptor(record, message_number(message_id), structure_number, now_ms), record_body(record)

    @property
    def destination(self) -> bytes:
        """The queue that a message stored through IGQ must go to; empty for any other."""
        return record_destination(self._got[0])

    @property
    def origin(self) -> bytes:
        """The manager where it was put: the first 12 bytes of its name."""
        return record_origin(self._got[0])

    def carried(self) -> bytes | None:
        """Its record for its destination queue (``record.carried_record``); None if it cannot be carried."""
        record, message_id, structure_number, _ = self._got
        return carried_record(record, message_number(message_id), structure_number)

    def wrap(self, destination: bytes, remote_qmgr: bytes) -> None:
        """Give it the header of a transmission queue, which a program that serves one expects."""
        self.body = as_transmitted(self.md, self.body, destination, remote_qmgr)
        self.data_length = len(self.body)


def message_number(message_id: bytes) -> int:
    """The number in a message id such as ``124.5x``."""
    return int(message_id.rstrip(b"x").partition(b".")[0])
