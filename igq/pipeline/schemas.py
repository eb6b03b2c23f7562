"""Tables with their columns, in one place. A column's comment says what it holds.

The tables that jobs write carry the comments: ``DESCRIBE QUERY SELECT * FROM parquet.`DIR``` shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STRING, _LONG, _INT, _BOOL = StringType(), LongType(), IntegerType(), BooleanType()
_BINARY, _TIME, _DOUBLE = BinaryType(), TimestampType(), DoubleType()


def _table(*columns: tuple[str, DataType, str], nullable: Sequence[str] | None = None) -> StructType:
    """A table. If *nullable* names columns, the others never hold a null.

    Spark checks each value of a nullable column for null, twice a row.
    """
    return StructType(
        [
            StructField(name, kind, nullable is None or name in nullable, {"comment": text})
            for name, kind, text in columns
        ]
    )


def as_table(table: DataFrame, schema: StructType) -> DataFrame:
    """The columns of *schema*: in its order, of its types and with its comments, which aggregates and joins lose.

    Raises:
        AnalysisException: a column is missing.
    """
    # DataFrame.to would keep a column's old comment, and fill a missing column with nulls.
    return table.select(
        *(table[field.name].cast(field.dataType).alias(field.name, metadata=field.metadata) for field in schema.fields)
    )


#: One event of one message; commit and backout: of one unit of work in one structure.
JOURNAL = _table(
    ("event", _STRING, "put, get, prepare, commit, backout, transfer, expire, clear, return or undo"),
    ("time", _TIME, "when, by Redis' clock"),
    ("stream_id", _STRING, "entry of the stream, MS-SEQ"),
    ("position", _INT, "place within the entry, from 0"),
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("qmgr", _STRING, "manager that the caller was connected to"),
    ("owner", _STRING, "owner token of the caller: QM.incarnation.process.connection"),
    ("queue", _STRING, "queue; for a transfer, the source"),
    ("target_queue", _STRING, "transfer: the queue it goes to"),
    ("unit_of_work", _STRING, "its unit of work; null outside one"),
    ("message_number", _LONG, "unique in the structure, for ever; null for prepare, commit and backout"),
    ("message_id", _STRING, "the number with the marks of its key, as in Redis"),
    ("msg_id", _STRING, "put: MsgId, hexadecimal"),
    ("correl_id", _STRING, "put: CorrelId, hexadecimal; null for none"),
    ("group_id", _STRING, "put: GroupId, hexadecimal; null for none"),
    ("msg_seq_number", _INT, "put: MsgSeqNumber, from 1"),
    ("length", _LONG, "put: bytes of the body"),
    ("persistent", _BOOL, "put: whether the message is persistent"),
    ("priority", _INT, "put: Priority, 0 to 9; more is placed as 9"),
    ("recovered", _BOOL, "done by a peer on behalf of a dead owner"),
    ("messages", _INT, "messages that the whole entry is about; 0 for prepare"),
    ("dead_letter", _BOOL, "put: the message has a dead-letter header"),
    ("chosen", _BOOL, "get: it asked for certain messages, so it may have passed over earlier ones"),
    ("logical", _BOOL, "get: it asked for the next message of its group, in logical order"),
    nullable=(
        *("queue", "target_queue", "unit_of_work", "message_number", "message_id", "msg_id", "correl_id", "group_id"),
        *("msg_seq_number", "length", "persistent", "priority"),
    ),
)

#: Files that a stream of `format("igq.parquet")` has written.
PARQUET_FILES = _table(
    ("file", _STRING, "path of the file before its batch is committed"),
    ("queue", _STRING, "queue of its messages"),
    ("messages", _LONG, "how many it has"),
    ("bytes", _LONG, "its size"),
)

#: Counts of the events that the journal job has stored.
JOURNAL_STORED = _table(
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("event", _STRING, "put, get, prepare, commit, backout, transfer, expire, clear, return or undo"),
    ("events", _LONG, "how many"),
    ("first", _TIME, "when the first of them was, by Redis' clock"),
    ("last", _TIME, "when the last of them was"),
)

#: The events that an audit with --follow keeps: those of messages whose lives are not over.
OPEN_EVENTS = StructType(
    [
        *JOURNAL.fields,
        *_table(("was_over", _BOOL, "its message's life had been over, and forgotten, when this happened")).fields,
    ]
)

#: Where an event is in a structure's journal.
_PLACE = _table(
    ("ms", _LONG, "time in the entry's id, ms since 1970"),
    ("seq", _LONG, "number in the entry's id within that millisecond"),
    ("position", _INT, "place within the entry, from 0"),
)

#: Facts about forgotten messages by which such an audit judges the order of later ones.
AUDIT_MARKS = _table(
    ("kind", _STRING, "group: its last member got in logical order; late: a message known to be out of sequence"),
    ("structure", _STRING, "coupling-facility structure"),
    ("queue", _STRING, "group: queue that it was got from"),
    ("name", _STRING, "group: GroupId"),
    ("number", _LONG, "group: the highest MsgSeqNumber got; late: the message number"),
    ("last", _PLACE, "group: place of the get of that member"),
    ("put", _PLACE, "group: place of its put"),
    ("why", _STRING, "late: the reason"),
)

#: A message on a queue: where it is, its descriptor (MQMD), its data.
QUEUE = _table(
    ("queue", _STRING, "queue"),
    ("structure", _STRING, "coupling-facility structure that it is in; @QM is the manager's own"),
    ("position", _LONG, "place on the queue: rising in the order in which messages are delivered"),
    ("message_id", _STRING, "key of the message in the structure, as the journal has it"),
    ("version", _INT, "MQMD: 1 or 2"),
    ("report", _INT, "MQMD: report options"),
    ("msg_type", _INT, "MQMD: 1 request, 2 reply, 4 report, 8 datagram"),
    ("expiry", _INT, "MQMD: tenths of a second that are left; -1 unlimited"),
    ("feedback", _INT, "MQMD: the event that a report is about"),
    ("encoding", _INT, "MQMD: numeric encoding of the data"),
    ("coded_char_set_id", _INT, "MQMD: character set of the data"),
    ("format", _STRING, "MQMD: format of the data, for example MQSTR; empty for none"),
    ("priority", _INT, "MQMD: 0 to 9; more is placed as 9"),
    ("persistence", _INT, "MQMD: 1 persistent, 0 not"),
    ("msg_id", _BINARY, "MQMD: 24 bytes"),
    ("correl_id", _BINARY, "MQMD: 24 bytes; null for MQCI_NONE"),
    ("backout_count", _INT, "MQMD: how often it was backed out, up to 255"),
    ("reply_to_q", _STRING, "MQMD: queue for replies and reports"),
    ("reply_to_q_mgr", _STRING, "MQMD: its manager"),
    ("user_identifier", _STRING, "MQMD: user who put it"),
    ("accounting_token", _BINARY, "MQMD: 32 bytes"),
    ("appl_identity_data", _STRING, "MQMD: identity context"),
    ("put_appl_type", _INT, "MQMD: kind of program that put it"),
    ("put_appl_name", _STRING, "MQMD: name of that program"),
    ("put_date", _STRING, "MQMD: YYYYMMDD, UTC"),
    ("put_time", _STRING, "MQMD: HHMMSSTH, UTC"),
    ("appl_origin_data", _STRING, "MQMD: origin context"),
    ("group_id", _BINARY, "MQMD: 24 bytes; null for MQGI_NONE"),
    ("msg_seq_number", _INT, "MQMD: place in the group, from 1"),
    ("offset", _INT, "MQMD: where a segment's data begin in the logical message"),
    ("msg_flags", _INT, "MQMD: 8 in a group, 16 its last, 2 segment, 4 the last one, 1 may be segmented"),
    ("original_length", _INT, "MQMD: set in a report about a segment; otherwise -1"),
    ("put_at", _TIME, "PutDate and PutTime together, to the millisecond; null if the program set no valid time"),
    ("destination", _STRING, "on a transmission queue: the final destination queue; null elsewhere"),
    ("length", _LONG, "bytes of data"),
    ("data", _BINARY, "the data"),
    nullable=("correl_id", "group_id", "put_at", "destination"),
)

#: Further columns of a queue, if a query asks for properties. The MQRFH2 that carries these leaves ``data``.
PROPERTIES = _table(
    (
        "properties",
        MapType(_STRING, _STRING),
        "properties of the message, by name, as text; only where they are asked for",
    ),
    ("properties_json", _STRING, "the same as a JSON object, with numbers and truth values; only where asked for"),
    nullable=(),
)
#: All columns that a query can ask for.
QUEUE_AND_PROPERTIES = StructType([*QUEUE.fields, *PROPERTIES.fields])

#: expected.jsonl: the message copies that must arrive according to the input rows, one on each line.
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

#: sent-*.jsonl: the records of the putting programs.
SENT = _table(
    ("correl", _STRING, "CorrelId, hexadecimal"),
    ("path", _STRING, "igq or shared"),
    ("t_ms", _LONG, "when the outcome was known, ms since 1970"),
    ("outcome", _STRING, "ok, failed or unknown"),
    ("qmgr", _STRING, "manager"),
)

#: received-*.jsonl: the records of the getting programs, one file for each consumer.
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

#: timeline.jsonl: the events of the managers.
TIMELINE = _table(
    ("t_ms", _LONG, "ms since 1970"),
    ("event", _STRING, "started, killed, detected, claimed, fenced, resolved, restarted, serialized, ..."),
    ("qmgr", _STRING, "manager that it happened to"),
    ("by", _STRING, "manager or program that did it"),
    ("detail", _STRING, "more, for people"),
)

#: losses.jsonl: structures that a run has lost; lost-STRUCTURE.jsonl is the journal of each up to its loss, as JOURNAL.
LOSSES = _table(
    ("structure", _STRING, "coupling-facility structure"),
    ("backup", _STRING, "last entry of its journal that the backup covers, MS-SEQ"),
)

#: One failure of a manager, a program or a connection, as the group remembers it.
RECOVERIES = _table(
    ("failed", _STRING, "QM.incarnation; a program adds .process, a connection .connection"),
    ("by", _STRING, "manager that recovers it, or has recovered it"),
    ("state", _STRING, "CLAIMED, FENCED, RESOLVING, DELAYED or RESOLVED"),
    ("detected", _TIME, "when the failure was noticed"),
    ("seconds", _DOUBLE, "from detection to the end of the recovery, or to its last report"),
    ("units_of_work", _LONG, "resolved so far"),
    ("messages", _LONG, "messages of these units of work"),
    ("claims", _INT, "number of recoverers that claimed it"),
)

#: One step of a recovery.
RECOVERY_PHASES = _table(
    ("failed", _STRING, "what failed"),
    ("phase", _STRING, "the event that ends the phase: lease ended, detected, claimed, fenced, resolving, resolved"),
    ("by", _STRING, "manager that did it"),
    ("at", _TIME, "when, by Redis' clock; in a run's timeline, by the machine's clock"),
    ("since_failure_ms", _LONG, "since the first known event of the failure"),
    ("took_ms", _LONG, "since the event before it"),
)

#: The messages of a dead-letter queue, with the fields of their dead-letter headers (MQDLH).
DEAD_LETTERS = _table(
    ("structure", _STRING, "coupling-facility structure that it is in"),
    ("position", _LONG, "place on the dead-letter queue"),
    ("message_id", _STRING, "key of the message in the structure"),
    ("reason", _INT, "reason code, MQRC or MQFB number; null without a dead-letter header"),
    ("why", _STRING, "the name of that number"),
    ("dest_queue", _STRING, "its destination queue"),
    ("dest_qmgr", _STRING, "manager of that queue"),
    ("source", _STRING, "program that put the message (PutApplName)"),
    ("by", _STRING, "program that put it on the dead-letter queue"),
    ("dead_at", _TIME, "when it was put on the dead-letter queue"),
    ("put_at", _TIME, "when the message was put"),
    ("msg_id", _BINARY, "MsgId"),
    ("correl_id", _BINARY, "CorrelId; null for none"),
    ("length", _LONG, "bytes of data, without the header"),
)

#: Dead letters by reason, destination and source.
DEAD_LETTER_SUMMARY = _table(
    ("reason", _INT, "reason code, MQRC or MQFB number; null without a dead-letter header"),
    ("why", _STRING, "the name of that number"),
    ("dest_queue", _STRING, "their destination queue"),
    ("dest_qmgr", _STRING, "manager of that queue"),
    ("source", _STRING, "program that put the messages (PutApplName)"),
    ("by", _STRING, "program that put them on the dead-letter queue"),
    ("messages", _LONG, "how many"),
    ("bytes", _LONG, "total bytes of data, without the headers"),
    ("oldest", _TIME, "when the first of them became a dead letter"),
    ("newest", _TIME, "when the last of them did"),
)

_MOVED_FROM = (
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("queue", _STRING, "queue that they left"),
    ("qmgr", _STRING, "manager whose programs or agent took them"),
    ("hop", _STRING, "how they left: delivery (a get), agent's hop, dead letter (its get), expired or cleared"),
    ("messages", _LONG, "how many"),
)
_STAYED = (
    (
        "p50_ms",
        _LONG,
        "milliseconds within which half of those with a known arrival left; null if no arrival is known",
    ),
    ("p90_ms", _LONG, "milliseconds within which 90 % of them left"),
    ("p99_ms", _LONG, "milliseconds within which 99 % of them left"),
    ("max_ms", _LONG, "milliseconds that the slowest of them stayed"),
)
_MINUTE = ("minute", _TIME, "beginning of the minute, by Redis' clock")

#: Messages that left each queue, and the time that they stayed on it.
FLOW_QUEUES = _table(
    *_MOVED_FROM,
    ("per_second", _DOUBLE, "messages a second, from the first that left to the last, over at least a second"),
    *_STAYED,
)

#: The same minute by minute. A minute in which no message left has no row.
FLOW_MINUTES = _table(_MINUTE, *_MOVED_FROM, *_STAYED)

#: Messages on each queue. A minute without a change of the queue has no row.
FLOW_DEPTH = _table(
    _MINUTE,
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("queue", _STRING, "queue"),
    ("arrived", _LONG, "messages that came to it in the minute"),
    ("dead_letters", _LONG, "number of these with a dead-letter header"),
    ("left", _LONG, "messages that left it in the minute"),
    ("depth", _LONG, "messages on it at the end of the minute"),
)

#: Batches that each agent took from the transmit queue. A minute in which no batch ended has no row.
FLOW_AGENTS = _table(
    _MINUTE,
    ("qmgr", _STRING, "manager whose agent it is"),
    ("batches", _LONG, "batches that it delivered in the minute"),
    ("messages", _LONG, "messages of these batches"),
    ("mean_batch", _DOUBLE, "average number of messages in a batch; null if there was no batch"),
    ("largest_batch", _LONG, "messages in the largest batch; null if there was no batch"),
    ("dead_letters", _LONG, "messages of these batches that the agent put on a dead-letter queue"),
    ("backed_out", _LONG, "batches that it could not deliver and tries again"),
    ("ended_by_peers", _LONG, "batches that a peer ended, because the agent had died"),
    (
        "took_ms",
        _LONG,
        "milliseconds from first get to end, of the slowest batch; null if one script moved each batch",
    ),
)

#: The events of the messages of one identifier, in order of time.
TRACE = _table(
    ("time", _TIME, "when, by Redis' clock"),
    ("event", _STRING, "put, get, transfer, expire, clear, return or undo"),
    ("outcome", _STRING, "done (outside a unit of work), committed, backed out, in doubt (prepared), or not ended"),
    ("qmgr", _STRING, "manager that the caller was connected to"),
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("queue", _STRING, "queue; for a transfer, the source"),
    ("target_queue", _STRING, "transfer: the queue it goes to"),
    ("msg_id", _STRING, "MsgId, hexadecimal"),
    ("correl_id", _STRING, "CorrelId, hexadecimal; null for none"),
    ("group_id", _STRING, "GroupId, hexadecimal; null for none"),
    ("msg_seq_number", _INT, "MsgSeqNumber, from 1"),
    ("owner", _STRING, "owner token of the caller: QM.incarnation.process.connection"),
    ("unit_of_work", _STRING, "its unit of work; null outside one"),
    ("message_id", _STRING, "key of the message in the structure"),
    ("recovered", _BOOL, "done, or its unit of work ended, by a peer on behalf of a dead owner"),
)

#: Units of work that peers ended: a row for each failed manager, recoverer, queue, kind of event and outcome.
RECOVERY_UNITS = _table(
    ("failed", _STRING, "manager whose programs had begun them"),
    ("by", _STRING, "manager that ended them"),
    ("outcome", _STRING, "committed or backed out"),
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("queue", _STRING, "queue"),
    ("event", _STRING, "their operation there: put or get"),
    ("units_of_work", _LONG, "how many; one that touched several queues counts for each"),
    ("messages", _LONG, "messages that they put or got there"),
    ("first", _TIME, "when the first of them was ended, by Redis' clock"),
    ("last", _TIME, "when the last of them was"),
)

#: Messages of these units of work, one row for each event.
RECOVERY_MESSAGES = _table(
    ("failed", _STRING, "manager whose program had put or got it"),
    ("by", _STRING, "manager that ended the unit of work"),
    ("outcome", _STRING, "committed or backed out"),
    ("structure", _STRING, "coupling-facility structure; @QM is the manager's own"),
    ("queue", _STRING, "queue"),
    ("event", _STRING, "put or get"),
    ("time", _TIME, "time of the put or get, by Redis' clock"),
    ("ended", _TIME, "when the unit of work was ended"),
    ("unit_of_work", _STRING, "the unit of work"),
    ("message_id", _STRING, "key of the message in the structure"),
    ("msg_id", _STRING, "MsgId, hexadecimal; null if its put is not in the journal"),
    ("correl_id", _STRING, "CorrelId, hexadecimal; null for none, or if its put is not in the journal"),
)

#: The message copies that an audit's verdict counts, by finding.
FINDINGS = _table(
    ("finding", _STRING, "name of the count in the verdict: lost, duplicated, ..., recovered, on_queue"),
    ("copy", _STRING, "the message: structure/message_id; for a run's copies, path and CorrelId"),
    ("queue", _STRING, "queue that it was last on; for a run's copies, the queue where it must arrive"),
    ("msg_id", _STRING, "MsgId, hexadecimal; null if its put is not known"),
    ("correl_id", _STRING, "CorrelId, hexadecimal; null for none"),
    ("why", _STRING, "the evidence"),
)

#: The messages of an archive, each with the run that archived it.
ARCHIVE = StructType(
    [
        *QUEUE.fields,
        *_table(
            ("run", _STRING, "run of the archive job: its time, UTC, and some characters that make it unique"),
            ("day", _STRING, "day on which the message was put, UTC; none if that is not known"),
        ).fields,
    ]
)

#: The messages that a replay has put, by archive run, queue and part.
REPLAYED = _table(
    ("run", _STRING, "run of the archive job that archived them"),
    ("queue", _STRING, "queue that they were on"),
    ("target", _STRING, "queue that they were put on"),
    ("part", _INT, "number of the part of that run's messages of that queue, from 1"),
    ("messages", _LONG, "how many"),
    ("done", _STRING, "replayed, or there already: an earlier replay had put them"),
)

#: How many messages of one queue were archived, removed or replayed.
DONE = _table(
    ("queue", _STRING, "queue; for a replay, the queue that they were put on"),
    ("done", _STRING, "archived, removed, replayed, or there already"),
    ("messages", _LONG, "how many"),
)
