"""Commands in PCF: each does what the same command does in MQSC, and answers as IBM MQ for z/OS answers."""

from __future__ import annotations

from typing import Any

import pytest

from igq.mqsc.language.parameters import REPORTS, shown_by
from igq.mqsc.language.words import COMMANDS, OBJECTS
from sharedq.calls.handles.connect import connect_to
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants import SubOption
from sharedq.mqi.constants.pcf import MQRCCF, FilterOperator, PCFCommand, PCFType
from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFH, MQCFIF, MQCFSF, MQCFST, PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.authorities import Authorities
from tests.support.backups import mqsc
from tests.support.pcf import Asked, answer_of, descriptor, request, tell_of_listener

pytestmark = pytest.mark.share

NAME, TYPE = Char.Q_NAME, Int.Q_TYPE
_AUTHORITY: dict[int, Any] = {
    Param.AUTH_PROFILE_NAME: "Q",
    Param.OBJECT_TYPE: 1,
    Param.PRINCIPAL_ENTITY_NAMES: ["u"],
    Param.AUTH_ADD_AUTHS: [11],
}
LOCAL, MODEL, ALIAS, REMOTE = 1, 2, 3, 6


def test_a_ping_is_answered_by_a_summary_alone(asked: Asked) -> None:
    (only,) = asked.messages(PCFCommand.PING_Q_MGR)

    assert (only.header.type, only.header.version, only.header.reason) == (PCFType.XR_SUMMARY, 3, 0)
    answer = answer_of(only)
    assert answer[Param.RESPONSE_Q_MGR_NAME] == "QM1"
    assert len(answer[Param.RESPONSE_ID]) == 24


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        (LOCAL, {Int.MAX_Q_DEPTH: 7, Char.Q_DESC: "lower and UPPER", Int.INHIBIT_PUT: 1, Int.SHAREABILITY: 0}),
        (MODEL, {Int.DEFINITION_TYPE: 2, Int.DEF_PRIORITY: 3}),
        (ALIAS, {Char.BASE_OBJECT_NAME: "TARGET", Int.INHIBIT_GET: 1}),
        (REMOTE, {Char.REMOTE_Q_NAME: "THERE", Char.REMOTE_Q_MGR_NAME: "QM9", Char.XMIT_Q_NAME: ""}),
    ],
)
def test_a_queue_of_each_type_is_created_inquired_changed_copied_deleted(
    asked: Asked, kind: int, attributes: dict[int, int | str]
) -> None:
    assert asked.items(PCFCommand.CREATE_Q, {NAME: "Mixed.Case", TYPE: kind, **attributes}) == []
    assert asked.reason(PCFCommand.CREATE_Q, {NAME: "Mixed.Case", TYPE: kind}) == (MQRCCF.OBJECT_ALREADY_EXISTS, 0)
    found = asked.queue("Mixed.Case")
    assert {number: found[number] for number in attributes} == attributes
    assert (found[NAME], found[TYPE]) == ("Mixed.Case", kind)

    asked.items(PCFCommand.CHANGE_Q, {NAME: "Mixed.Case", TYPE: kind, Char.Q_DESC: "changed"})
    asked.items(PCFCommand.COPY_Q, {Param.FROM_Q_NAME: "Mixed.Case", Param.TO_Q_NAME: "COPY", TYPE: kind})
    copied = asked.queue("COPY")
    assert copied[Char.Q_DESC] == "changed"
    assert {number: copied[number] for number in attributes if number != Char.Q_DESC} == {
        number: value for number, value in attributes.items() if number != Char.Q_DESC
    }

    asked.items(PCFCommand.CREATE_Q, {NAME: "COPY", TYPE: kind, Param.REPLACE: 1, Char.Q_DESC: "replaced"})
    assert asked.queue("COPY")[Char.Q_DESC] == "replaced"
    asked.items(PCFCommand.DELETE_Q, {NAME: "COPY"})
    asked.items(PCFCommand.DELETE_Q, {NAME: "Mixed.Case", TYPE: kind})
    assert asked.reason(PCFCommand.INQUIRE_Q, {NAME: "COPY"}) == (2085, 0)


