"""Jobs that write to queues: how what they prepare is named, what of it is in doubt, and its end.

A job's driver ends all that its tasks have prepared. One that was killed leaves it in doubt, and nobody can tell it
from one that is still at work. So who releases a job ends its *run* first: nothing more is prepared for that. Then each
unit of work is backed out; the driver commits all of them by one decision, so it has done so before, or never will. A
streaming query has no run: it puts the batch anew when it is started again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from igq.pipeline.claims.release import connect_to, end_everywhere
from igq.pipeline.claims.summary import LeftInDoubt, summed_up
from igq.pipeline.errors import PipelineError
from sharedq.api import group_for
from sharedq.calls.unit.in_doubt import Batch, PreparedUnit, latest_batch, prepared_units
from sharedq.members.group import Group
from sharedq.settings.values import Settings

#: How external ids of what is put begin: this; the job, or none, and its run, or the query and its batch; a slash each.
SINK_PREFIX = "igq.spark/"
#: For how long it is remembered that a run is over: longer than any of its tasks can outlive it.
_RUN_KEPT_S = 7 * 24 * 3600


def runs_of(job: str, run: str) -> str:
    """The series of batches that the runs of a job are; of one without a name, *run* is the only one."""
    return f"runs/{job}" if job else f"run/{run}"


def run_batch(series: str, number: int) -> Batch:
    """What the units of work of a run belong to: once it is decided, the run is over, and those before it."""
    return Batch(series, number, kept_s=_RUN_KEPT_S)


def next_run(group: Group, series: str) -> Batch:
    """The first run that is not over, whether it has begun or not. Raises MQIError: 2009, Redis cannot be reached."""
    latest = latest_batch(group, series)
    return run_batch(series, 0 if latest is None else latest + 1)


def jobs_in(settings: Settings) -> list[LeftInDoubt]:
    """What jobs have prepared and not committed now, those at work among them, by job and manager.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    return summed_up((name.job, unit) for name, unit in _units(group_for(settings)))


def release_job(settings: Settings, job: str) -> int:
    """Back out what a job has prepared; how many messages that were. Killed in between, it can be repeated.

    Should its driver live, the job fails.

    Raises:
        PipelineError: there is nothing of it.
        MQIError: 2059 no manager of the group is running; 2009 unknown, repeat it.
    """
    group = group_for(settings)
    found = [name for name, _ in _units(group) if name.job == job]
    if not found:
        raise PipelineError(
            f"job {job}: nothing that it has put is in doubt in {group.name}; igq pipeline claims lists jobs"
        )
    with connect_to(settings, group.name) as connection:
        for series in sorted({name.series for name in found if name.series}):
            connection.commit_prepared_together((), next_run(group, series))
    # Only now: nothing is added to them any more.
    return sum(end_everywhere(settings, prefix) for prefix in sorted({name.prefix for name in found}))


@dataclass(frozen=True, slots=True)
class _Name:
    """What an external id tells: the job, the series of its runs (of a query ""), and how all of this job's begin."""

    job: str
    series: str
    prefix: str

    @classmethod
    def of(cls, text: str) -> _Name:
        job, run, *_ = text.removeprefix(SINK_PREFIX).split("/")
        prefix = f"{SINK_PREFIX}{job}/" if job else f"{SINK_PREFIX}/{run}/"
        return cls(job or run, runs_of(job, run) if len(run) == _RUN_LENGTH else "", prefix)


#: Of a UUID; a query is followed by the number of its batch, which is shorter.
_RUN_LENGTH = 32


def _units(group: Group) -> Iterator[tuple[_Name, PreparedUnit]]:
    for unit in prepared_units(group):
        text = unit.xid.decode("latin-1")
        if text.startswith(SINK_PREFIX) and unit.outcome is None:
            yield _Name.of(text), unit
