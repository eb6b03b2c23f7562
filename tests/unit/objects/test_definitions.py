"""Definitions: defaults, ranges, names, and their three faces."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sharedq.mqi.constants import CharSelector, IntSelector
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.attributes import attributes_of, by_keyword, by_selector
from sharedq.objects.definitions.base import ObjectDefinition, parse_definition
from sharedq.objects.definitions.inert_attributes import MODELS as EVERY_KIND
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.names import is_generic, matches
from sharedq.objects.definitions.queues import QUEUE_KINDS, QueueAlias, QueueLocal, QueueModel, QueueRemote
from sharedq.objects.store.directory import parse_entry

MODELS: tuple[type[ObjectDefinition], ...] = (
    *(QueueLocal, QueueAlias, QueueRemote, QueueModel),
    *(CFStruct, QueueManagerAttributes),
)


def test_a_local_queue_has_the_defaults_of_z_os_and_is_shareable() -> None:
    queue = QueueLocal(name="ORDERS")

    assert (queue.max_depth, queue.max_msg_length) == (999_999_999, 4_194_304)
    assert (queue.def_persistence, queue.def_priority, queue.msg_delivery_sequence) == ("NO", 0, "PRIORITY")
    assert (queue.shareability, queue.def_input_open_option) == ("SHARE", "SHARED")
    assert (queue.get, queue.put, queue.usage, queue.index_type) == ("ENABLED", "ENABLED", "NORMAL", "NONE")


@pytest.mark.parametrize("model", MODELS)
def test_every_attribute_is_found_by_keyword_and_by_selector(model: type[ObjectDefinition]) -> None:
    for attribute in attributes_of(model):
        for keyword in attribute.keywords:
            assert by_keyword(model)[keyword] is attribute
        assert attribute.mqsc.selector is not None
        assert by_selector(model)[attribute.mqsc.selector] is attribute


@pytest.mark.parametrize("model", MODELS)
def test_every_field_but_the_version_of_igq_is_an_attribute(model: type[ObjectDefinition]) -> None:
    fields = {attribute.field for attribute in attributes_of(model)}

    assert set(model.model_fields) - fields <= {"igq_version"}


@pytest.mark.parametrize("model", MODELS)
def test_a_shown_attribute_can_be_read_back(model: type[ObjectDefinition]) -> None:
    definition = model.model_validate({"name": "APPL1"})
    for attribute in attributes_of(model):
        value = getattr(definition, attribute.field)
        assert attribute.parse(attribute.text(value)) == value


@pytest.mark.parametrize("model", MODELS)
def test_numbers_that_are_inquired_can_be_set(model: type[ObjectDefinition]) -> None:
    definition = model.model_validate({"name": "APPL1"})
    for attribute in attributes_of(model):
        value = getattr(definition, attribute.field)
        number = attribute.inquired(value)
        if isinstance(number, int):
            assert attribute.from_number(number) == value


@pytest.mark.parametrize(
    ("selector", "changes", "number"),
    [
        (IntSelector.INHIBIT_GET, {"get": "DISABLED"}, 1),
        (IntSelector.INHIBIT_PUT, {"put": "ENABLED"}, 0),
        (IntSelector.DEF_INPUT_OPEN_OPTION, {"def_input_open_option": "EXCL"}, 4),
        (IntSelector.INDEX_TYPE, {"index_type": "GROUPID"}, 5),
        (IntSelector.SHAREABILITY, {"shareability": "NOSHARE"}, 0),
        (IntSelector.TRIGGER_CONTROL, {"trigger_control": "TRIGGER"}, 1),
        (IntSelector.TRIGGER_TYPE, {"trigger_type": "DEPTH"}, 3),
        (IntSelector.USAGE, {"usage": "XMITQ"}, 1),
        (IntSelector.MONITORING_Q, {"monitoring": "MEDIUM"}, 33),
        (IntSelector.MAX_Q_DEPTH, {"max_depth": 7}, 7),
        (CharSelector.BACKOUT_REQ_Q_NAME, {"backout_requeue_q_name": "BACK"}, "BACK"),
    ],
)
def test_inquire_answers_with_ibms_numbers(selector: int, changes: dict[str, Any], number: int | str) -> None:
    queue = QueueLocal(name="ORDERS").with_changes(changes)
    attribute = by_selector(QueueLocal)[selector]

    assert attribute.inquired(getattr(queue, attribute.field)) == number


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"max_depth": 1_000_000_000}, "MAXDEPTH"),
        ({"max_depth": -1}, "MAXDEPTH"),
        ({"max_msg_length": 104_857_601}, "MAXMSGL"),
        ({"def_priority": 10}, "DEFPRTY"),
        ({"get": "MAYBE"}, "GET"),
        ({"trigger_depth": 0}, "TRIGDPTH"),
        ({"depth_high_limit": 101}, "QDEPTHHI"),
        ({"description": "x" * 65}, "DESCR"),
        ({"backout_requeue_q_name": "A B"}, "BOQNAME"),
        ({"disposition": "SHARED"}, "CFSTRUCT"),
        ({"structure": "APPL1"}, "QSGDISP"),
        ({"structure": "appl1"}, "CFSTRUCT"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_the_refusal_of_a_value_out_of_range_names_the_attribute(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named) as caught:
        QueueLocal(name="ORDERS").with_changes(changes)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["ORDERS", "a.b/c_d%", "x" * 48])
def test_names_of_objects_have_up_to_48_characters(name: str) -> None:
    assert QueueLocal(name=name).name == name


@pytest.mark.parametrize("name", ["", "x" * 49, "A B", "A-B", "Ä", "A*"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="object name"):
        parse_definition(QueueLocal, {"name": name})


@pytest.mark.parametrize("name", ["", "appl", "1APPL", "A" * 13, "AP_PL", "@QM1"])
def test_names_of_structures_are_upper_case_and_begin_with_a_letter(name: str) -> None:
    with pytest.raises(ValueError, match="structure name"):
        parse_definition(CFStruct, {"name": name})


@pytest.mark.parametrize("model", [QueueAlias, QueueRemote, QueueModel])
def test_only_local_queues_are_shared(model: type[ObjectDefinition]) -> None:
    with pytest.raises(ValueError, match=r"only (local queues|a local queue)"):
        parse_definition(model, {"name": "A", "disposition": "SHARED"})


def test_the_shared_transmission_queue_must_be_one() -> None:
    name = "SYSTEM.QSG.TRANSMIT.QUEUE"
    QueueLocal(name=name, disposition="SHARED", structure="APPL1", usage="XMITQ")

    with pytest.raises(ValueError, match="XMITQ"):
        QueueLocal(name=name, disposition="SHARED", structure="APPL1")
    with pytest.raises(ValueError, match="SHARED"):
        QueueLocal(name=name, usage="XMITQ")


def test_a_model_makes_queues_with_its_attributes() -> None:
    model = QueueModel(name="M", max_depth=5, definition_type="PERMDYN")
    shared = QueueModel(name="M", definition_type="SHAREDYN", structure="APPL1")

    queue = model.local_queue("REPLY.1")

    assert (queue.max_depth, queue.definition_type, queue.disposition) == (5, "PERMDYN", "QMGR")
    assert shared.local_queue("REPLY.2").disposition == "SHARED"
    with pytest.raises(ValueError, match="CFSTRUCT"):
        QueueModel(name="M", definition_type="TEMPDYN", structure="APPL1")


@pytest.mark.parametrize("kind", QUEUE_KINDS.values())
def test_json_keeps_everything(kind: type[QueueLocal]) -> None:
    definition = kind.model_validate({"name": "A", "description": 'quote " back\\ ä'})

    assert kind.from_json(definition.to_json()) == definition


def test_dates_say_when_and_do_not_make_definitions_differ() -> None:
    first = QueueLocal(name="A").created_at(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    later = first.altered_at(datetime(2026, 2, 2, tzinfo=UTC))

    assert (first.creation_date, first.creation_time) == ("2026-01-02", "03.04.05")
    assert (later.creation_date, later.alteration_date) == ("2026-01-02", "2026-02-02")
    assert first.is_same_as(later)
    assert not first.is_same_as(later.with_changes({"max_depth": 1}))


def test_generic_names_stand_for_all_that_begin_so() -> None:
    assert is_generic("ORD*")
    assert not is_generic("ORD")
    assert matches("ORD*", "ORDERS")
    assert matches("*", "ORDERS")
    assert matches("ORDERS", "ORDERS")
    assert not matches("ORD", "ORDERS")
    assert not matches("ORD*", "OR")


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_what_a_later_version_has_defined_is_one_line(kind: str) -> None:
    later = {"name": "LATER", **{f"newer_{number}": number for number in range(8)}, "alteration_date": "tomorrow"}
    model = EVERY_KIND[kind]

    said = rf"^{kind} LATER: .*later version.*upgrade igq here.*newer_0.*more$"
    reads: tuple[Callable[[], object], ...] = (
        lambda: model.from_json(json.dumps(later)),
        lambda: model.from_stored(later),
    )
    for read in reads:
        with pytest.raises(MQIError, match=said) as caught:
            read()
        assert "pydantic" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_kind_of_object_of_a_later_version_is_one_line() -> None:
    text = json.dumps({"kind": "QNEWER", "disposition": "GROUP", "version": 1, "definition": {}})

    with pytest.raises(MQIError, match=r"^QNEWER LATER: .*upgrade igq here; not known: this kind of object$"):
        parse_entry("G LATER", text.encode())
