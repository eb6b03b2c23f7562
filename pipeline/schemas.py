"""Tables with their columns, in one place. A column's comment says what it holds."""

from __future__ import annotations

from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_STRING, _LONG, _INT, _BOOL = StringType(), LongType(), IntegerType(), BooleanType()


def _table(*columns: tuple[str, DataType, str]) -> StructType:
    return StructType([StructField(name, kind, True, {"comment": text}) for name, kind, text in columns])


#: One event of one message; commit and backout: of one unit of work in one structure.
JOURNAL = _table(
    ("event", _STRING, "put, get, commit, backout, transfer, expire or recover"),
    ("time", TimestampType(), "when, by Redis' clock"),
    ("stream_id", _STRING, "entry of the stream, MS-SEQ"),
    ("position", _INT, "place within the entry, from 0"),
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("qmgr", _STRING, "manager that the caller was connected to"),
    ("owner", _STRING, "owner token of the caller: QM.incarnation.process.connection"),
    ("queue", _STRING, "queue; of a transfer, the source"),
    ("target_queue", _STRING, "of a transfer: where to"),
    ("unit_of_work", _STRING, "its unit of work; null outside one"),
    ("message_number", _LONG, "unique in the structure, for ever; null for commit and backout"),
    ("message_id", _STRING, "the number with the marks of its key, as in Redis"),
    ("msg_id", _STRING, "put: MsgId, hexadecimal"),
    ("correl_id", _STRING, "put: CorrelId, hexadecimal; null for none"),
    ("group_id", _STRING, "put: GroupId, hexadecimal; null for none"),
    ("msg_seq_number", _INT, "put: MsgSeqNumber, from 1"),
    ("length", _LONG, "put: bytes of the body"),
    ("persistent", _BOOL, "put: whether the message is persistent"),
    ("priority", _INT, "put: Priority, 0 to 9"),
    ("recovered", _BOOL, "done by a peer on behalf of a dead owner"),
    ("messages", _INT, "messages that the whole entry is about"),
)

#: expected.jsonl: what the input rows say must arrive. One line a message copy.
EXPECTED = _table(
    ("row", _LONG, "input row"),
    ("path", _STRING, "igq: through intra-group queuing; shared: by a shared queue"),
    ("correl", _STRING, "CorrelId, hexadecimal: with path, the identity of the copy"),
    ("group", _STRING, "GroupId, hexadecimal; empty for none"),
    ("seq", _INT, "MsgSeqNumber"),
    ("group_size", _INT, "members of the group"),
    ("source", _STRING, "manager that puts"),
    ("target", _STRING, "manager that gets; null or empty: any"),
    ("queue", _STRING, "queue that it must be got from"),
)

#: sent-*.jsonl: what the putting programs saw.
SENT = _table(
    ("correl", _STRING, "CorrelId, hexadecimal"),
    ("path", _STRING, "igq or shared"),
    ("t_ms", _LONG, "when the outcome was known, ms since 1970"),
    ("outcome", _STRING, "ok, failed or unknown"),
    ("qmgr", _STRING, "manager"),
)

#: received-*.jsonl: what the getting programs saw; one file a consumer.
RECEIVED = _table(
    ("correl", _STRING, "CorrelId, hexadecimal"),
    ("path", _STRING, "igq or shared"),
    ("queue", _STRING, "queue"),
    ("qmgr", _STRING, "manager"),
    ("group", _STRING, "GroupId, hexadecimal; empty for none"),
    ("seq", _INT, "MsgSeqNumber"),
    ("t_ms", _LONG, "when the outcome was known, ms since 1970"),
    ("outcome", _STRING, "ok, unknown or backed_out"),
    ("order", _LONG, "rising within the consumer, in the order of its gets"),
)

#: timeline.jsonl: what happened to the managers.
TIMELINE = _table(
    ("t_ms", _LONG, "ms since 1970"),
    ("event", _STRING, "started, killed, detected, claimed, fenced, resolved, restarted, serialized, ..."),
    ("qmgr", _STRING, "manager that it happened to"),
    ("by", _STRING, "manager or program that did it"),
    ("detail", _STRING, "more, for people"),
)
