"""Jobs that write to queues: the names of their prepared units of work, those in doubt, and their release.

A job's driver ends all units that its tasks have prepared. A killed driver leaves them in doubt, and looks like a
driver that is still at work. Therefore a release first ends the job's *run*, after which no unit can be prepared for
it, and then backs each unit out. The driver commits all units by one decision, so it has done that before, or never
will. A streaming query has no run: it puts its batch again when it is started again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from igq.pipeline.claims.members import connect_to
from igq.pipeline.claims.release import LeftInDoubt, end_everywhere, summed_up
from igq.pipeline.errors import PipelineError
from sharedq.api import group_for
from sharedq.calls.unit.in_doubt import PreparedUnit, UnitBatch, latest_batch, prepared_units
from sharedq.members.group import Group
from sharedq.settings.values import Settings

#: Prefix of a job's external ids. The job (or "") and its run follow, or the query and its batch, each with "/".
SINK_PREFIX = "igq.spark/"
#: How long the group remembers that a run is over: longer than any of its tasks can outlive it.
_RUN_KEPT_S = 7 * 24 * 3600


def runs_of(job: str, run: str) -> str:
    """The series of batches for the runs of a job. A job without a name has only the run *run*."""
    return f"runs/{job}" if job else f"run/{run}"


def run_batch(series: str, number: int) -> UnitBatch:
    """The batch of a run's units of work. After it is decided, this run and all before it are over."""
    return UnitBatch(series, number, kept_s=_RUN_KEPT_S)


def next_run(group: Group, series: str) -> UnitBatch:
    """The first run that is not over, begun or not. Raises MQIError: 2009, Redis cannot be reached."""
    latest = latest_batch(group, series)
    return run_batch(series, 0 if latest is None else latest + 1)


def jobs_in(settings: Settings) -> list[LeftInDoubt]:
    """The messages that jobs have prepared and not committed, by job and manager. Jobs at work are among them.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    return summed_up((name.job, unit) for name, unit in _units(group_for(settings)))


def release_job(settings: Settings, job: str) -> int:
    """Back out a job's prepared units and return the number of messages. A killed release can be repeated.

    If the job's driver is alive, the job fails.

    Raises:
        PipelineError: the job has no prepared units.
        MQIError: 2059 no manager of the group is running; 2009 unknown, repeat it.
    """
    group = group_for(settings)
    found = [name for name, _ in _units(group) if name.job == job]
    if not found:
        raise PipelineError(f"job {job}: it has no messages in doubt in {group.name}; igq pipeline claims lists jobs")
    with connect_to(settings, group.name) as connection:
        for series in sorted({name.series for name in found if name.series}):
            connection.commit_prepared_together((), next_run(group, series))
    # The run is over, so no unit is added to them any more.
    return sum(end_everywhere(settings, prefix) for prefix in sorted({name.prefix for name in found}))


@dataclass(frozen=True, slots=True)
class _Name:
    """The parts of an external id: the job, the series of its runs ("" for a query), the prefix of the job's ids."""

    job: str
    series: str
    prefix: str

    @classmethod
    def of(cls, text: str) -> _Name:
        job, run, *_ = text.removeprefix(SINK_PREFIX).split("/")
        prefix = f"{SINK_PREFIX}{job}/" if job else f"{SINK_PREFIX}/{run}/"
        return cls(job or run, runs_of(job, run) if len(run) == _RUN_LENGTH else "", prefix)


#: The length of a run's name, a UUID. A query is followed by the number of its batch, which is shorter.
_RUN_LENGTH = 32


def _units(group: Group) -> Iterator[tuple[_Name, PreparedUnit]]:
    for unit in prepared_units(group):
        text = unit.xid.decode("latin-1")
        if text.startswith(SINK_PREFIX) and unit.outcome is None:
            yield _Name.of(text), unit
