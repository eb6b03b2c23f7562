"""Makes copies of message lives, each with its findings: delivered, lost, duplicated, unexpected, unknown.

A copy must arrive once. Without records a copy is a message of the journal. With the records of a run it is a demand of
an input row, identified by path and CorrelId; the journal may have any number of messages for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from igq.pipeline.audit.records import RunRecords
from igq.pipeline.engine.frames import Column, DataFrame, F
from igq.pipeline.history.lives import milliseconds
from igq.pipeline.history.lost_structures import AGAIN, LOST, UNDECIDED, queues_of, with_promises
from igq.pipeline.history.order import late_in_records

#: The reason of a lost message without a run.
GONE = "put and committed, never got, and no longer on a queue"
#: The reason of a message that is on a queue.
ON_QUEUE = "on a queue at the end"
#: The reason of a delivery that only the journal has.
UNRECORDED = "got and committed according to the journal, but in no program's record"
_COPY = ["correl", "path"]


def with_journal_findings(
    lives: DataFrame, first_numbers: Mapping[str, int], missing: DataFrame | None = None
) -> DataFrame:
    """Add the findings that need the journal only: ``is_on_queue`` (not for dead letters), ``is_missing``,
    ``open_because``, ``doubt_because``, ``dead_because`` and ``is_odd_because``.

    Args:
        first_numbers: structure -> the first message whose put its journal has.
        missing: messages (``structure``, ``message_number``) that should be on a queue and are not; None for none.
    """
    if missing is None:
        lives = lives.withColumn("was_missing", F.lit(False))
    else:
        gone = missing.select("structure", "message_number", F.lit(True).alias("was_missing"))
        lives = lives.join(gone, ["structure", "message_number"], "left").fillna(False, ["was_missing"])
    is_left = F.col("is_committed") & (F.col("gets") == 0) & (F.col("expiries") == 0)
    was_got, was_put = F.col("gets") > 0, F.col("put_at").isNotNull()
    # A message older than the journal's first put was put before the journal begins.
    is_young = F.lit(False)
    for structure, number in first_numbers.items():
        is_young = is_young | ((F.col("structure") == structure) & (F.col("message_number") > number))
    return (
        lives.withColumn("is_missing", is_left & F.col("was_missing"))
        .withColumn(
            "is_on_queue",
            is_left & ~F.col("was_missing") & (F.col("open_gets") == 0) & ~F.col("is_dead_letter"),
        )
        .withColumn("dead_because", _dead_because())
        .withColumns(_unended_because(is_left & ~F.col("was_missing")))
        .withColumn(
            "is_odd_because",
            F.when(was_got & ~was_put & is_young, "got but never put")
            .when(was_got & was_put & ~F.col("is_committed"), "got, its put not committed")
            .when(F.col("delivered_at") < F.col("available_at"), "got before its put was committed"),
        )
        .drop("was_missing")
    )


def _unended_because(is_left: Column) -> dict[str, Column]:
    """The reason if a unit of work that has not ended, open or in doubt, has put or got the message."""
    did = F.when(F.col("is_put_open"), "put").when(is_left & (F.col("open_gets") > 0), "got")
    by = F.concat(did, F.lit(" by unit of work "), F.col("open_unit"))
    return {
        "open_because": F.when(~F.col("is_in_doubt"), F.concat(by, F.lit(", which has not ended"))),
        "doubt_because": F.when(F.col("is_in_doubt"), F.concat(by, F.lit(", which is in doubt"))),
    }


def _dead_because() -> Column:
    """The fate of a message that was put with a dead-letter header."""
    ends = (
        F.when(F.col("gets") > 0, "taken off ")
        .when(F.col("clears") > 0, "cleared from ")
        .when(F.col("expiries") > 0, "expired on ")
        .otherwise("on ")
    )
    is_there = F.col("is_dead_letter") & F.col("is_committed") & ~F.col("is_missing")
    return F.when(is_there, F.concat(F.lit("dead letter, "), ends, "queue"))


def copies_of_journal(lives: DataFrame, out_of_sequence: DataFrame) -> DataFrame:
    """Copies without a run's records: each message that the journal can judge is one."""
    late = out_of_sequence.groupBy("structure", "message_number").agg(F.min("why").alias("late_because"))
    ends = F.col("gets") + F.col("expiries")
    return (
        lives.join(late, ["structure", "message_number"], "left")
        .where(F.col("put_at").isNotNull() | F.col("is_odd_because").isNotNull())
        .select(
            *("structure", "message_number", "queue", "msg_id", "correl_id"),
            F.concat_ws("/", "structure", "message_id").alias("copy"),
            "path",
            F.lit(False).alias("is_expected"),
            F.col("is_committed").alias("is_sent"),
            (F.col("is_committed") & (F.col("gets") > 0) & ~F.col("is_dead_letter")).alias("is_delivered"),
            "dead_because",
            F.when(F.col("is_missing"), GONE).alias("lost_because"),
            F.when(ends > 1, F.concat(F.lit("ended "), ends, F.lit(" times"))).alias("double_because"),
            F.col("is_odd_because").alias("odd_because"),
            "late_because",
            *(
                F.lit(None).cast("string").alias(f"{name}_because")
                for name in ("unknown", "unrecorded", "gone", "again")
            ),
            "is_recovered",
            "is_on_queue",
            (F.col("expiries") > F.col("clears")).alias("is_expired"),
            (F.col("clears") > 0).alias("is_cleared"),
            *("open_because", "doubt_because"),
            "backouts",
            milliseconds("available_at").alias("available_ms"),
            milliseconds("delivered_at").alias("delivered_ms"),
        )
    )