def test_the_status_of_topics_and_subscriptions_has_counts(asked: Asked) -> None:
    connection = asked.group.connect()
    connection.subscribe("a", name="S", options=SubOption.CREATE | SubOption.MANAGED | SubOption.DURABLE)
    with connection.open_topic("a") as topic:
        topic.publish(b"1")
        (status,) = asked.items(PCFCommand.INQUIRE_TOPIC_STATUS, {Char.TOPIC_STRING: "a"})
    assert (status[Int.PUB_COUNT], status[Int.SUB_COUNT]) == (1, 1)
    (status,) = asked.items(PCFCommand.INQUIRE_SUB_STATUS, {Param.SUB_NAME: "S"})
    assert status[Param.MESSAGE_COUNT] == 1
    assert (len(status[Param.LAST_MSG_DATE]), len(status[Param.LAST_MSG_TIME])) == (10, 8)


def test_inquire_returns_the_attributes_that_are_asked_for(asked: Asked) -> None:
    asked.group.define_private("QM1", "ONE", max_depth=9)
    asked.group.connect().put1("ONE", b"x")

    (item,) = asked.items(
        PCFCommand.INQUIRE_Q, {NAME: "ONE", Param.Q_ATTRS: [Int.MAX_Q_DEPTH, Int.CURRENT_Q_DEPTH, Int.CLUSTER_Q_TYPE]}
    )

    # A name and a type are always there; an attribute that does not exist here is left out.
    own = {Param.RESPONSE_ID, Param.RESPONSE_Q_MGR_NAME}
    assert {number: value for number, value in item.items() if number not in own} == {
        NAME: "ONE",
        TYPE: LOCAL,
        Int.MAX_Q_DEPTH: 9,
        Int.CURRENT_Q_DEPTH: 1,
    }


def test_strings_fill_their_fixed_length(asked: Asked) -> None:
    asked.group.define_private("QM1", "ONE")
    message = asked.messages(PCFCommand.INQUIRE_Q, {NAME: "ONE"})[0]
    lengths = {each.parameter: len(getattr(each, "string", b"")) for each in message.parameters}
    assert (lengths[NAME], lengths[Char.Q_DESC], lengths[Char.CREATION_DATE]) == (48, 64, 12)


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        (MQCFIF(Int.MAX_Q_DEPTH, FilterOperator.GREATER, 5), ["T.B"]),
        (MQCFIF(Int.MAX_Q_DEPTH, FilterOperator.NOT_GREATER, 5), ["T.A"]),
        (MQCFIF(Int.INHIBIT_PUT, FilterOperator.EQUAL, 1), ["T.A"]),
        (MQCFIF(Int.SHAREABILITY, FilterOperator.EQUAL, 0), ["T.B"]),
        (MQCFSF(Char.Q_DESC, FilterOperator.LIKE, b"first*"), ["T.A"]),
        (MQCFSF(Char.Q_DESC, FilterOperator.NOT_EQUAL, b"first one"), ["T.B"]),
    ],
)
def test_a_filter_chooses_objects(asked: Asked, condition: MQCFIF | MQCFSF, names: list[str]) -> None:
    asked.group.define_private("QM1", "T.A", max_depth=5, put="DISABLED", description="first one")
    asked.group.define_private("QM1", "T.B", max_depth=6, shareability="NOSHARE")

    items = asked.items(PCFCommand.INQUIRE_Q, {NAME: "T.*", Param.Q_ATTRS: [NAME]}, condition)

    assert [each[NAME] for each in items] == names


def test_names_come_as_a_list_with_types_and_dispositions(asked: Asked) -> None:
    asked.group.define_structure()
    asked.group.define_private("QM1", "T.A")
    asked.group.define_shared("T.S")

    (item,) = asked.items(PCFCommand.INQUIRE_Q_NAMES, {NAME: "T.*"})

    assert item[Param.Q_NAMES] == ["T.A", "T.S"]
    assert item[Param.Q_TYPES] == [LOCAL, LOCAL]
    assert item[Param.QSG_DISPS] == [0, 2]


def test_nothing_that_fits_is_none_found(asked: Asked) -> None:
    assert asked.reason(PCFCommand.INQUIRE_Q, {NAME: "NO.SUCH.*"}) == (MQRCCF.NONE_FOUND, 0)


