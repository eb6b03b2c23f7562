"""Lists streaming queries that have claimed messages, and releases a query that will not come back."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from igq.pipeline.claims.checkpoints import BegunBatch, processed_claims
from igq.pipeline.claims.claims import CLAIM_PREFIX, back_out, commit, tag_of, terms_of, xids_of
from igq.pipeline.claims.members import connect_to
from igq.pipeline.claims.summary import LeftInDoubt, summed_up
from igq.pipeline.errors import PipelineError
from sharedq.api import group_for
from sharedq.calls.handles.connect import is_tag_used
from sharedq.calls.unit.in_doubt import PreparedUnit, UnitBatch, latest_batch, prepared_units
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.settings.values import Settings


def claims_in(settings: Settings) -> list[LeftInDoubt]:
    """The messages that streaming queries of the group have claimed now, by query and manager.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    return summed_up(_claims_of(group_for(settings)))


def is_running(settings: Settings, stream: str) -> bool:
    """Whether a driver holds the query's name. It may have died and not been recovered yet."""
    return is_tag_used(group_for(settings), tag_of(stream))


@dataclass(frozen=True, slots=True)
class Released:
    """The numbers of claimed messages that were put back on their queue, and that were taken off it."""

    given_back: int
    committed: int


def release_stream(
    settings: Settings,
    stream: str,
    *,
    force: bool = False,
    checkpoint: Path | None = None,
    begun: BegunBatch = "",
) -> Released:
    """End a query for good, and put the messages that it has claimed back on their queues.

    First the query's term ends, so that it can claim nothing more if it comes back. A killed release can be repeated.

    Args:
        checkpoint: the query's checkpoint. Messages that Spark has noted there as processed are taken off the queues.
        begun: as for `processed_claims`; also about a batch that is noted as processed and that no task has read.

    Raises:
        PipelineError: there is no such query; a driver of it runs, without *force*; the checkpoint is not the query's;
            or *begun* must be given.
        MQIError: 2059 no manager of the group is running; 2009 unknown, repeat it.
    """
    group = group_for(settings)
    latest = latest_batch(group, terms_of(stream))
    is_at_work = is_running(settings, stream)
    if latest is None and not (force or is_at_work or _managers(group, stream)):
        raise PipelineError(f"stream {stream}: there is no such query in {group.name}; igq pipeline claims lists them")
    if is_at_work and not force:
        raise PipelineError(
            f"stream {stream}: a driver of it is running, or has died and is not recovered yet: stop it, or --force"
        )
    term = 0 if latest is None else latest + 1
    # Check the checkpoint before anything is changed. Read it again after the term has ended, when it is final.
    at_least = 0 if force else term
    _processed(group, checkpoint, stream, at_least, begun)
    with connect_to(settings, group.name) as connection:
        connection.commit_prepared_together((), UnitBatch(terms_of(stream), term))
    # The claims are final only now.
    done = _processed(group, checkpoint, stream, at_least, begun)
    prefix = f"{CLAIM_PREFIX}{stream}/"
    ended = [end_at(settings, group, qmgr, prefix, done) for qmgr in sorted(_managers(group, stream))]
    return Released(sum(each.given_back for each in ended), sum(each.committed for each in ended))


def _processed(group: Group, checkpoint: Path | None, stream: str, term: int, begun: BegunBatch) -> set[bytes]:
    """External ids of the claims that a checkpoint notes as processed and that a task has read."""
    if checkpoint is None:
        return set()
    claims = processed_claims(checkpoint, stream, term=term, begun=begun)
    done = {xid for each in claims for xid in xids_of(stream, each)}
    units = [unit for _, unit in _claims_of(group) if unit.xid in done]
    if begun == "done" or not (units and all(unit.is_unread for unit in units)):
        return done
    if begun == "undone":
        return set()
    raise PipelineError(
        f"checkpoint {checkpoint}: its last batch is noted as processed, but nothing has read it. A file sink passes"
        " over batches whose numbers its directory has from another checkpoint: then say --begun undone, else done"
    )


def _managers(group: Group, stream: str) -> set[str]:
    return {unit.qmgr for name, unit in _claims_of(group) if name == stream}


def end_at(settings: Settings, group: Group, qmgr: str, prefix: str, done: Set[bytes] = frozenset()) -> Released:
    """End the units in doubt at *qmgr* whose external ids begin with *prefix*: commit *done*, back out the others.

    Raises:
        MQIError: 2059 no manager of the group is running; 2009 unknown, may be repeated.
    """
    units = prepared_units(group, qmgr)
    try:
        connection = connect_to(settings, qmgr)
    except MQIError as error:
        if error.reason != MQRC.Q_MGR_NOT_AVAILABLE:
            raise
        # Any member may end the units of a manager that is down.
        connection = connect_to(settings, group.name)
    with connection:
        committed = commit(connection, (unit for unit in units if unit.xid in done))
        return Released(back_out(connection, units, prefix), committed)


def end_everywhere(settings: Settings, prefix: str) -> int:
    """Back out the units in doubt at any manager whose external ids begin with *prefix*; return their messages.

    Raises:
        MQIError: as for `end_at`.
    """
    group = group_for(settings)
    places = {unit.qmgr for unit in prepared_units(group) if unit.xid.startswith(prefix.encode())}
    return sum(end_at(settings, group, qmgr, prefix).given_back for qmgr in sorted(places))


def _claims_of(group: Group) -> Iterator[tuple[str, PreparedUnit]]:
    """Each claim in doubt, with the name of its query."""
    for unit in prepared_units(group):
        text = unit.xid.decode("latin-1")
        if text.startswith(CLAIM_PREFIX) and unit.outcome is None:
            yield text.removeprefix(CLAIM_PREFIX).partition("/")[0], unit
