"""A structure that was lost and recovered from its backup, in the journal of a run that kept what it had until then.

Such a structure has two lives. Messages that were on its queues when the backup ended are there again in the second
life, also if they were got in between. Messages that were put after the backup are lost with the first life, unless
they were got before the loss. A backup promises no more, so these are no faults. This module tells the difference.

The first life counts as a structure of its own (``former_name``). A message that came back from the backup begins, in
the second life, with its put in the first one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from igq.pipeline.engine.frames import Column, DataFrame, F, settled
from igq.pipeline.history.lives import message_lives, with_place

#: The effects of a loss on a copy.
LOST = "lost with its structure: put after the backup"
AGAIN = "got again: got after the backup"
UNDECIDED = "lost with its structure: by a commit of unknown outcome"

_MESSAGE = ["structure", "message_number"]


@dataclass(frozen=True, slots=True)
class LostStructure:
    """A structure that was lost.

    Attributes:
        backup: the journal entry that the backup goes up to: milliseconds, sequence number.
        events: its journal until it was lost, a table as ``igq.pipeline.schemas.JOURNAL``.
    """

    structure: str
    backup: tuple[int, int]
    events: DataFrame


def former_name(structure: str) -> str:
    """The name of a structure's first life."""
    return f"{structure} (lost)"


def is_former(structure: str) -> bool:
    """Whether that is the name of a first life."""
    return structure.endswith(former_name(""))


def with_first_lives(journal: DataFrame, losses: Sequence[LostStructure]) -> DataFrame:
    """The journal with the journals of lost structures, and with the puts of messages that came back from backups."""
    for loss in losses:
        former = loss.events.withColumn("structure", F.lit(former_name(loss.structure)))
        journal = journal.unionByName(former).unionByName(restored_puts(loss))
    # Otherwise its plan would be repeated in the plan of every table made from it.
    return settled(journal) if losses else journal


def restored_puts(loss: LostStructure) -> DataFrame:
    """The puts of the messages that were on the queues of *loss* when its backup ended, as committed puts."""
    held = message_lives(loss.events).where(_was("available_at", loss) & ~_was("delivered_at", loss))
    # Messages of a unit that was backed out are on the queue again. They cannot be told apart here; they are rare.
    ended = with_place(loss.events).where(F.col("event").isin("expire", "clear") & _was("at", loss))
    held = held.join(ended.select("message_number"), "message_number", "left_anti")
    puts = loss.events.where(F.col("event") == "put").withColumn("unit_of_work", F.lit(None).cast("string"))
    return puts.join(held.select("message_number"), "message_number", "left_semi").select(*loss.events.columns)


def with_promises(lives: DataFrame, losses: Sequence[LostStructure]) -> DataFrame:
    """Lives as they count for their copies, with ``promised_because``, ``first_gets`` and ``doubled``.

    A first life that went on in the second counts there: it has ``first_gets``, and no ``gets``. ``doubled`` is 1 where
    there were several of them. A first life that did not go on is over.
    """
    plain = lives.withColumns(
        {"promised_because": F.lit(None).cast("string"), "first_gets": F.lit(0), "doubled": F.lit(0)}
    )
    if not losses:
        return plain
    former = F.col("structure").isin([former_name(loss.structure) for loss in losses])
    is_over = F.col("went_on").isNull()
    was_got, is_left = F.col("gets") > 0, F.col("is_committed") & (F.col("gets") == 0) & (F.col("expiries") == 0)
    first = (
        plain.where(former)
        .join(_went_on(plain, losses), [*_MESSAGE, "put_at"], "left")
        .withColumns(
            {
                "promised_because": F.when(is_over & is_left, LOST)
                .when(is_over & F.col("is_put_open"), UNDECIDED)
                .when(~is_over & was_got, AGAIN),
                "first_gets": F.when(is_over, 0).otherwise(F.col("gets")).cast("int"),
                "doubled": F.when(~is_over & (F.col("gets") > 1), 1).otherwise(0),
                "gets": F.when(is_over, F.col("gets")).otherwise(0),
                "is_committed": is_over & F.col("is_committed"),
                "is_on_queue": F.lit(False),
                # Units of work went with the structure.
                **{name: F.when(F.col("is_put_open"), F.col(name)) for name in ("open_because", "doubt_because")},
            }
        )
        .drop("went_on")
    )
    return plain.where(~former).unionByName(first)


def queues_of(losses: Sequence[LostStructure]) -> Collection[str]:
    """Queues that were lost with their structures: a handful."""
    found: set[str] = set()
    for loss in losses:
        rows = loss.events.where(F.col("queue").isNotNull()).select("queue").distinct().collect()
        found |= {row["queue"] for row in rows}
    return found


def _went_on(lives: DataFrame, losses: Sequence[LostStructure]) -> DataFrame:
    """First lives that went on: a second one begins with the same put (see `restored_puts`)."""
    second = lives.where(F.col("structure").isin([loss.structure for loss in losses]) & F.col("put_at").isNotNull())
    name = F.concat("structure", F.lit(former_name(""))).alias("structure")
    return second.select(name, "message_number", "put_at", F.lit(True).alias("went_on"))


def _was(moment: str, loss: LostStructure) -> Column:
    """Whether *moment* was before the end of the backup."""
    ms, seq = (F.col(f"{moment}.{part}") for part in ("ms", "seq"))
    last_ms, last_seq = loss.backup
    return F.coalesce((ms < last_ms) | ((ms == last_ms) & (seq <= last_seq)), F.lit(False))
