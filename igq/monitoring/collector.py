"""Reads the figures of a group at each scrape, and makes them metrics."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from igq.agent.queues.tags import ServingHandle, serving_among
from igq.errors import CommandError
from igq.monitoring.exposition import Block, Exposition
from igq.operations.listeners import channel_figures
from igq.operations.queue_figures import FIGURES, figures_of
from igq.operations.status import structure_state_of
from recovery.claim import from_record, in_order
from sharedq.admin.backup.glance import glance_at
from sharedq.members.group import Group, Member
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.objects.store.authorities import check_profile, fits
from sharedq.reading.activity import Activity, read_activity
from sharedq.reading.figures import FigureReader, GroupFigures, QueueFigures, StructureFigures
from sharedq.redis.deployment import DeploymentError
from sharedq.redis.keys import qmgr_of

_STATUS = {"STARTING": 1, "RUNNING": 2, "QUIESCING": 3}
_AGENT_STATES = ("RUNNING", "RETRY", "STOPPED")
_MOVER_STATES = ("STARTING", "RUNNING", "STANDBY", "RETRY")
_STRUCTURE_STATES = ("ACTIVE", "FAILED", "INRECOVER", "UNREACHABLE")
#: The phases of a recovery, each with the moments at which it begins and ends.
_PHASES = (
    ("detection", "lease ended", "detected"),
    ("claim", "detected", "claimed"),
    ("fencing", "claimed", "fenced"),
    ("resolving", "fenced", "resolved"),
)

#: Adds a sample: name of the metric, its labels after the group, value.
_Add = Callable[[str, tuple[str, ...], float], None]


def profiles_in(text: str) -> tuple[str, ...]:
    """Return the names and generic names of the setting ``metrics_queues``. Empty: all queues are meant.

    Raises:
        CommandError: one of them is no name.
    """
    try:
        return tuple(map(check_profile, text.replace(",", " ").split()))
    except ValueError as error:
        raise CommandError(f"metrics_queues={text}: allowed: {error}") from None


class GroupCollector:
    """Reads the whole group, whichever member is asked.

    A member that is dead cannot tell so, and every other can. Rules that see several endpoints take the maximum.

    Args:
        clock: the wall clock, seconds.
    """

    def __init__(self, group: Group, *, clock: Callable[[], float] = time.time) -> None:
        self._group, self._clock = group, clock
        self._reader = FigureReader(group)
        self._profiles = profiles_in(group.settings.metrics_queues)
        #: Unit of work -> when it was first seen open, ms of the Redis clock.
        self._units: dict[str, int] = {}
        self._samples = Exposition(group.name)
        #: Labels of a queue -> its figures at the last scrape, and the lines that say them.
        self._shown: dict[tuple[str, str, str], tuple[QueueFigures, Block]] = {}
        self._lock = threading.Lock()

    def text(self) -> bytes:
        """Read the group, and return its metrics. If Redis does not answer, only that."""
        with self._lock:
            samples, begun_s = self._samples, time.perf_counter()
            samples.begin()
            try:
                self._read(samples.add)
                samples.add("igq_redis_up", (), 1)
            except (MQIError, DeploymentError):
                samples.begin()
                samples.add("igq_redis_up", (), 0)
            samples.add("igq_exporter_collection_seconds", (), time.perf_counter() - begun_s)
            return samples.text()

    def _read(self, add: _Add) -> None:
        figures = self._reader.read()
        if self._profiles:
            figures.queues = [each for each in figures.queues if any(fits(one, each.name) for one in self._profiles)]
        self._queues(figures)
        self._managers(figures, add)
        self._channels(figures, add)
        _streams(figures, add)
        self._work(figures, add)
        _recoveries(figures, add)
        _leases(figures, add)
        self._structures(figures, add)
        for node in figures.nodes:
            add("igq_redis_round_trip_seconds", (node.name,), node.round_trip_s)
            for name, value in (
                ("igq_redis_memory_bytes", node.used_memory),
                ("igq_redis_memory_max_bytes", node.max_memory),
                ("igq_redis_replicas_online", node.replicas_online),
            ):
                if value is not None:
                    add(name, (node.name,), value)
        self._activity(figures, add)

    def _queues(self, figures: GroupFigures) -> None:
        serving, samples = serving_among(figures.agents, figures.connections), self._samples
        # Figures of these depend on others, too.
        special = {each.queue for each in serving}
        special |= {each.dead_letter_queue for each in figures.attributes.values()}
        shown = {}
        for queue in figures.queues:
            labels = (queue.qmgr or self._group.name, queue.name, queue.structure)
            before, block = self._shown.get(labels, (None, ()))
            if before is not queue or queue.name in special:
                is_dead_letters = queue.name in special and figures.is_dead_letter_queue(queue)
                block = samples.block(labels, _figures_of(queue, serving, is_dead_letters=is_dead_letters))
            if queue.name not in special:
                shown[labels] = queue, block
            samples.add_block(block)
            if queue.oldest_ms is not None:
                age_s = max(0, figures.now_ms - queue.oldest_ms) / 1000
                samples.add("ibmmq_queue_oldest_message_age", labels, age_s)
            elif not queue.state.available:
                samples.add("ibmmq_queue_oldest_message_age", labels, 0)
        self._shown = shown

    def _activity(self, figures: GroupFigures, add: _Add) -> None:
        """Tell the latest activity of monitored queues, and of hops."""
        there = {each.name: self._activity_in(each) for each in figures.structures}
        for queue in figures.queues:
            # Of thousands of queues, most have no entry among the latest ones.
            known = there.get(queue.structure)
            activity = known.queues.get(queue.name) if known else None
            if activity is None:
                continue
            manager = figures.attributes.get(queue.qmgr)
            if queue.definition.monitoring_level(manager.monitoring if manager else "OFF") == "OFF":
                continue
            labels = (queue.qmgr or self._group.name, queue.name, queue.structure)
            for name, at_ms in (
                ("ibmmq_queue_time_since_put", activity.last_put_ms),
                ("ibmmq_queue_time_since_get", activity.last_get_ms),
            ):
                if at_ms is not None:
                    add(name, labels, max(0, figures.now_ms - at_ms) / 1000)
            if activity.short_s is not None and activity.long_s is not None:
                add("ibmmq_queue_qtime_short", labels, activity.short_s * 1e6)
                add("ibmmq_queue_qtime_long", labels, activity.long_s * 1e6)
        if hops := [each for activity in there.values() for each in activity.hops]:
            add("igq_hop_latency_seconds", (), sum(hops) / len(hops))
            add("igq_hop_latency_max_seconds", (), max(hops))

    def _activity_in(self, structure: StructureFigures) -> Activity:
        if not structure.is_reachable or not structure.journal_entries:
            return Activity()
        try:
            return read_activity(self._group, structure.name)
        except MQIError:
            # It went a moment ago, or this user may not read the journal.
            return Activity()

    def _managers(self, figures: GroupFigures, add: _Add) -> None:
        connections = Counter(map(qmgr_of, figures.connections))
        for member in figures.members:
            name, state = (member.name,), figures.state_of(member)
            add("ibmmq_qmgr_status", name, _STATUS.get(state, 0))
            add("ibmmq_qmgr_connection_count", name, connections[member.name])
            add("igq_qmgr_failed", name, state == "FAILED")
            version = str(member.details.get("version", ""))
            add("igq_qmgr_info", (member.name, version, member.host), 1)
            attributes = figures.attributes.get(member.name)
            if attributes is not None and attributes.dead_letter_queue:
                add("igq_qmgr_dead_letter_queue", (member.name, attributes.dead_letter_queue), 1)
            if state in _STATUS:
                started_ms = int(member.details.get("started_ms", figures.now_ms))
                add("ibmmq_qmgr_uptime", name, (figures.now_ms - started_ms) / 1000)
            if member.state in _STATUS:
                add("igq_qmgr_lease_seconds", name, figures.lease_left_ms(member) / 1000)
            self._agent(figures, member, state in _STATUS, add)

    def _channels(self, figures: GroupFigures, add: _Add) -> None:
        running = [each for each in figures.members if figures.state_of(each) in _STATUS]
        for each in channel_figures(self._group, running):
            labels = (each.qmgr, each.listener, str(each.process), each.channel)
            add("ibmmq_channel_cur_inst", labels, each.current)
            add("igq_channel_connections_total", labels, each.clients)
            add("igq_channel_calls_total", labels, each.calls)
            add("igq_channel_sent_bytes_total", labels, each.sent)
            add("igq_channel_received_bytes_total", labels, each.received)
            add("igq_channel_waiting_gets", labels, each.waiting)

    def _agent(self, figures: GroupFigures, member: Member, is_up: bool, add: _Add) -> None:
        reported, name = figures.agents.get(member.name, {}), (member.name,)
        told = reported.get("state")
        state = told if is_up and told in _AGENT_STATES else "STOPPED"
        for each in _AGENT_STATES:
            add("igq_agent_state", (member.name, each), each == state)
        add("igq_agent_short_retries", name, reported.get("short_retries", 0))
        add("igq_agent_long_retries", name, reported.get("long_retries", 0))
        add("igq_agent_restarts_total", name, reported.get("restarts", 0))
        delivered = reported.get("delivered", 0) + figures.moved_by_puts.get(member.name, 0)
        add("igq_agent_delivered_total", name, delivered)
        add("igq_agent_batches_total", name, reported.get("batches", 0))
        self._retry("igq_agent_next_retry_seconds", name, reported if state == "RETRY" else {}, add)
        for mover in reported.get("movers", ()) if is_up else ():
            labels = (member.name, str(mover["queue"]))
            for each in _MOVER_STATES:
                add("igq_mover_state", (*labels, each), each == mover["state"])
            add("igq_mover_delivered_total", labels, mover["delivered"])
            self._retry("igq_mover_next_retry_seconds", labels, mover if mover["state"] == "RETRY" else {}, add)

    def _retry(self, name: str, labels: tuple[str, ...], reported: dict[str, object], add: _Add) -> None:
        at_ms = reported.get("next_retry_ms")
        if isinstance(at_ms, int):
            add(name, labels, max(0.0, at_ms / 1000 - self._clock()))

    def _work(self, figures: GroupFigures, add: _Add) -> None:
        owners = {unit: qmgr for structure in figures.structures for unit, qmgr in structure.units}
        self._units = {unit: self._units.get(unit, figures.now_ms) for unit in owners}
        in_doubt: dict[str, list[int]] = {}
        for each in figures.prepared:
            in_doubt.setdefault(str(each["nid"]).rpartition(".")[0], []).append(int(each["prepared_ms"]))
        for member in figures.members:
            name = (member.name,)
            seen = [self._units[unit] for unit, qmgr in owners.items() if qmgr == member.name]
            add("igq_units_of_work", name, len(seen))
            add("igq_units_of_work_oldest_seconds", name, (figures.now_ms - min(seen, default=figures.now_ms)) / 1000)
            prepared = in_doubt.get(member.name, [])
            age_ms = figures.now_ms - min(prepared, default=figures.now_ms)
            add("igq_units_of_work_in_doubt", name, len(prepared))
            add("igq_units_of_work_in_doubt_oldest_seconds", name, age_ms / 1000)

    def _structures(self, figures: GroupFigures, add: _Add) -> None:
        for structure in figures.structures:
            state = self._state_of(structure, figures)
            name = (structure.name,)
            for each in _STRUCTURE_STATES:
                add("igq_structure_state", (structure.name, each), each == state)
            add("igq_structure_journal_entries", name, structure.journal_entries)
            add("igq_structure_connections_to_recover", name, structure.to_recover)
            if structure.journal_bytes is not None:
                add("igq_structure_journal_bytes", name, structure.journal_bytes)
        for definition in Repository(self._group, None).structures():
            if definition.is_recoverable:
                self._backup(definition.name, add)

    def _backup(self, structure: str, add: _Add) -> None:
        found, name = glance_at(self._group.own_settings, structure), (structure,)
        add("igq_structure_backup_failed", name, found.failed_at is not None)
        if found.begun is not None:
            add("igq_structure_backup_age_seconds", name, max(0.0, self._clock() - found.begun.timestamp()))
            add("igq_structure_backup_bytes", name, found.bytes)

    def _state_of(self, structure: StructureFigures, figures: GroupFigures) -> str:
        try:
            return structure_state_of(self._group, structure, figures.failures.get(structure.name, ""))[0]
        except MQIError as error:
            if error.reason != MQRC.NOT_AUTHORIZED:
                raise
            # The state is news, and this user may not tell the group.
            return "ACTIVE" if structure.has_begun else "FAILED"


def _figures_of(
    queue: QueueFigures, serving: Sequence[ServingHandle], *, is_dead_letters: bool
) -> Iterator[tuple[str, float]]:
    """The metrics of a queue and their values, but for those that change with time alone."""
    for name, value in figures_of(queue, serving).items():
        yield FIGURES[name][1], value
    yield "ibmmq_queue_attribute_max_depth", queue.definition.max_depth
    yield "ibmmq_queue_attribute_usage", queue.definition.usage == "XMITQ"
    if is_dead_letters:
        yield "igq_queue_dead_letters", queue.state.depth
    if queue.counts is not None:
        names = ("ibmmq_queue_hi_depth", "ibmmq_queue_mqput_mqput1_count", "ibmmq_queue_mqget_count")
        yield from zip(names, queue.counts, strict=True)


def _streams(figures: GroupFigures, add: _Add) -> None:
    for connection in figures.connections.values():
        told = connection.get("stream")
        if told is None:
            continue
        stream, waited_s = (told["name"],), max(0, figures.now_ms - told["told_ms"]) / 1000
        for name in ("depth", "depth_min", "depth_avg", "depth_max", "messages_total", "batches_total"):
            add(f"igq_stream_{name}", stream, told[name])
        # The message has waited since the report, too.
        oldest_s = told["oldest_s"]
        add("igq_stream_oldest_message_age", stream, 0 if oldest_s is None else oldest_s + waited_s)
        add("igq_stream_report_age_seconds", stream, waited_s)


def _recoveries(figures: GroupFigures, add: _Add) -> None:
    recoveries = in_order(map(from_record, figures.recoveries))
    states = Counter(each.state for each in recoveries)
    for state in ("CLAIMED", "FENCED", "RESOLVING", "DELAYED", "RESOLVED"):
        add("igq_recoveries", (state,), states[state])
    if recoveries:
        latest = recoveries[-1]
        moments = dict(latest.moments)
        add("igq_recovery_units_of_work", (), latest.units_of_work)
        for phase, begin, end in _PHASES:
            if begin in moments and end in moments:
                add("igq_recovery_phase_seconds", (phase,), (moments[end] - moments[begin]) / 1000)


def _leases(figures: GroupFigures, add: _Add) -> None:
    kinds = Counter(_kind_of(token) for token in figures.leases)
    for kind in ("manager", "process", "claim"):
        add("igq_leases", (kind,), kinds[kind])
    overdue = [token for token, until_ms in figures.leases.items() if until_ms <= figures.now_ms]
    add("igq_leases_overdue", (), len(overdue))


def _kind_of(token: str) -> str:
    if token.startswith("!"):
        return "claim"
    return "manager" if token.count(".") == 1 else "process"