def test_status_of_a_queue_and_of_its_handles(asked: Asked) -> None:
    asked.group.define_private("QM1", "ONE")
    program = asked.group.connect()
    with program.open("ONE", 16 | 2) as queue:
        queue.put(b"x", MQMD(), options=2)
        (status,) = asked.items(PCFCommand.INQUIRE_Q_STATUS, {NAME: "ONE"})
        (handle,) = asked.items(PCFCommand.INQUIRE_Q_STATUS, {NAME: "ONE", Param.Q_STATUS_TYPE: Param.Q_HANDLE})
        program.backout()

    assert status[Param.UNCOMMITTED_MSGS] == 1
    assert (status[Int.OPEN_INPUT_COUNT], status[Int.OPEN_OUTPUT_COUNT]) == (1, 1)
    assert status[Param.Q_STATUS_TYPE] == Param.Q_STATUS
    # Not monitored, so not available.
    assert (status[Param.OLDEST_MSG_AGE], status[Param.Q_TIME_INDICATOR]) == (-1, [-1, -1])
    assert (handle[Param.OPEN_INPUT_TYPE], handle[Param.OPEN_OUTPUT], handle[Param.OPEN_BROWSE]) == (1, 1, 0)


def test_clear_empties_a_queue_that_is_not_open(asked: Asked) -> None:
    asked.group.define_private("QM1", "ONE")
    program = asked.group.connect()
    program.put1("ONE", b"x")
    with program.open("ONE", 16):
        assert asked.reason(PCFCommand.CLEAR_Q, {NAME: "ONE"}) == (MQRCCF.OBJECT_OPEN, 0)
    asked.items(PCFCommand.CLEAR_Q, {NAME: "ONE"})
    assert asked.queue("ONE")[Int.CURRENT_Q_DEPTH] == 0


def test_a_queue_manager_is_inquired_and_changed(asked: Asked) -> None:
    asked.items(PCFCommand.CHANGE_Q_MGR, {Char.Q_MGR_DESC: "the first", Int.INHIBIT_EVENT: 1})

    (item,) = asked.items(PCFCommand.INQUIRE_Q_MGR)
    assert (item[Char.Q_MGR_NAME], item[Char.Q_MGR_DESC], item[Int.INHIBIT_EVENT]) == ("QM1", "the first", 1)
    (some,) = asked.items(PCFCommand.INQUIRE_Q_MGR, {Param.Q_MGR_ATTRS: [Int.PLATFORM]})
    assert (some[Int.PLATFORM], Char.Q_MGR_DESC in some) == (1, False)
    (status,) = asked.items(PCFCommand.INQUIRE_Q_MGR_STATUS)
    assert status[Param.Q_MGR_STATUS] == 2


def test_a_queue_manager_is_inquired_by_areas(asked: Asked) -> None:
    areas = (Param.Q_MGR_EVENT, Param.Q_MGR_CLUSTER, Param.Q_MGR_PUBSUB, Param.Q_MGR_DQM, Param.Q_MGR_SYSTEM)
    events, clusters, topics, channels, system = (
        asked.items(PCFCommand.INQUIRE_Q_MGR, {Param.Q_MGR_ATTRS: [area]})[0] for area in areas
    )
    assert Int.INHIBIT_EVENT in events
    assert Char.REPOSITORY_NAME in clusters
    assert Int.PUBSUB_MODE in topics
    assert Int.MAX_CHANNELS in channels
    assert Char.DEAD_LETTER_Q_NAME in system
    assert Int.INHIBIT_EVENT not in {**clusters, **topics, **channels, **system}
    (both,) = asked.items(PCFCommand.INQUIRE_Q_MGR, {Param.Q_MGR_ATTRS: [Param.Q_MGR_EVENT, Int.PLATFORM]})
    assert set(both) == {*events, Int.PLATFORM}