def relevant_lives(lives: DataFrame, expected: DataFrame) -> DataFrame:
    """The lives of a run: on a queue that it delivers to, or with a CorrelId that it sent."""
    queues = expected.select("queue").distinct().withColumn("is_run_queue", F.lit(True))
    correls = expected.select(F.col("correl").alias("correl_id")).distinct().withColumn("is_run_correl", F.lit(True))
    return (
        lives.join(F.broadcast(queues), "queue", "left")
        .join(correls, "correl_id", "left")
        .where(F.col("is_run_queue") | F.col("is_run_correl"))
        .drop("is_run_queue", "is_run_correl")
    )


def copies_of_run(lives: DataFrame, out_of_sequence: DataFrame, records: RunRecords) -> DataFrame:
    """Copies of a run: the input rows' demands with the facts of the journal and of both sides' programs."""
    expected, lives = expected_copies(records.expected), with_promises(lives, records.losses)
    # A consumer's record does not tell the two lives of a structure apart; its journals do, and have the order.
    ordered = records.received.where(~F.col("queue").isin([*queues_of(records.losses)]))
    joined = (
        expected.join(journal_copies(lives, out_of_sequence), _COPY, "full")
        .join(sent_copies(records.sent), _COPY, "full")
        .join(received_copies(records.received, expected), _COPY, "full")
        .join(late_copies(ordered), _COPY, "left")
        .fillna(0, ["stored", "deliveries", "left", "missing", "expired", "cleared", "open_puts", "backouts"])
        .fillna(0, ["first_gets", "doubled"])
        .fillna(0, ["sent_ok", "sent_unknown", "received_ok", "received_unknown"])
        .fillna(False, ["is_expected", "is_recovered"])
    )
    return judge(joined)


def expected_copies(expected: DataFrame) -> DataFrame:
    """The copies that must arrive, with their queues and managers."""
    return expected.groupBy(*_COPY).agg(
        F.lit(True).alias("is_expected"),
        F.min("queue").alias("expected_queue"),
        F.min(F.nullif("target", F.lit(""))).alias("expected_qmgr"),
        F.min("seq").alias("expected_seq"),
        F.min(F.lower("group")).alias("expected_group"),
    )


