"""The trace job: everything that happened to the messages of an identifier, or to a single one, at every manager."""

from __future__ import annotations

from igq.pipeline.engine.frames import Column, DataFrame, F, as_table
from igq.pipeline.history.lives import message_events, unit_ends, with_outcome, with_place
from igq.pipeline.schemas import TRACE

#: Columns that identify a message on its way; hexadecimal, as in the journal.
IDENTIFIERS = ("msg_id", "correl_id", "group_id")
_MESSAGE = ["structure", "message_number"]


def trace(journal: DataFrame, column: str, identifier: str) -> DataFrame:
    """The events of the messages that were put with an identifier, in order of time, with their ``outcome``."""
    puts = journal.where(F.col("event") == "put")
    return events_of(journal, travelled(puts, puts.where(F.col(column) == identifier)))


def trace_message(journal: DataFrame, structure: str, message_id: str) -> DataFrame:
    """The events of one message, which a finding of the audit names, and of the messages that carried it further.

    Its put need not be in the journal.
    """
    puts = journal.where(F.col("event") == "put")
    itself = journal.where((F.col("structure") == structure) & (F.col("message_id") == message_id))
    found = travelled(puts, itself.where(F.col("msg_id").isNotNull()))
    without_put = (
        itself.groupBy(*_MESSAGE)
        .agg(*(F.max(name).alias(name) for name in (*IDENTIFIERS, "msg_seq_number")))
        .where("msg_id IS NULL")
    )
    return events_of(journal, found.unionByName(without_put))


def events_of(journal: DataFrame, found: DataFrame) -> DataFrame:
    """The events of the messages *found*, in order of time, each with its ``outcome``."""
    return (
        told(journal)
        .join(F.broadcast(found), _MESSAGE)
        .orderBy("at.ms", "structure", "at.seq", "position")
        .withColumn("recovered", F.col("is_recovered"))
        .transform(as_table, TRACE)
    )


def travelled(puts: DataFrame, chosen: DataFrame) -> DataFrame:
    """The messages of the chosen puts, and the messages that carried them further, which have the same MsgId."""
    same = chosen.select("msg_id").distinct()
    return puts.join(F.broadcast(same), "msg_id", "left_semi").select(
        *_MESSAGE,
        *IDENTIFIERS,
        "msg_seq_number",
    )


def told(journal: DataFrame) -> DataFrame:
    """Events of messages with their ``outcome``, without identifiers: only puts have them."""
    events = with_place(journal)
    outcomes = with_outcome(message_events(events), unit_ends(events))
    return outcomes.withColumn("outcome", outcome()).drop(*IDENTIFIERS, "msg_seq_number")


def outcome() -> Column:
    """The outcome of an event: done (outside a unit of work), committed, backed out, in doubt or not ended."""
    return (
        F.when(F.col("unit_of_work").isNull(), "done")
        .when(F.col("is_in_doubt"), "in doubt")
        .when(F.col("is_open"), "not ended")
        .when(F.col("done_at").isNotNull(), "committed")
        .otherwise("backed out")
    )
