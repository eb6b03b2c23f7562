"""MQINQ: the attributes of each type of queue, and of a remote queue that is opened to inquire."""

from __future__ import annotations

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, CharSelector, GetOption, IntSelector, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQOD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

OK, NOT_FOR_TYPE = (MQCC.OK, MQRC.NONE), (MQCC.WARNING, MQRC.SELECTOR_NOT_FOR_TYPE)
UNKNOWN = (MQCC.FAILED, MQRC.SELECTOR_ERROR)
INQUIRE = OpenOption.INQUIRE
#: Attributes of a remote definition, and their values for the one called FAR.
OF_REMOTE: dict[int, int | bytes] = {
    CharSelector.Q_NAME: b"FAR".ljust(48),
    CharSelector.Q_DESC: b"far away".ljust(64),
    CharSelector.REMOTE_Q_NAME: b"IN".ljust(48),
    CharSelector.REMOTE_Q_MGR_NAME: b"QM2".ljust(48),
    CharSelector.XMIT_Q_NAME: b" " * 48,
    IntSelector.Q_TYPE: 6,
    IntSelector.DEF_PRIORITY: 4,
    IntSelector.DEF_PERSISTENCE: 1,
    IntSelector.INHIBIT_PUT: 0,
}
#: The different ones for a definition that leads to the queue Q of this manager.
OF_NEAR: dict[int, int | bytes] = {
    CharSelector.REMOTE_Q_NAME: b"Q".ljust(48),
    CharSelector.REMOTE_Q_MGR_NAME: b"QM1".ljust(48),
}
#: Attributes of an alias, and their values for the one called NICK.
OF_ALIAS: dict[int, int | bytes] = {
    CharSelector.Q_NAME: b"NICK".ljust(48),
    CharSelector.Q_DESC: b"another name".ljust(64),
    IntSelector.Q_TYPE: 3,
    IntSelector.DEF_PRIORITY: 2,
    IntSelector.DEF_PERSISTENCE: 0,
    IntSelector.INHIBIT_GET: 0,
    IntSelector.INHIBIT_PUT: 1,
}
NOT_OF_ALIAS: dict[int, int | bytes] = {
    IntSelector.CURRENT_Q_DEPTH: -1,
    IntSelector.OPEN_INPUT_COUNT: -1,
    IntSelector.OPEN_OUTPUT_COUNT: -1,
    IntSelector.MAX_Q_DEPTH: -1,
    IntSelector.MAX_MSG_LENGTH: -1,
    IntSelector.TRIGGER_CONTROL: -1,
    CharSelector.CF_STRUC_NAME: b"*" * 12,
    CharSelector.REMOTE_Q_NAME: b"*" * 48,
}
NOT_OF_REMOTE: dict[int, int | bytes] = {
    IntSelector.CURRENT_Q_DEPTH: -1,
    IntSelector.OPEN_INPUT_COUNT: -1,
    IntSelector.OPEN_OUTPUT_COUNT: -1,
    IntSelector.MAX_Q_DEPTH: -1,
    IntSelector.INHIBIT_GET: -1,
    CharSelector.CF_STRUC_NAME: b"*" * 12,
    CharSelector.BASE_OBJECT_NAME: b"*" * 48,
    CharSelector.TRIGGER_DATA: b"*" * 64,
}


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.add_member("QM2")
    group.define_shared("Q")
    group.define_private("QM2", "IN")
    attributes = {"description": "far away", "def_priority": 4, "def_persistence": "YES"}
    group.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2", **attributes))  # type: ignore[arg-type]
    group.define("QM1", QueueRemote(name="NEAR", remote_queue="Q", remote_qmgr="QM1", **attributes))  # type: ignore[arg-type]
    group.define("QM1", QueueRemote(name="OF.QM2", remote_qmgr="QM2"))
    for name, target in (("NICK", "Q"), ("FAR.NICK", "FAR")):
        group.define(
            "QM1", QueueAlias(name=name, target=target, description="another name", def_priority=2, put="DISABLED")
        )
    return group.connect()


