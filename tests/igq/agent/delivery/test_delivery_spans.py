"""Spans of the hop: linked to the put where the data are at hand, and counted where a script moves ids."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from igq.agent.services import delivery_spans
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.tracing.connections import TracedConnection
from sharedq.tracing.spans import Spans
from tests.support.agent_at_work import PATIENCE_S, AgentAtWork
from tests.support.agents import AgentOfQM2
from tests.support.members import TestGroup


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, agent: AgentOfQM2) -> InMemorySpanExporter:
    """The spans of the agent, whose parts are traced, and of the traced connections of programs."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider)
    monkeypatch.setattr(delivery_spans, "_spans", lambda: spans)
    connection, part = agent.connection, agent.part
    agent.queue = delivery_spans.TracedPart(connection, part)
    agent.carrier = delivery_spans.TracedCarrier(connection, part.structure, agent.pulse)
    agent.deliverer = delivery_spans.TracedDeliverer(
        connection, lambda *_: None, SYSTEM_QSG_TRANSMIT_QUEUE, agent.pulse
    )
    sender = TracedConnection(spans, agent.group.connect("QM1").connection)
    agent.group.define_private("QM2", "IN")
    sender.put1("IN", b"body", qmgr_name="QM2")
    return exporter


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def test_span_of_a_moved_batch_counts_it(agent: AgentOfQM2, memory: InMemorySpanExporter) -> None:
    agent.move()

    _, move = memory.get_finished_spans()
    assert (move.name, len(move.links)) == (f"move {SYSTEM_QSG_TRANSMIT_QUEUE}", 0)
    assert (move.attributes or {})["messaging.operation.type"] == "process"


@pytest.mark.parametrize("by_records", [True, False])
def test_span_of_a_batch_at_hand_is_linked_to_the_put(
    agent: AgentOfQM2, memory: InMemorySpanExporter, by_records: bool
) -> None:
    if by_records:
        assert agent.carry() == [1]
    else:
        assert sum(agent.deliverer.deliver_from(agent.queue, agent.queue.take())) == 1

    put, move = memory.get_finished_spans()
    assert [link.context.span_id for link in move.links] == [span_id(put)]
    assert move.parent is not None
    assert move.parent.span_id == span_id(put)


def test_get_after_the_hop_is_linked_to_the_put(agent: AgentOfQM2, memory: InMemorySpanExporter) -> None:
    agent.move()
    receiver = TracedConnection(delivery_spans._spans(), agent.group.connect("QM2").connection)
    assert receiver.open("IN", OpenOption.INPUT_SHARED).get().body == b"body"

    put, _, get = memory.get_finished_spans()
    assert [link.context.span_id for link in get.links] == [span_id(put)]


def test_agent_makes_spans_if_the_setting_is_on(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider)
    monkeypatch.setattr(delivery_spans, "_spans", lambda: spans)
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.repository("QM2").alter_qmgr("QM2", {"igq": "ENABLED"})
    group.define_private("QM1", "IN")
    group.group.settings = group.group.settings.model_copy(update={"tracing": True})
    work = AgentAtWork(group)
    work.start()
    try:
        group.connect("QM2").put1("IN", b"body", qmgr_name="QM1")
        group.connect("QM1").open("IN", OpenOption.INPUT_SHARED).get(GetOption.WAIT, wait_ms=PATIENCE_S * 1000)
    finally:
        work.stop()

    assert [span.name for span in exporter.get_finished_spans()] == [f"move {SYSTEM_QSG_TRANSMIT_QUEUE}"]