def test_every_object_is_inquired_by_a_list_of_attributes(asked: Asked) -> None:
    group = asked.group
    group.define_structure()
    asked.items(PCFCommand.CREATE_PROCESS, {Char.PROCESS_NAME: "P"})
    asked.items(PCFCommand.CREATE_NAMELIST, {Char.NAMELIST_NAME: "N"})
    asked.items(PCFCommand.CREATE_CHANNEL, {Param.CHANNEL_NAME: "C", Param.CHANNEL_TYPE: 7})
    asked.items(PCFCommand.CREATE_LISTENER, {Param.LISTENER_NAME: "L", Param.XMIT_PROTOCOL_TYPE: 2})
    tell_of_listener(group, "L")
    asked.items(PCFCommand.SET_AUTH_REC, _AUTHORITY)
    assert mqsc(group, "ALTER CFSTRUCT(APPL1) OFFLOAD(SMDS) DSGROUP('A.*')\n")[0] == 0
    connection = group.connect()
    connection.subscribe("a", name="S", options=SubOption.CREATE | SubOption.MANAGED | SubOption.DURABLE)
    lists = {word.name: word.shows for word in OBJECTS if word.shows}
    for words in COMMANDS:
        kind = words.objects[0]
        if words.verb != "DISPLAY" or words.number is None or kind not in lists:
            continue
        named_by = next(word.named_by for word in OBJECTS if word.name == kind)
        name: dict[int, Any] = {named_by: "#" if named_by == Char.TOPIC_STRING else "*"} if named_by else {}
        if named_by == Param.CONNECTION_ID:
            name = {Param.GENERIC_CONNECTION_ID: b""}
        if kind in ("SMDS", "SMDSCONN"):
            name |= {Char.CF_STRUC_NAME: "*"}
        figures = next(iter(REPORTS.get(kind, {"": tuple(shown_by(kind).values())}).values()))
        wanted = [each for each in figures if each.mqsc.selector is not None][-1]
        items = asked.items(words.number, {**name, lists[kind]: [int(wanted.mqsc.selector or 0)]})
        assert items, kind


def test_the_publish_subscribe_status_is_inquired(asked: Asked) -> None:
    with asked.group.connect().open_topic("a"):
        (root,) = asked.items(PCFCommand.INQUIRE_TOPIC_STATUS, {Char.TOPIC_STRING: ""})
        assert root[Char.ADMIN_TOPIC_NAME] == "SYSTEM.BASE.TOPIC"
        (publisher,) = asked.items(
            PCFCommand.INQUIRE_TOPIC_STATUS, {Char.TOPIC_STRING: "#", Param.TOPIC_STATUS_TYPE: Param.TOPIC_PUB}
        )
        assert publisher[Char.TOPIC_STRING] == "a"
        (status,) = asked.items(PCFCommand.INQUIRE_PUBSUB_STATUS)
    assert (status[Char.Q_MGR_NAME], status[Param.PUBSUB_STATUS], status[Param.PS_STATUS_TYPE]) == ("QM1", 3, 1)


def test_connections_are_inquired_and_stopped(asked: Asked) -> None:
    program = connect_to(asked.group.group, "QM1")
    token = program.token.encode()

    found = asked.items(PCFCommand.INQUIRE_CONNECTION, {Param.GENERIC_CONNECTION_ID: b""})
    (one,) = [each for each in found if each[Param.CONNECTION_ID] == token]
    assert one[Int.APPL_TYPE] == 25
    (same,) = asked.items(
        PCFCommand.INQUIRE_CONNECTION,
        {Param.CONNECTION_ID: token, Param.CONNECTION_ATTRS: [Param.CHANNEL_NAME, Param.CONNECTION_NAME]},
    )
    assert (same[Param.CHANNEL_NAME], same[Param.CONNECTION_NAME]) == ("", "")

    asked.items(PCFCommand.STOP_CONNECTION, {Param.CONNECTION_ID: token})
    assert asked.reason(PCFCommand.STOP_CONNECTION, {Param.CONNECTION_ID: token})[0] == MQRCCF.CONNECTION_ID_ERROR


def test_structures_are_created_copied_inquired_and_deleted(asked: Asked) -> None:
    asked.items(PCFCommand.CREATE_CF_STRUC, {Char.CF_STRUC_NAME: "ONE", Int.CF_LEVEL: 4, Int.CF_RECOVER: 1})
    asked.items(PCFCommand.COPY_CF_STRUC, {Param.FROM_CF_STRUC_NAME: "ONE", Param.TO_CF_STRUC_NAME: "TWO"})
    asked.items(PCFCommand.CHANGE_CF_STRUC, {Char.CF_STRUC_NAME: "TWO", Char.CF_STRUC_DESC: "second"})

    (two,) = asked.items(PCFCommand.INQUIRE_CF_STRUC, {Char.CF_STRUC_NAME: "TWO"})
    assert (two[Int.CF_LEVEL], two[Int.CF_RECOVER], two[Char.CF_STRUC_DESC]) == (4, 1, "second")
    (names,) = asked.items(PCFCommand.INQUIRE_CF_STRUC_NAMES, {Char.CF_STRUC_NAME: "*"})
    assert {"ONE", "TWO"} <= set(names[Param.CF_STRUC_NAMES])
    (status,) = asked.items(PCFCommand.INQUIRE_CF_STRUC_STATUS, {Char.CF_STRUC_NAME: "TWO"})
    assert (status[Param.CF_STRUC_STATUS], status[Param.CF_STRUC_TYPE]) == (1, 0)
    asked.items(PCFCommand.DELETE_CF_STRUC, {Char.CF_STRUC_NAME: "TWO"})
    assert asked.reason(PCFCommand.INQUIRE_CF_STRUC, {Char.CF_STRUC_NAME: "TWO"})[0] == 2085


