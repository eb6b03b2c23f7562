"""Moves a batch that a query cannot process to a backout queue, so that the query can continue without it.

A batch that fails looks like a batch that its sink has and whose driver was killed before Spark noted that. Therefore
an operator decides. One decision commits both the claims and the messages put on the backout queue, so each message is
on one of the two queues after any crash. When the query starts again, Spark repeats the batch, which has no rows then.
"""

from __future__ import annotations

import secrets
from itertools import chain
from pathlib import Path

from pyspark.sql.pandas.types import to_arrow_schema

from igq.pipeline.claims.claims import ClaimedUnit, Claims, prefix_of, queue_at, xids_of
from igq.pipeline.claims.release import begun_claims, claims_in, is_running
from igq.pipeline.datasource.queue.arrow_batches import batches
from igq.pipeline.datasource.queue.sink import Sink
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import QUEUE
from sharedq.api import connect, group_for
from sharedq.members.group import Group
from sharedq.reading.queue import QueuePart, Reader
from sharedq.settings.values import Settings


def back_out_batch(settings: Settings, stream: str, checkpoint: Path, queue: str = "") -> tuple[int, str]:
    """Move the messages of the batch that a query has begun and not processed. Return their number and the queues.

    Args:
        queue: put them there; default: BOQNAME of the queue that each came from.

    Raises:
        PipelineError: a driver of the query runs, the checkpoint has no such batch, its messages are not claimed any
            more, or no queue is named. Nothing has changed.
        MQIError: the queue cannot be put to; 2009 unknown, may be repeated.
    """
    if is_running(settings, stream):
        raise PipelineError(
            f"stream {stream}: a driver of it is running, or has died and is not recovered yet: stop it"
        )
    group = group_for(settings)
    with connect(group.name, settings=settings, appl_name="igq pipeline") as connection:
        qmgr = connection.qmgr_name
    at = next((each.qmgr for each in claims_in(settings) if each.name == stream), qmgr)
    claims = Claims(settings, "", qmgr, stream, 0)
    claims.hold()
    try:
        begun = begun_claims(checkpoint, stream, term=claims.term())
        units = claims.units(begun)
        if not units:
            raise PipelineError(f"stream {stream}: the messages of its batch are on a backout queue: start the query")
        by_target: dict[tuple[str, str], list[ClaimedUnit]] = {}
        for unit in units:
            by_target.setdefault((queue or _backout_queue(group, unit.place), unit.place.structure), []).append(unit)
        # Give back the messages that a killed attempt has prepared.
        claims.give_back(but=begun)
        marker, copies = claims.backed_out(begun), list[bytes]()
        reader = Reader(group.deployment(), group.name)
        try:
            reader.note_read(group.name, units[0].xid)
            for (target, structure), there in by_target.items():
                sink = Sink(settings, target, at if structure.startswith("@") else qmgr, sets_context=True)
                slices = chain.from_iterable(reader.read_unit(unit.place, unit.id) for unit in there)
                rows = batches(slices, to_arrow_schema(QUEUE, timezone="UTC"))
                copies += sink.prepare(rows, marker, f"{prefix_of(stream)}{secrets.token_hex(8)}").xids
        finally:
            reader.close()
        sink.commit(marker, [*xids_of(stream, begun), *copies])
        return sum(unit.messages for unit in units), ", ".join(sorted({target for target, _ in by_target}))
    finally:
        claims.let_go()


def _backout_queue(group: Group, place: QueuePart) -> str:
    """BOQNAME of the queue there. Raises PipelineError: it has none."""
    target = queue_at(group, place).backout_requeue_q_name
    if not target:
        raise PipelineError(f"queue {place.queue}: has no BOQNAME: give --target QUEUE, or ALTER the queue")
    return target
