"""The metrics: names, types, labels and meanings. Pure.

Where IBM's exporter ``mq_prometheus`` has a metric, its name is used (``ibmmq_...``), so that dashboards fit both. The
others begin with ``igq_``.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Kind = Literal["gauge", "counter"]

#: A private queue has its manager as qmgr, a shared queue the group's name, by which programs reach it.
QUEUE = ("group", "qmgr", "queue", "structure")
QMGR = ("group", "qmgr")
MOVER = ("group", "qmgr", "queue")
STRUCTURE = ("group", "structure")
NODE = ("group", "node")
#: An empty listener is the unix socket, where a client may come without a channel.
CHANNEL = ("group", "qmgr", "listener", "process", "channel")
STREAM = ("group", "stream")
GROUP = ("group",)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. ``name``: as it is scraped; that of a counter ends with ``_total``."""

    name: str
    labels: tuple[str, ...]
    text: str

    @property
    def kind(self) -> Kind:
        """Its type."""
        return "counter" if self.name.endswith("_total") else "gauge"


_ALL = (
    Metric("ibmmq_queue_depth", QUEUE, "Messages on the queue, uncommitted and locked ones included"),
    Metric("ibmmq_queue_attribute_max_depth", QUEUE, "MAXDEPTH"),
    Metric("ibmmq_queue_attribute_usage", QUEUE, "USAGE: 0 normal, 1 transmission queue"),
    Metric("ibmmq_queue_oldest_message_age", QUEUE, "Seconds since the oldest available message was put"),
    Metric("ibmmq_queue_input_handles", QUEUE, "Handles that are open for input, agents and movers included"),
    Metric("ibmmq_queue_output_handles", QUEUE, "Handles that are open for output"),
    Metric("ibmmq_queue_uncommitted_messages", QUEUE, "Messages that units of work have put or got, not committed"),
    Metric("ibmmq_queue_time_since_put", QUEUE, "Seconds since the last put, if monitored and known to the journal"),
    Metric("ibmmq_queue_time_since_get", QUEUE, "Seconds since the last get, likewise"),
    Metric("ibmmq_queue_qtime_short", QUEUE, "Short-term average of the time on the queue, microseconds, likewise"),
    Metric("ibmmq_queue_qtime_long", QUEUE, "Long-term average, likewise"),
    Metric("ibmmq_queue_hi_depth", QUEUE, "Highest depth since RESET QSTATS or an event; only with PERFMEV(ENABLED)"),
    Metric("ibmmq_queue_mqput_mqput1_count", QUEUE, "Messages put since then, likewise"),
    Metric("ibmmq_queue_mqget_count", QUEUE, "Messages got since then, likewise"),
    Metric("igq_queue_dead_letters", QUEUE, "Messages on a queue that is the DEADQ of a manager; absent for any other"),
    Metric("igq_queue_waiters", QUEUE, "Gets that wait for a message"),
    Metric("ibmmq_qmgr_status", QMGR, "0 not running, 1 starting, 2 running, 3 quiescing"),
    Metric("ibmmq_qmgr_connection_count", QMGR, "Connections of programs, agents and movers"),
    Metric("ibmmq_qmgr_uptime", QMGR, "Seconds since the manager started; absent if it is not running"),
    Metric("igq_qmgr_failed", QMGR, "1 if it should run and its lease has run out"),
    Metric("igq_qmgr_info", (*QMGR, "version", "host"), "Always 1; its labels tell the version of igq and the host"),
    Metric("igq_qmgr_dead_letter_queue", (*QMGR, "queue"), "Always 1; its label queue is DEADQ; absent for none"),
    Metric("igq_qmgr_lease_seconds", QMGR, "Seconds until its lease runs out; negative since then"),
    Metric("igq_agent_state", (*QMGR, "state"), "1 for the state of the IGQ agent: RUNNING, RETRY or STOPPED"),
    Metric("igq_agent_short_retries", QMGR, "Short retries since the agent's trouble began"),
    Metric("igq_agent_long_retries", QMGR, "Long retries since the agent's trouble began"),
    Metric("igq_agent_next_retry_seconds", QMGR, "Seconds to the agent's next retry; absent if it is not in RETRY"),
    Metric("igq_agent_restarts_total", QMGR, "Times that the manager started its agent again"),
    Metric("igq_agent_delivered_total", QMGR, "Messages that the agent delivered since it started"),
    Metric("igq_agent_batches_total", QMGR, "Batches in which it did, those of one message included"),
    Metric("igq_mover_state", (*MOVER, "state"), "1 for the state of a mover: STARTING, RUNNING, STANDBY or RETRY"),
    Metric("igq_mover_next_retry_seconds", MOVER, "Seconds to the mover's next retry; absent if it is not in RETRY"),
    Metric("igq_mover_delivered_total", MOVER, "Messages that the mover delivered since it started"),
    Metric("ibmmq_channel_cur_inst", CHANNEL, "Clients that are connected by the channel"),
    Metric("igq_channel_connections_total", CHANNEL, "Clients that have connected since the channel server started"),
    Metric("igq_channel_calls_total", CHANNEL, "Calls of the MQI that they made"),
    Metric("igq_channel_sent_bytes_total", CHANNEL, "Bytes that were sent to them"),
    Metric("igq_channel_received_bytes_total", CHANNEL, "Bytes that they sent"),
    Metric("igq_channel_waiting_gets", CHANNEL, "Gets of theirs that wait for a message"),
    Metric("igq_stream_depth", STREAM, "Messages that a Spark stream has still to take, at its last report"),
    Metric("igq_stream_depth_min", STREAM, "Of these, those on the queue that has the fewest"),
    Metric("igq_stream_depth_avg", STREAM, "The average of its queues"),
    Metric("igq_stream_depth_max", STREAM, "Those on the queue that has the most"),
    Metric("igq_stream_oldest_message_age", STREAM, "Seconds that the oldest of them has waited; 0 if there is none"),
    Metric("igq_stream_messages_total", STREAM, "Messages that the stream has taken since its driver started"),
    Metric("igq_stream_batches_total", STREAM, "Batches in which it did"),
    Metric(
        "igq_stream_report_age_seconds", STREAM, "Seconds since its report: it comes with a trigger, at most each 5 s"
    ),
    Metric("igq_hop_latency_seconds", GROUP, "Mean time between put and hop of the latest hops in the journals"),
    Metric("igq_hop_latency_max_seconds", GROUP, "The longest of them"),
    Metric("igq_units_of_work", QMGR, "Units of work that are open"),
    Metric("igq_units_of_work_oldest_seconds", QMGR, "For how long this exporter has seen the oldest of them open"),
    Metric("igq_units_of_work_in_doubt", QMGR, "Prepared units of work that wait for their coordinator"),
    Metric("igq_units_of_work_in_doubt_oldest_seconds", QMGR, "Seconds since the oldest of them was prepared"),
    Metric("igq_recoveries", (*GROUP, "state"), "Recoveries of the latest 100, by state; RESOLVED is the end"),
    Metric("igq_recovery_phase_seconds", (*GROUP, "phase"), "Duration of each phase of the recovery that began last"),
    Metric("igq_recovery_units_of_work", GROUP, "Units of work that the recovery that began last has ended so far"),
    Metric("igq_leases", (*GROUP, "of"), "Leases of managers, of processes, and claims of recoveries"),
    Metric("igq_leases_overdue", GROUP, "Leases that have run out and that nobody has recovered yet"),
    Metric("igq_structure_state", (*STRUCTURE, "state"), "1 for its state: ACTIVE, FAILED, INRECOVER or UNREACHABLE"),
    Metric("igq_structure_journal_entries", STRUCTURE, "Entries of its journal"),
    Metric("igq_structure_journal_bytes", STRUCTURE, "Memory of its journal; absent if Redis does not tell"),
    Metric("igq_structure_connections_to_recover", STRUCTURE, "Connections shut out whose work is not resolved yet"),
    Metric("igq_structure_backup_age_seconds", STRUCTURE, "Seconds since its latest backup on this machine; or absent"),
    Metric("igq_structure_backup_bytes", STRUCTURE, "Size of that backup"),
    Metric("igq_structure_backup_failed", STRUCTURE, "With RECOVER(YES): 1 if its latest try here failed, 0 if not"),
    Metric("igq_redis_up", GROUP, "1 if Redis answered this scrape; 0, and no other metric, if it did not"),
    Metric("igq_redis_round_trip_seconds", NODE, "One command to this server and back"),
    Metric("igq_redis_memory_bytes", NODE, "Memory that this server uses; absent if it does not tell"),
    Metric("igq_redis_memory_max_bytes", NODE, "Its limit (maxmemory); 0 means none"),
    Metric("igq_redis_replicas_online", NODE, "Replicas of it that are online"),
    Metric("igq_exporter_collection_seconds", GROUP, "How long this scrape took to read"),
)

#: Name -> metric, in the order of the documentation.
METRICS = MappingProxyType({metric.name: metric for metric in _ALL})
