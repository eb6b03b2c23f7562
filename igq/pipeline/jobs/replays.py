"""The replays that the group remembers. This module needs no Spark, so that a command can ask before Spark starts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from sharedq.api import connect, group_for
from sharedq.calls.unit.in_doubt import UnitBatch, latest_batch
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from igq.pipeline.history.time_range import Moments

#: The time range of a replay without --from and --to.
ALWAYS: Moments = (None, None)
#: A range's number has so many hexadecimal digits. Such numbers are exact in Lua.
_DIGITS = 13
_RANGES = 16**_DIGITS


def job_of(
    archive: Archive, run: str, queue: str, target: str, again: str, put: Moments = ALWAYS, part: int | None = None
) -> str:
    """The name of the job that puts messages of a run and queue on *target*, once.

    Args:
        again: another name makes another job.
        put: the job puts messages that were put in this time. A name *again* has one range only: see `claim_name`.
        part: number of the part, from 1; None if there is only one.
    """
    names = [archive.id, run, queue, target, again]
    if put != ALWAYS:
        names.append(_text(put))
    if part is not None:
        names.append(f"part {part}")
    return hashlib.sha1("\n".join(names).encode(), usedforsecurity=False).hexdigest()


def is_done(settings: Settings, job: str) -> bool:
    """Whether the job of that name has put its messages. Raises MQIError: 2009, Redis cannot be reached."""
    # The sink of format("igq") has this series for a jobId.
    return latest_batch(group_for(settings), f"job/{job}") is not None


def claim_name(settings: Settings, qmgr: str, archive: Archive, again: str, put: Moments) -> None:
    """Bind the name *again* to one time range of an archive, for ever. Then no message is put twice under that name.

    Args:
        qmgr: a manager that runs; "" for any.

    Raises:
        PipelineError: the name is bound to another range.
        MQIError: no manager runs, or Redis cannot be reached.
    """
    group = group_for(settings)
    name = hashlib.sha1(f"{archive.id}\n{again}".encode(), usedforsecurity=False).hexdigest()
    series, range_ = f"replay/{name}", _number(put)
    latest = latest_batch(group, series)
    if latest is None:
        # A series keeps its largest number. At most one range is both the largest and the smallest that was asked for.
        # A command that was killed between these steps repeats them.
        asked = UnitBatch(f"{series}/largest", range_), UnitBatch(f"{series}/smallest", _RANGES - range_)
        if latest_batch(group, asked[0].series) in (None, range_):
            with connect(qmgr or group.name, settings=settings, appl_name="igq pipeline") as connection:
                for each in asked:
                    connection.commit_prepared_together((), each)
                if all(latest_batch(group, each.series) == each.number for each in asked):
                    connection.commit_prepared_together((), UnitBatch(series, range_))
        latest = latest_batch(group, series)
    if latest != range_:
        raise PipelineError(
            f"--again {again}: that name was used with other --from and --to, or without them, and stays bound to that"
            " time; repeat those, or take another name"
        )


def _number(put: Moments) -> int:
    """The number that identifies a range, from 0, less than `_RANGES`: it serves as a batch's number."""
    if put == ALWAYS:
        return 0
    return int(hashlib.sha1(_text(put).encode(), usedforsecurity=False).hexdigest()[:_DIGITS], 16)


def _text(put: Moments) -> str:
    return "/".join("" if moment is None else str(moment) for moment in put)