def test_a_structure_is_backed_up_and_recovered(asked: Asked) -> None:
    asked.items(PCFCommand.CREATE_CF_STRUC, {Char.CF_STRUC_NAME: "APPL1", Int.CF_RECOVER: 1, Param.REPLACE: 1})
    asked.group.define_shared("T.S")
    asked.items(PCFCommand.BACKUP_CF_STRUC, {Char.CF_STRUC_NAME: "APPL1"})

    (status,) = asked.items(
        PCFCommand.INQUIRE_CF_STRUC_STATUS,
        {Char.CF_STRUC_NAME: "APPL1", Param.CF_STATUS_TYPE: Param.CF_STATUS_BACKUP},
    )
    assert status[Param.BACKUP_DATE]
    assert asked.reason(PCFCommand.RECOVER_CF_STRUC, {Char.CF_STRUC_NAME: "APPL1"})[0] != 0


def test_the_group_is_inquired_member_by_member(asked: Asked) -> None:
    asked.group.add_member("QM2")
    items = asked.items(PCFCommand.INQUIRE_QSG)
    assert [each[Char.Q_MGR_NAME] for each in items] == ["QM1", "QM2"]
    assert {each[Param.Q_MGR_STATUS] for each in items} == {2}


@pytest.mark.parametrize(("kind", "authorities"), [(1, [11]), (8, [19, 20])])
def test_authority_records_are_set_inquired_and_deleted(asked: Asked, kind: int, authorities: list[int]) -> None:
    record: dict[int, Any] = {
        Param.AUTH_PROFILE_NAME: "T.*",
        Param.OBJECT_TYPE: kind,
        Param.PRINCIPAL_ENTITY_NAMES: ["anna"],
    }
    asked.items(PCFCommand.SET_AUTH_REC, {**record, Param.AUTH_ADD_AUTHS: authorities})

    (item,) = asked.items(PCFCommand.INQUIRE_AUTH_RECS, {Param.AUTH_PROFILE_NAME: "T.*", Param.AUTH_OPTIONS: 32})
    assert (item[Param.ENTITY_NAME], item[Param.ENTITY_TYPE], item[Param.OBJECT_TYPE]) == ("anna", 1, kind)
    assert item[Param.AUTHORIZATION_LIST] == authorities
    asked.items(PCFCommand.DELETE_AUTH_REC, record)
    assert asked.reason(PCFCommand.INQUIRE_AUTH_RECS)[0] == MQRCCF.NONE_FOUND


def test_counts_are_reset(asked: Asked) -> None:
    asked.group.define_private("QM1", "ONE")
    assert asked.reason(PCFCommand.RESET_Q_STATS, {NAME: "ONE"})[0] == MQRCCF.EVENTS_DISABLED
    asked.items(PCFCommand.CHANGE_Q_MGR, {Int.PERFORMANCE_EVENT: 1})
    asked.group.connect().put1("ONE", b"x")
    (item,) = asked.items(PCFCommand.RESET_Q_STATS, {NAME: "ONE"})
    assert (item[Int.MSG_ENQ_COUNT], item[Int.MSG_DEQ_COUNT]) == (1, 0)


def test_messages_are_moved(asked: Asked) -> None:
    for name in ("FROM", "TO"):
        asked.group.define_private("QM1", name)
    asked.group.connect().put1("FROM", b"x")
    asked.items(PCFCommand.MOVE_Q, {Param.FROM_Q_NAME: "FROM", Param.TO_Q_NAME: "TO"})
    assert [asked.queue(name)[Int.CURRENT_Q_DEPTH] for name in ("FROM", "TO")] == [0, 1]