def journal_copies(lives: DataFrame, out_of_sequence: DataFrame) -> DataFrame:
    """The facts of the journal about each copy."""
    late = out_of_sequence.groupBy("structure", "message_number").agg(F.min("why").alias("late"))
    name, is_dead = F.coalesce("correl_id", F.concat_ws("/", "structure", "message_id")), F.col("is_dead_letter")
    return (
        lives.join(late, ["structure", "message_number"], "left")
        .groupBy(name.alias("correl"), "path")
        .agg(
            F.count_if(F.col("is_committed") & ~is_dead).alias("stored"),
            F.sum(F.when(~is_dead, F.col("gets"))).alias("deliveries"),
            F.max("dead_because").alias("dead_because"),
            F.min("msg_id").alias("msg_id"),
            F.min("correl_id").alias("correl_id"),
            F.count_if("is_on_queue").alias("left"),
            F.count_if("is_missing").alias("missing"),
            F.sum(F.col("expiries") - F.col("clears")).alias("expired"),
            F.sum("clears").alias("cleared"),
            F.count_if("is_put_open").alias("open_puts"),
            *(F.min(because).alias(because) for because in ("open_because", "doubt_because")),
            F.sum("first_gets").alias("first_gets"),
            F.sum("doubled").alias("doubled"),
            F.max("promised_because").alias("promised_because"),
            F.sum("backouts").alias("backouts"),
            F.max("is_recovered").alias("is_recovered"),
            F.min("is_odd_because").alias("is_odd_because"),
            F.min("late").alias("late_in_journal"),
            F.min(F.when(~is_dead, F.col("get_queue"))).alias("first_queue"),
            F.max(F.when(~is_dead, F.col("get_queue"))).alias("last_queue"),
            F.min(milliseconds("available_at")).alias("available_ms"),
            F.min(F.when(~is_dead, milliseconds("delivered_at"))).alias("delivered_ms"),
        )
    )


def sent_copies(sent: DataFrame) -> DataFrame:
    """The records of the putting programs about each copy."""
    return sent.groupBy(*_COPY).agg(
        F.count_if(F.col("outcome") == "ok").alias("sent_ok"),
        F.count_if(F.col("outcome") == "unknown").alias("sent_unknown"),
    )


def received_copies(received: DataFrame, expected: DataFrame) -> DataFrame:
    """The records of the getting programs about each copy, and the first deviation from the demand."""
    is_ok = F.col("outcome") == "ok"
    wrong = (
        F.when(F.col("queue") != F.col("expected_queue"), "received from another queue")
        .when(F.col("qmgr") != F.col("expected_qmgr"), "received at another manager")
        .when(
            F.lower(F.coalesce("group", F.lit(""))) != F.coalesce("expected_group", F.lit("")),
            "received in another group",
        )
        .when(F.col("seq") != F.col("expected_seq"), "received with another sequence number")
    )
    return (
        received.join(expected, _COPY, "left")
        .groupBy(*_COPY)
        .agg(
            F.count_if(is_ok).alias("received_ok"),
            F.count_if(F.col("outcome") == "unknown").alias("received_unknown"),
            F.min(F.when(is_ok & F.col("is_expected"), wrong)).alias("wrong_because"),
        )
    )


def late_copies(received: DataFrame) -> DataFrame:
    """Copies that are out of sequence in a consumer's own record."""
    return late_in_records(received).groupBy(*_COPY).agg(F.min("why").alias("late_in_records"))