def inquired(queue: Queue, *selectors: int) -> tuple[dict[int, int | bytes], tuple[MQCC, MQRC]]:
    values, comp_code, reason = verbs.mqinq(queue.connection, queue.handle, selectors)
    return values, (comp_code, reason)


@pytest.mark.rule(
    "mqi/open", "MQINQ of an attribute of another queue type is a warning (2068), and tells the other attributes."
)
def test_attributes_of_other_queue_types_are_not_applicable(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", INQUIRE)
    depth, name, base = IntSelector.CURRENT_Q_DEPTH, CharSelector.Q_NAME, CharSelector.BASE_OBJECT_NAME
    known: dict[int, int | bytes] = {depth: 0, name: b"Q".ljust(48)}
    assert inquired(queue, depth, name) == (known, OK)
    others = (base, CharSelector.REMOTE_Q_NAME, CharSelector.REMOTE_Q_MGR_NAME, CharSelector.XMIT_Q_NAME)
    for other in others:
        expected = known | {int(other): b"*" * 48}
        assert inquired(queue, depth, other, name) == (expected, NOT_FOR_TYPE)
        assert queue.inquire(depth, other, name) == expected


@pytest.mark.rule("mqi/open", "MQINQ of an attribute that no queue has is refused with 2067.")
@pytest.mark.parametrize("name", ["Q", "FAR"])
def test_an_attribute_that_no_queue_has_is_always_refused(connection: QueueManagerConnection, name: str) -> None:
    queue = connection.open(name, INQUIRE)
    for unknown in (IntSelector.MAX_HANDLES, CharSelector.Q_MGR_NAME, 0, 4711):
        for others in ((), (CharSelector.Q_NAME,), (CharSelector.BASE_OBJECT_NAME, IntSelector.CURRENT_Q_DEPTH)):
            assert inquired(queue, *others, unknown) == ({}, UNKNOWN)


@pytest.mark.rule("mqi/open", "A remote definition that is opened to inquire tells its own attributes.")
@pytest.mark.parametrize("name", ["FAR", "NEAR"])
@pytest.mark.parametrize("options", [INQUIRE, INQUIRE | OpenOption.OUTPUT])
def test_a_remote_definition_returns_its_own_attributes(
    connection: QueueManagerConnection, name: str, options: int
) -> None:
    """Also a definition that leads to a queue of this manager."""
    queue = connection.open(name, options)
    of_remote = OF_REMOTE | {CharSelector.Q_NAME: name.encode().ljust(48)} | (OF_NEAR if name == "NEAR" else {})
    assert inquired(queue, *of_remote) == (of_remote, OK)
    both = of_remote | NOT_OF_REMOTE
    assert inquired(queue, *both) == (both, NOT_FOR_TYPE)
    for selector, value in NOT_OF_REMOTE.items():
        assert inquired(queue, selector) == ({selector: value}, NOT_FOR_TYPE)
    assert queue.close() == MQRC.NONE


@pytest.mark.rule("mqi/open", "A remote handle that is open to inquire alone does nothing else.")
def test_a_handle_to_inquire_is_for_nothing_else(connection: QueueManagerConnection) -> None:
    queue = connection.open("FAR", INQUIRE)
    for reason, call in (
        (MQRC.NOT_OPEN_FOR_OUTPUT, lambda: queue.put(b"x")),
        (MQRC.NOT_OPEN_FOR_INPUT, queue.get),
        (MQRC.NOT_OPEN_FOR_BROWSE, lambda: queue.get(GetOption.BROWSE_FIRST)),
        (MQRC.NOT_OPEN_FOR_SET, lambda: queue.set({IntSelector.INHIBIT_PUT: 1})),
    ):
        with pytest.raises(MQIError) as refused:
            call()
        assert refused.value.reason == reason
    queue = connection.open("FAR", INQUIRE | OpenOption.OUTPUT)
    queue.put(b"over there")
    with pytest.raises(MQIError) as refused:
        connection.open("FAR", OpenOption.OUTPUT).inquire(CharSelector.Q_NAME)
    assert refused.value.reason == MQRC.NOT_OPEN_FOR_INQUIRE


@pytest.mark.rule("mqi/open", "A queue at another manager cannot be opened to inquire, get, browse or set (2045).")
@pytest.mark.parametrize("more", [0, OpenOption.OUTPUT])
def test_a_queue_without_a_definition_here_cannot_be_inquired(
    group: TestGroup, connection: QueueManagerConnection, more: int
) -> None:
    for name, qmgr in (("IN", "QM2"), ("Q", "QM2"), ("IN", "OF.QM2"), ("FAR", "QM2")):
        with pytest.raises(MQIError) as refused:
            connection.open(name, INQUIRE | more, qmgr_name=qmgr)
        assert refused.value.reason == MQRC.OPTION_NOT_VALID_FOR_TYPE
    for option in (
        OpenOption.INPUT_AS_Q_DEF,
        OpenOption.INPUT_SHARED,
        OpenOption.INPUT_EXCLUSIVE,
        OpenOption.BROWSE,
        OpenOption.SET,
    ):
        for also in (0, INQUIRE):
            with pytest.raises(MQIError) as refused:
                connection.open("FAR", option | also | more)
            assert refused.value.reason == MQRC.OPTION_NOT_VALID_FOR_TYPE
    (transmit_queue,) = group.repository("QM1").display_queues(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert group.repository("QM1").queue_handles(transmit_queue) == []


@pytest.mark.rule("mqi/open", "MQINQ through an alias tells the attributes in force.")
def test_attributes_are_those_in_force(group: TestGroup, connection: QueueManagerConnection) -> None:
    queue = connection.open("FAR", INQUIRE | OpenOption.OUTPUT)
    selectors = (CharSelector.Q_DESC, IntSelector.INHIBIT_PUT, IntSelector.DEF_PRIORITY)
    group.repository("QM1").alter("QREMOTE", "FAR", {"description": "nearer", "put": "DISABLED", "def_priority": 7})
    assert list(queue.inquire(*selectors).values()) == [b"nearer".ljust(64), 1, 7]
    with pytest.raises(MQIError) as refused:
        queue.put(b"x")
    assert refused.value.reason == MQRC.PUT_INHIBITED
    group.repository("QM1").alter("QREMOTE", "FAR", {"remote_queue": "ELSEWHERE"})
    with pytest.raises(MQIError) as refused:
        queue.inquire(*selectors)
    assert refused.value.reason == MQRC.OBJECT_CHANGED
    queue = connection.open("FAR", INQUIRE)
    group.repository("QM1").delete("QREMOTE", "FAR")
    with pytest.raises(MQIError) as refused:
        queue.inquire(*selectors)
    assert refused.value.reason == MQRC.OBJECT_CHANGED


def test_mqopen_returns_the_destination_of_messages(connection: QueueManagerConnection) -> None:
    od = MQOD(object_name=b"FAR")
    assert verbs.mqopen(connection.connection, od, INQUIRE)[1:] == OK
    assert (od.resolved_q_name, od.resolved_q_mgr_name) == (b"IN", b"QM2")


@pytest.mark.rule("mqi/open", "An alias that is opened to inquire tells its own attributes, not those of its target.")
@pytest.mark.parametrize(("name", "target"), [("NICK", "Q"), ("FAR.NICK", "FAR")])
@pytest.mark.parametrize("options", [INQUIRE, INQUIRE | OpenOption.OUTPUT])
def test_an_alias_returns_its_own_attributes(
    connection: QueueManagerConnection, name: str, target: str, options: int
) -> None:
    """IBM MQ: the attributes of the alias queue, not those of the base queue."""
    queue = connection.open(name, options)
    own = {CharSelector.Q_NAME: name.encode().ljust(48), CharSelector.BASE_OBJECT_NAME: target.encode().ljust(48)}
    of_alias = OF_ALIAS | own
    assert inquired(queue, *of_alias) == (of_alias, OK)
    both = of_alias | NOT_OF_ALIAS
    assert inquired(queue, *both) == (both, NOT_FOR_TYPE)
    for selector, value in NOT_OF_ALIAS.items():
        assert inquired(queue, selector) == ({selector: value}, NOT_FOR_TYPE)


@pytest.mark.rule(
    "mqi/open", "MQSET through an alias, or a remote definition that leads here, changes that definition."
)
def test_mqset_through_an_alias_changes_the_alias(group: TestGroup, connection: QueueManagerConnection) -> None:
    by_alias = connection.open("NICK", OpenOption.SET | INQUIRE | OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
    by_name = connection.open("Q", INQUIRE | OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
    inhibited = (IntSelector.INHIBIT_GET, IntSelector.INHIBIT_PUT)

    by_alias.set({IntSelector.INHIBIT_GET: 1, IntSelector.INHIBIT_PUT: 0})

    assert list(by_alias.inquire(*inhibited).values()) == [1, 0]
    assert list(by_name.inquire(*inhibited).values()) == [0, 0]
    by_alias.put(b"1")
    with pytest.raises(MQIError) as refused:
        by_alias.get()
    assert refused.value.reason == MQRC.GET_INHIBITED
    assert by_name.get().body == b"1"
    # And the other way round: the queue's own attributes are not told by the alias, but hold for both.
    group.repository("QM1").alter("QLOCAL", "Q", {"put": "DISABLED"})
    assert list(by_alias.inquire(*inhibited).values()) == [1, 0]
    with pytest.raises(MQIError) as refused:
        by_alias.put(b"2")
    assert refused.value.reason == MQRC.PUT_INHIBITED


@pytest.mark.rule("mqi/open", "MQSET of an attribute that an alias does not have is 2067.")
def test_an_attribute_that_an_alias_lacks_cannot_be_set_through_it(connection: QueueManagerConnection) -> None:
    queue = connection.open("NICK", OpenOption.SET)
    for selector in (IntSelector.TRIGGER_CONTROL, IntSelector.TRIGGER_DEPTH, IntSelector.DEF_PRIORITY):
        with pytest.raises(MQIError) as refused:
            queue.set({IntSelector.INHIBIT_GET: 1, selector: 1})
        assert refused.value.reason == MQRC.SELECTOR_ERROR
    with pytest.raises(MQIError) as refused:
        queue.set({IntSelector.INHIBIT_GET: 7})
    assert refused.value.reason == MQRC.INHIBIT_VALUE_ERROR


@pytest.mark.rule(
    "mqi/open", "MQSET through an alias, or a remote definition that leads here, changes that definition."
)
def test_mqset_through_a_definition_that_leads_here_changes_that(connection: QueueManagerConnection) -> None:
    queue = connection.open("NEAR", OpenOption.SET | INQUIRE | OpenOption.OUTPUT)
    queue.set({IntSelector.INHIBIT_PUT: 1})
    assert queue.inquire(IntSelector.INHIBIT_PUT) == {IntSelector.INHIBIT_PUT: 1}
    assert connection.open("Q", INQUIRE).inquire(IntSelector.INHIBIT_PUT) == {IntSelector.INHIBIT_PUT: 0}
    with pytest.raises(MQIError) as refused:
        queue.put(b"x")
    assert refused.value.reason == MQRC.PUT_INHIBITED
    with pytest.raises(MQIError) as refused:
        queue.set({IntSelector.INHIBIT_GET: 1})
    assert refused.value.reason == MQRC.SELECTOR_ERROR


@pytest.mark.rule(
    "mqi/open", "MQINQ and MQSET through an alias that leads elsewhere since the open, or has gone, end with 2041."
)
@pytest.mark.parametrize("change", ["retarget", "delete"])
def test_an_alias_that_leads_elsewhere_or_is_gone_ends_with_2041(
    group: TestGroup, connection: QueueManagerConnection, change: str
) -> None:
    group.define_shared("OTHER")
    queue = connection.open("NICK", INQUIRE | OpenOption.SET)
    if change == "retarget":
        group.repository("QM1").alter("QALIAS", "NICK", {"target": "OTHER"})
    else:
        group.repository("QM1").delete("QALIAS", "NICK")
    for call in (lambda: queue.inquire(IntSelector.INHIBIT_PUT), lambda: queue.set({IntSelector.INHIBIT_PUT: 1})):
        with pytest.raises(MQIError) as refused:
            call()
        assert refused.value.reason == MQRC.OBJECT_CHANGED