def test_a_stop_is_passed_on_to_the_manager(asked: Asked) -> None:
    asked.items(PCFCommand.STOP_Q_MGR, {Param.MODE: 1})
    assert asked.control.stopped == [("QM1", "QUIESCE")]


def test_commands_that_have_nothing_to_do_say_so(asked: Asked) -> None:
    assert asked.reason(PCFCommand.REFRESH_Q_MGR, {Param.REFRESH_TYPE: 1})[0] == MQRCCF.EVENTS_DISABLED
    values: dict[int, Any] = {Param.APPL_TAG: "*", Param.ACTION: 1, Param.Q_MGR_UOW_ID: "*"}
    assert asked.reason(PCFCommand.RESOLVE_INDOUBT, values)[0] == 2085
    assert asked.reason(PCFCommand.START_Q_MGR)[0] == 2298


@pytest.mark.parametrize(
    ("command", "values", "reason"),
    [
        (99_999, {}, (MQRCCF.CFH_COMMAND_ERROR, 0)),
        (PCFCommand.INQUIRE_Q, {}, (MQRCCF.PARM_MISSING, NAME)),
        (PCFCommand.CREATE_Q, {NAME: "A"}, (MQRCCF.PARM_MISSING, TYPE)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 7}, (MQRCCF.Q_TYPE_ERROR, TYPE)),
        (PCFCommand.INQUIRE_Q, {NAME: "*", TYPE: 7}, (MQRCCF.Q_TYPE_ERROR, TYPE)),
        (PCFCommand.CREATE_Q, {NAME: "A B", TYPE: 1}, (MQRCCF.OBJECT_NAME_ERROR, 0)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 1, 1999: 1}, (MQRCCF.CFIN_PARM_ID_ERROR, 1999)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 1, 3999: "x"}, (MQRCCF.CFST_PARM_ID_ERROR, 3999)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 1, 1998: [1]}, (MQRCCF.CFIL_PARM_ID_ERROR, 1998)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 1, Int.INHIBIT_PUT: 5}, (MQRCCF.PARM_VALUE_ERROR, Int.INHIBIT_PUT)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 1, Int.DEF_PRIORITY: 10}, (MQRCCF.PARM_VALUE_ERROR, Int.DEF_PRIORITY)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 1, Param.REPLACE: 2}, (MQRCCF.REPLACE_VALUE_ERROR, Param.REPLACE)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 1, Param.PURGE: 1}, (MQRCCF.CFIN_PARM_ID_ERROR, Param.PURGE)),
        (PCFCommand.CREATE_Q, {NAME: "A", TYPE: 3, Int.MAX_Q_DEPTH: 1}, (MQRCCF.CFIN_PARM_ID_ERROR, Int.MAX_Q_DEPTH)),
        (PCFCommand.INQUIRE_Q, {NAME: "*", Param.Q_ATTRS: [9999]}, (MQRCCF.PARM_VALUE_ERROR, Param.Q_ATTRS)),
        (PCFCommand.INQUIRE_Q, {NAME: "*", Param.COMMAND_SCOPE: "QM9"}, (MQRCCF.COMMAND_SCOPE_ERROR, 0)),
        (PCFCommand.CLEAR_Q, {NAME: "A", Param.COMMAND_SCOPE: "*"}, (MQRCCF.COMMAND_SCOPE_ERROR, 0)),
        (PCFCommand.DELETE_Q, {NAME: "A"}, (2085, 0)),
        (PCFCommand.SET_AUTH_REC, {Param.AUTH_ADD_AUTHS: [99]}, (MQRCCF.AUTH_VALUE_ERROR, Param.AUTH_ADD_AUTHS)),
        (PCFCommand.SET_AUTH_REC, {Param.AUTH_ADD_AUTHS: [11]}, (MQRCCF.PARM_MISSING, 0)),
    ],
)
def test_a_wrong_request_gets_its_reason(
    asked: Asked, command: int, values: dict[int, object], reason: tuple[int, int]
) -> None:
    assert asked.reason(command, values) == reason


def test_a_wrong_filter_gets_its_reason(asked: Asked) -> None:
    one = MQCFIF(Int.MAX_Q_DEPTH, FilterOperator.EQUAL, 1)
    for wrong, reason in (
        ((one, one), MQRCCF.TOO_MANY_FILTERS),
        ((MQCFIF(1998, FilterOperator.EQUAL, 1),), MQRCCF.CFIF_PARM_ID_ERROR),
        ((MQCFIF(Int.MAX_Q_DEPTH, FilterOperator.CONTAINS, 1),), MQRCCF.CFIF_OPERATOR_ERROR),
        ((MQCFSF(Int.MAX_Q_DEPTH, FilterOperator.EQUAL, b"1"),), MQRCCF.CFSF_PARM_ID_ERROR),
    ):
        assert asked.reason(PCFCommand.INQUIRE_Q, {NAME: "*"}, *wrong)[0] == reason


