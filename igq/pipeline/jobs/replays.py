"""What a replay puts once, as the group remembers it. Without Spark, so that it can be asked before that starts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from sharedq.api import connect, group_for
from sharedq.calls.unit.in_doubt import Batch, latest_batch
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from igq.pipeline.history.time_range import Moments

#: Of the time in which messages were put.
ALWAYS: Moments = (None, None)
#: Ranges have numbers of so many hexadecimal digits, which are exact in Lua.
_DIGITS = 13
_RANGES = 16**_DIGITS


def job_of(
    archive: Archive, run: str, queue: str, target: str, again: str, put: Moments = ALWAYS, part: int | None = None
) -> str:
    """The name under which messages of a run and queue are put on *target* once.

    Args:
        again: makes it another one.
        put: those that were put in this time. One range only has the name *again*: see `claim_name`.
        part: from 1; None where there is one only.
    """
    names = [archive.id, run, queue, target, again]
    if put != ALWAYS:
        names.append(_text(put))
    if part is not None:
        names.append(f"part {part}")
    return hashlib.sha1("\n".join(names).encode(), usedforsecurity=False).hexdigest()


def is_done(settings: Settings, job: str) -> bool:
    """Whether what has that name was put. Raises MQIError: 2009, Redis cannot be reached."""
    # Such a series as the sink of format("igq") has for a jobId.
    return latest_batch(group_for(settings), f"job/{job}") is not None


def claim_name(settings: Settings, qmgr: str, archive: Archive, again: str, put: Moments) -> None:
    """Have the name *again* stand for one time range of an archive, for ever: under it no message is put twice then.

    Args:
        qmgr: a manager that runs; none: any.

    Raises:
        PipelineError: it stands for another one.
        MQIError: no manager runs, or Redis cannot be reached.
    """
    group = group_for(settings)
    name = hashlib.sha1(f"{archive.id}\n{again}".encode(), usedforsecurity=False).hexdigest()
    series, range_ = f"replay/{name}", _number(put)
    latest = latest_batch(group, series)
    if latest is None:
        # A series keeps its largest number. One range at most is both the largest and the smallest that was asked for,
        # and who was killed between these steps repeats them.
        asked = Batch(f"{series}/largest", range_), Batch(f"{series}/smallest", _RANGES - range_)
        if latest_batch(group, asked[0].series) in (None, range_):
            with connect(qmgr or group.name, settings=settings, appl_name="igq pipeline") as connection:
                for each in asked:
                    connection.commit_prepared_together((), each)
                if all(latest_batch(group, each.series) == each.number for each in asked):
                    connection.commit_prepared_together((), Batch(series, range_))
        latest = latest_batch(group, series)
    if latest != range_:
        raise PipelineError(
            f"--again {again}: that name was taken with other --from and --to, or with none, and stands for that time"
            " for ever; say it with those again, or another name"
        )


def _number(put: Moments) -> int:
    """What tells a range from others, as the number of a batch: from 0, less than `_RANGES`."""
    if put == ALWAYS:
        return 0
    return int(hashlib.sha1(_text(put).encode(), usedforsecurity=False).hexdigest()[:_DIGITS], 16)


def _text(put: Moments) -> str:
    return "/".join("" if moment is None else str(moment) for moment in put)
