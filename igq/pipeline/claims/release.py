"""Lists streaming queries that have claimed messages, and releases a query that will not come back.

The checkpoint of a query tells which of its claims were processed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from igq.pipeline.claims.claims import CLAIM_PREFIX, back_out, commit, tag_of, terms_of, xids_of
from igq.pipeline.claims.members import connect_to
from igq.pipeline.errors import PipelineError
from sharedq.api import group_for
from sharedq.calls.handles.connect import is_tag_used
from sharedq.calls.unit.in_doubt import PreparedUnit, UnitBatch, latest_batch, prepared_units
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.settings.values import Settings

#: Whether the sink has a batch that was begun and is not noted as processed; "" if the user does not say.
BegunBatch = Literal["done", "undone", ""]
#: The fields of an offset of our source; see ``igq.pipeline.datasource.queue.stream``.
_OURS = {"batch", "claims", "term"}


def processed_claims(checkpoint: Path, stream: str, *, term: int = 0, begun: BegunBatch = "") -> set[str]:
    """The claims of the last batch that was processed. The claims of earlier batches have ended.

    Spark notes a batch after its sink has it. So the sink may have a batch that was begun and is not noted, or not.

    Args:
        stream: the query's name. A query may read several streams; an offset of an older version names none.
        term: the query must have begun in this term or later; see ``igq.pipeline.claims.claims``.
        begun: whether a batch that was begun and is not noted is ``done`` or ``undone``.

    Raises:
        PipelineError: it is no checkpoint, or the checkpoint of a query that has not read *stream*, or of an earlier
            query of that name, or it cannot be read; or there is such a batch, and *begun* is "".
    """
    offsets, noted = _batches(checkpoint, stream, term)
    last = max(offsets)
    if last > noted and begun == "":
        raise PipelineError(
            f"checkpoint {checkpoint}: batch {last} was begun and is not noted as processed. Start the query once more,"
            " or look whether its sink has that batch, and say --begun done or undone"
        )
    done = last if begun == "done" else noted
    return set(_claims_in(offsets[done], stream)) if done >= 0 else set()


def begun_claims(checkpoint: Path, stream: str, *, term: int = 0) -> str:
    """The claims of the batch that was begun and is not noted as processed.

    Args:
        stream, term: as for `processed_claims`.

    Raises:
        PipelineError: as for `processed_claims`; or there is no such batch, or it has no claims of *stream*.
    """
    offsets, noted = _batches(checkpoint, stream, term)
    last = max(offsets)
    claims = set(_claims_in(offsets[last], stream)) if last > noted else set()
    if noted >= 0:
        # The batch may have new claims of another stream only.
        claims -= set(_claims_in(offsets[noted], stream))
    if not claims:
        raise PipelineError(f"checkpoint {checkpoint}: no batch of stream {stream} was begun and is not processed")
    return claims.pop()


def _batches(checkpoint: Path, stream: str, term: int) -> tuple[dict[int, Path], int]:
    """The log of offsets, and the number of the last batch that is noted as processed (-1 if there is none).

    Raises:
        PipelineError: as for `processed_claims`.
    """
    offsets, commits = (_numbered(checkpoint / name) for name in ("offsets", "commits"))
    if not offsets:
        raise PipelineError(f"checkpoint {checkpoint}: is not the checkpoint of a streaming query: it has no offsets")
    latest = list(_offsets_of(offsets[max(offsets)]))
    known = {str(offset.get("stream", stream)) for offset in latest}
    if stream not in known:
        others = f"it is of {', '.join(sorted(known))}" if known else "its query reads no queue"
        raise PipelineError(f"checkpoint {checkpoint}: is not of stream {stream}: {others}")
    if any(offset["term"] < term for offset in latest if offset.get("stream", stream) == stream):
        raise PipelineError(
            f"checkpoint {checkpoint}: is of a released query of that name; if the release was interrupted,"
            " --force repeats it"
        )
    noted = max(commits, default=-1)
    if noted >= 0 and noted not in offsets:
        raise PipelineError(f"checkpoint {checkpoint}: batch {noted} is noted as processed, but its offsets are gone")
    return offsets, noted


def _claims_in(path: Path, stream: str) -> Iterator[str]:
    return (each["claims"] for each in _offsets_of(path) if each.get("stream", stream) == stream and each["claims"])


def _numbered(directory: Path) -> dict[int, Path]:
    """The files of one of Spark's logs, by batch number."""
    try:
        return {int(path.name): path for path in directory.iterdir() if path.name.isascii() and path.name.isdecimal()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PipelineError(f"{directory}: cannot be read: {error.strerror or error}") from None


def _offsets_of(path: Path) -> Iterator[dict[str, Any]]:
    """The offsets of our sources. A file has a version, a line about the batch, and a line of JSON for each source."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path}: cannot be read: {error}") from None
    for line in lines[2:]:
        try:
            offset = json.loads(line)
        except (ValueError, RecursionError):
            # The source has no offset yet, or is of another kind.
            continue
        if isinstance(offset, dict) and offset.keys() >= _OURS:
            if not (isinstance(offset["claims"], str) and isinstance(offset["term"], int)):
                raise PipelineError(f"{path}: cannot be read: {line}")
            yield offset


@dataclass(frozen=True, slots=True)
class LeftInDoubt:
    """The units of work that one query or job has prepared at one manager, and not ended.

    Attributes:
        name: a query's option ``stream``; a job's jobId, or the name of its run if it has no jobId.
        qmgr: the manager at which they were prepared.
        queues: the queues that the messages came from, or will go to.
        units: the number of units of work.
        times_read: the highest number of times that a query's batch was read.
        since: when the oldest unit was prepared, by Redis' clock.
    """

    name: str
    qmgr: str
    queues: tuple[str, ...]
    units: int
    messages: int
    times_read: int
    since: datetime


def summed_up(found: Iterable[tuple[str, PreparedUnit]]) -> list[LeftInDoubt]:
    """Named units of work by name and manager."""

    def key(each: tuple[str, PreparedUnit]) -> tuple[str, str]:
        return each[0], each[1].prepared_at

    ordered = sorted(found, key=key)
    return [_sum(*whose, [unit for _, unit in units]) for whose, units in groupby(ordered, key=key)]


def _sum(name: str, qmgr: str, units: list[PreparedUnit]) -> LeftInDoubt:
    queues = {queue for unit in units for names, _ in unit.structures.values() for queue in names}
    return LeftInDoubt(
        name=name,
        qmgr=qmgr,
        queues=tuple(sorted(queues)),
        units=len(units),
        messages=sum(unit.messages for unit in units),
        times_read=max(unit.times_read or 0 for unit in units),
        since=datetime.fromtimestamp(min(unit.prepared_ms for unit in units) / 1000, UTC),
    )


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