def test_standard_responses_answer_a_standard_command(asked: Asked) -> None:
    for name in ("T.A", "T.B"):
        asked.group.define_private("QM1", name)
    found = asked.messages(PCFCommand.INQUIRE_Q, {NAME: "T.*", Param.Q_ATTRS: [NAME]}, kind=PCFType.COMMAND)
    assert [(each.header.type, each.header.version) for each in found] == [(PCFType.RESPONSE, 1)] * 2
    assert [answer_of(each) for each in found] == [{NAME: name, TYPE: LOCAL} for name in ("T.A", "T.B")]
    (ping,) = asked.messages(PCFCommand.PING_Q_MGR, kind=PCFType.COMMAND)
    assert (ping.header.type, ping.header.comp_code, ping.parameters) == (PCFType.RESPONSE, 0, ())
    (failed,) = asked.messages(PCFCommand.INQUIRE_Q, {NAME: "NONE"}, kind=PCFType.COMMAND)
    assert (failed.header.type, failed.header.comp_code, failed.header.reason) == (PCFType.RESPONSE, 2, 2085)


def test_a_command_scope_gets_a_set_of_answers_of_each_member(asked: Asked) -> None:
    for name in ("QM2", "QM3"):
        asked.group.add_member(name)
    found = [
        (each.header, answer_of(each))
        for each in asked.messages(
            PCFCommand.INQUIRE_Q_MGR, {Param.Q_MGR_ATTRS: [Char.Q_MGR_NAME], Param.COMMAND_SCOPE: "*"}
        )
    ]

    assert [header.type for header, _ in found] == [
        PCFType.XR_MSG, *[PCFType.XR_ITEM, PCFType.XR_SUMMARY] * 3, PCFType.XR_MSG, PCFType.XR_SUMMARY
    ]  # fmt: skip
    accepted, completed = found[0][1], found[-2][1]
    assert (accepted[Param.COMMAND_INFO], accepted[Param.CMDSCOPE_Q_MGR_COUNT]) == (1, 3)
    assert completed[Param.COMMAND_INFO] == 3
    items = [answer for header, answer in found if header.type == PCFType.XR_ITEM]
    assert [(each[Char.Q_MGR_NAME], each[Param.RESPONSE_Q_MGR_NAME]) for each in items] == [
        (name, name) for name in ("QM1", "QM2", "QM3")
    ]
    sets = [each[Param.RESPONSE_ID] for _, each in found]
    assert len(set(sets)) == 5


def test_a_user_without_authority_is_refused(asked: Asked) -> None:
    Authorities(asked.group.group).change("SYSTEM.ADMIN.COMMAND.QUEUE", "anna", add=["PUT"])
    body = request(PCFCommand.PING_Q_MGR)

    def reasons(user: bytes) -> set[int]:
        done = asked.processor.process(descriptor(user_identifier=user), body)
        return {read(each).header.reason for each in done.replies}

    assert reasons(b"anna") == {0}
    assert reasons(b"bert") == {2035, MQRCCF.COMMAND_FAILED}


def test_a_request_that_was_backed_out_again_and_again_is_refused(asked: Asked) -> None:
    done = asked.processor.process(descriptor(backout_count=3), request(PCFCommand.PING_Q_MGR))
    assert read(done.replies[0]).header.reason == MQRCCF.COMMAND_FAILED


def test_a_request_may_be_written_as_a_mainframe_writes_it(asked: Asked) -> None:
    host = Representation(500, 785)
    asked.group.define_private("QM1", "ONE")
    command = PCFMessage(
        MQCFH(PCFType.COMMAND_XR, 3, PCFCommand.INQUIRE_Q), (MQCFST(NAME, "ONE".encode("cp500").ljust(48, b"\x40")),)
    )
    done = asked.processor.process(descriptor(encoding=785, coded_char_set_id=500), write(command, host))
    assert answer_of(read(done.replies[0]))[NAME] == "ONE"