def judge(joined: DataFrame) -> DataFrame:
    """The findings of each copy of a run. A delivery has two witnesses, journal and consumer: one is enough."""
    is_expected = F.col("is_expected")
    is_promised = F.coalesce(F.col("promised_because").isin(LOST, UNDECIDED), F.lit(False))
    is_recorded = F.col("received_ok") + F.col("received_unknown") > 0
    # A message that came back must be got in its second life, also if it was got in the first.
    received_ok = F.greatest(F.col("received_ok") - F.col("first_gets"), F.lit(0))
    seen = (
        joined.withColumn("is_recorded", is_recorded)
        .withColumn("received_ok", received_ok)
        .withColumn("times", F.greatest("deliveries", "received_ok"))
    )
    return seen.withColumn("promised_because", _promised_because()).select(
        F.concat_ws(" ", "path", "correl").alias("copy"),
        *("path", "msg_id", "dead_because"),
        F.coalesce("expected_queue", "last_queue").alias("queue"),
        F.coalesce("correl_id", F.when(is_expected, F.col("correl"))).alias("correl_id"),
        "is_expected",
        (is_expected & ((F.col("sent_ok") > 0) | (F.col("stored") > 0))).alias("is_sent"),
        (is_expected & (F.col("times") > 0)).alias("is_delivered"),
        F.when(is_expected & (F.col("times") == 0) & ~is_promised, _lost_because()).alias("lost_because"),
        F.when(is_expected & (F.col("times") > 1), F.concat(F.lit("delivered "), "times", F.lit(" times")))
        .when(is_expected & (F.col("doubled") > 0), "delivered several times before its structure was lost")
        .alias("double_because"),
        _odd_because().alias("odd_because"),
        F.coalesce("late_in_journal", "late_in_records").alias("late_because"),
        _unknown_because().alias("unknown_because"),
        F.when(is_expected & (F.col("deliveries") > 0) & ~F.col("is_recorded"), UNRECORDED).alias("unrecorded_because"),
        F.when(is_promised, F.col("promised_because")).alias("gone_because"),
        F.when(F.col("promised_because") == AGAIN, AGAIN).alias("again_because"),
        "is_recovered",
        (F.col("left") > 0).alias("is_on_queue"),
        (F.col("expired") > 0).alias("is_expired"),
        (F.col("cleared") > 0).alias("is_cleared"),
        *(
            F.when(F.col("promised_because").isNull(), F.col(because)).alias(because)
            for because in ("open_because", "doubt_because")
        ),
        "backouts",
        "available_ms",
        "delivered_ms",
    )


def _lost_because() -> Column:
    return (
        F.when(F.col("missing") > 0, GONE)
        .when(F.col("left") > 0, "still on a queue at the end")
        .when(F.col("dead_because").isNotNull(), F.col("dead_because"))
        .when(F.col("expired") > 0, "expired")
        .when(F.col("cleared") > 0, "cleared by an operator")
        .when(F.col("open_puts") > 0, "put, its unit of work never ended")
        .when(F.coalesce("open_because", "doubt_because").isNotNull(), "got, that unit of work never ended")
        .when(F.col("sent_ok") > 0, "its put was acknowledged, and the journal does not have it")
        .otherwise("never put")
    )


def _promised_because() -> Column:
    """Why a copy differs from a normal one after its structure was lost, within the promise of its backup."""
    promise, is_gone = F.col("promised_because"), F.col("times") == 0
    # Its program may have learned of the commit later, from the unit's effects in other structures.
    put_unknown = (F.col("sent_unknown") > 0) & (F.col("stored") == 0)
    return (
        F.when(promise == AGAIN, promise)
        .when((promise == LOST) & is_gone, promise)
        .when((promise == UNDECIDED) & is_gone & put_unknown, promise)
    )


def _odd_because() -> Column:
    has_journal = F.col("stored") > 0
    return (
        F.when(~F.col("is_expected"), "no input row asks for it")
        .when(F.col("is_odd_because").isNotNull(), F.col("is_odd_because"))
        .when(F.col("stored") > F.greatest(F.col("times"), F.lit(1)), "put more than once")
        .when(
            has_journal & (F.col("received_ok") > F.col("deliveries")),
            "its get was acknowledged, the journal has none",
        )
        .when(F.col("first_queue") != F.col("expected_queue"), "got from another queue")
        .when(F.col("last_queue") != F.col("expected_queue"), "got from another queue")
        .otherwise(F.col("wrong_because"))
    )


def _unknown_because() -> Column:
    """The outcome in the journal of a call whose outcome a program could not know."""
    put_unknown = (F.col("sent_unknown") > 0) & (F.col("sent_ok") == 0)
    return (
        F.when(put_unknown & (F.col("stored") > 0), "put: it was stored")
        .when(put_unknown, "put: it was not stored")
        .when(
            (F.col("received_unknown") > 0) & (F.col("deliveries") > F.col("received_ok")),
            "get: it was committed",
        )
        .when(F.col("received_unknown") > 0, "get: it was backed out")
    )
