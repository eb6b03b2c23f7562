"""The MQMDE: group and segment of a message beside a version-1 MQMD, on MQPUT, MQPUT1 and MQGET."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.extension import EXTENSION_LENGTH
from sharedq.messages.transmission import as_put
from sharedq.mqi.constants import MQCC, MQRC, Format, GetOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.headers import MQMDE
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO
from sharedq.mqi.wire import MDE, XQH_LENGTH
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.properties.handle import MessageHandle
from tests.support.groups import BOTH, LMIG, LSEG, MAY_SEGMENT, MIG, SEG, drain, put_member
from tests.support.members import TestGroup

GROUP = b"G" * 24
STRING = 819


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.define_shared("Q")
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH)


def extension(**fields: Any) -> bytes:
    given: dict[str, Any] = {
        "group_id": GROUP,
        "msg_flags": MIG,
        "coded_char_set_id": STRING,
        "format": b"MQSTR",
    } | fields
    return MDE.pack(MQMDE(**given))


def version_1(**fields: Any) -> MQMD:
    return MQMD(format=Format.MD_EXTENSION, **fields)


def put(queue: Queue, md: MQMD, body: bytes, options: int = 0) -> MQRC:
    return verbs.mqput(queue.connection, queue.handle, md, MQPMO(options=options), body)[1]


def get(queue: Queue, room: int = 1000, options: int = 0, **fields: Any) -> tuple[MQMD, bytes, int, MQRC]:
    md = MQMD(**fields)
    body, length, _, reason = verbs.mqget(queue.connection, queue.handle, md, MQGMO(options=options), room)
    return md, body, length, reason


@pytest.mark.rule("mqi/groups", "The fields of a valid MQMDE in front of the data are those of the message.")
@pytest.mark.parametrize("md", [version_1(), version_1(version=2)], ids=["version 1", "version 2 with defaults"])
def test_an_mqmde_is_honoured(queue: Queue, md: MQMD) -> None:
    assert put(queue, md, extension(msg_seq_number=3, msg_flags=LMIG) + b"data") == MQRC.NONE
    assert md.format == Format.MD_EXTENSION
    assert md.msg_id.strip(b"\0")
    assert md.group_id == (GROUP if md.version > 1 else bytes(24))
    message = queue.get()
    found = message.md
    assert (message.body, found.format.strip(), found.coded_char_set_id) == (b"data", b"MQSTR", STRING)
    assert (found.group_id, found.msg_seq_number, found.msg_flags, found.offset) == (GROUP, 3, MIG | LMIG, 0)
    assert found.msg_id == md.msg_id


def test_mqput1_and_many_puts_honour_it(connection: QueueManagerConnection, queue: Queue) -> None:
    od, pmo = MQOD(object_name=b"Q"), MQPMO()
    assert verbs.mqput1(connection.connection, od, version_1(), pmo, extension() + b"1")[0] == MQCC.OK
    connection.put1("Q", extension(msg_seq_number=2) + b"2", version_1())
    mds = queue.put_many(
        [(version_1(), extension(msg_seq_number=3, msg_flags=LMIG) + b"3"), (MQMD(format=b"MQSTR"), b"plain")]
    )
    assert [md.format for md in mds] == [Format.MD_EXTENSION, b"MQSTR"]
    assert all(md.msg_id.strip(b"\0") for md in mds)
    assert drain(queue, GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE) == [b"1", b"2", b"3", b"plain"]


@pytest.mark.rule("mqi/groups", "An MQMDE is data beside version-2 fields that are not the defaults.")
@pytest.mark.parametrize(
    "md",
    [
        version_1(version=2, group_id=b"H" * 24, msg_flags=MIG),
        version_1(version=2, msg_flags=MAY_SEGMENT),
        version_1(encoding=0x111),
        version_1(coded_char_set_id=500),
    ],
    ids=["a group", "flags", "another encoding", "another character set"],
)
def test_an_mqmde_is_data(queue: Queue, md: MQMD) -> None:
    asked = replace(md)
    data = extension() + b"data"
    assert put(queue, md, data) == MQRC.NONE
    message = queue.get()
    assert (message.body, message.md.format.strip(), message.md.msg_flags) == (data, b"MQHMDE", asked.msg_flags)


def test_an_mqmde_of_an_unknown_version_is_data(queue: Queue) -> None:
    data = bytearray(extension())
    data[4] = 3
    assert put(queue, version_1(), bytes(data)) == MQRC.NONE
    assert queue.get().body == bytes(data)


@pytest.mark.rule("mqi/groups", "A put with an MQMDE that is not valid fails with 2248, or the code of the field.")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", MQRC.MDE_ERROR),
        (extension()[:71], MQRC.MDE_ERROR),
        (b"MDX " + extension()[4:], MQRC.MDE_ERROR),
        (extension(struc_length=76), MQRC.MDE_ERROR),
        (extension(coded_char_set_id=0), MQRC.MDE_ERROR),
        (extension(coded_char_set_id=-1), MQRC.MDE_ERROR),
        (extension(msg_flags=MIG | 0x80), MQRC.MSG_FLAGS_ERROR),
        (extension(msg_seq_number=0), MQRC.MSG_SEQ_NUMBER_ERROR),
        (extension(msg_flags=SEG, offset=-1) + b"data", MQRC.OFFSET_ERROR),
        (extension(msg_flags=SEG), MQRC.SEGMENT_LENGTH_ZERO),
    ],
)
def test_an_invalid_mqmde_is_refused(queue: Queue, data: bytes, reason: MQRC) -> None:
    for version in (1, 2):
        md = version_1(version=version, persistence=2)
        asked = replace(md)
        assert put(queue, md, data) == reason
        assert md == asked
    with pytest.raises(MQIError):
        queue.put_many([(MQMD(), b"before"), (version_1(), data)])
    assert drain(queue) == []


def test_random_bytes_after_the_format_raise_reasons_only(queue: Queue) -> None:
    dice = random.Random(7)
    for _ in range(300):
        data = bytearray(extension() + b"data")
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        put(queue, version_1(), bytes(data[: dice.choice((len(data), dice.randrange(len(data))))]))
    while True:
        md, body, length, reason = get(queue)
        if reason:
            break
        assert len(body) == length
        assert (md.format == Format.MD_EXTENSION) == (body[:4] == b"MDE ")
    assert reason == MQRC.NO_MSG_AVAILABLE


def test_logical_order_is_for_version_2(queue: Queue) -> None:
    assert put(queue, version_1(), extension(), int(PutOption.LOGICAL_ORDER)) == MQRC.WRONG_MD_VERSION
    assert put(queue, version_1(version=2), extension() + b"1", int(PutOption.LOGICAL_ORDER)) == MQRC.NONE


def test_data_in_the_character_set_of_the_mqmde(queue: Queue) -> None:
    assert put(queue, version_1(coded_char_set_id=1208), extension(coded_char_set_id=-2) + b"x") == MQRC.NONE
    assert queue.get().md.coded_char_set_id == 1208


@pytest.mark.rule("mqi/groups", "A get with a version-1 MQMD puts an MQMDE in front of a group's member, or a segment.")
@pytest.mark.parametrize("options", [0, GetOption.BROWSE_FIRST, GetOption.SYNCPOINT, GetOption.WAIT])
def test_a_get_with_version_1_makes_an_mqmde(queue: Queue, options: int) -> None:
    put_member(queue, GROUP, 2, b"data", format=b"MQSTR", coded_char_set_id=STRING)
    md, body, length, reason = get(queue, options=int(options))
    assert (reason, length) == (MQRC.NONE, EXTENSION_LENGTH + 4)
    assert (md.format.strip(), md.encoding, md.coded_char_set_id) == (b"MQHMDE", 0x222, 1208)
    assert (md.group_id, md.msg_seq_number, md.msg_flags) == (bytes(24), 1, 0)
    assert body == extension(msg_seq_number=2) + b"data"


def test_what_was_got_can_be_put_again(queue: Queue) -> None:
    put_member(queue, GROUP, 2, b"data", LMIG)
    md, body, _, _ = get(queue)
    assert put(queue, md, body) == MQRC.NONE
    found = queue.get()
    assert (found.body, found.md.group_id, found.md.msg_seq_number, found.md.msg_flags) == (
        b"data",
        GROUP,
        2,
        MIG | LMIG,
    )


def test_a_message_in_no_group_comes_without(queue: Queue) -> None:
    put_member(queue, GROUP, 1, b"member")
    queue.put(b"plain", MQMD(format=b"MQSTR"))
    assert get(queue)[1].endswith(b"member")
    md, body, length, reason = get(queue, 5)
    assert (md.format.strip(), body, length, reason) == (b"MQSTR", b"plain", 5, MQRC.NONE)


@pytest.mark.rule("mqi/groups", "The MQMDE of a get counts for the length of its buffer.")
@pytest.mark.parametrize("browses", [0, int(GetOption.BROWSE_FIRST)])
@pytest.mark.parametrize("room", [0, 1, 71, 72, 75])
def test_a_buffer_without_room_for_the_mqmde(queue: Queue, room: int, browses: int) -> None:
    put_member(queue, GROUP, 1, b"data")
    whole = extension(coded_char_set_id=1208, format=b"") + b"data"
    for _ in range(2):
        _, body, length, reason = get(queue, room, browses)
        assert (body, length, reason) == (whole[:room], len(whole), MQRC.TRUNCATED_MSG_FAILED)
    accepted = browses | int(GetOption.ACCEPT_TRUNCATED_MSG)
    _, body, length, reason = get(queue, room, accepted)
    assert (body, length, reason) == (whole[:room], len(whole), MQRC.TRUNCATED_MSG_ACCEPTED)
    assert drain(queue) == ([b"data"] if browses else [])


def test_an_empty_member_needs_room_for_its_mqmde(queue: Queue) -> None:
    put_member(queue, GROUP, 1, b"")
    assert get(queue, 71)[3] == MQRC.TRUNCATED_MSG_FAILED
    assert get(queue, 72)[2:] == (72, MQRC.NONE)


def test_a_logical_message_has_one_mqmde(queue: Queue) -> None:
    put_member(queue, GROUP, 1, b"a" * 16, SEG)
    put_member(queue, GROUP, 1, b"b", LSEG, offset=16)
    complete = int(GetOption.COMPLETE_MSG)
    assert get(queue, 88, complete)[2:] == (89, MQRC.TRUNCATED_MSG_FAILED)
    _, body, length, reason = get(queue, 89, complete)
    assert (length, reason, body[72:]) == (89, MQRC.NONE, b"a" * 16 + b"b")
    assert MDE.unpack(body).msg_flags == SEG | LSEG


def test_the_data_are_converted_and_the_mqmde_says_so(queue: Queue) -> None:
    put_member(queue, GROUP, 1, "é".encode("latin-1"), format=b"MQSTR", coded_char_set_id=STRING)
    convert = int(GetOption.CONVERT)
    browse = convert | int(GetOption.BROWSE_FIRST)
    # One byte on the queue, two when it is converted.
    _, body, length, reason = get(queue, 73, browse, coded_char_set_id=1208)
    assert (reason, length, body[72:]) == (MQRC.CONVERTED_MSG_TOO_BIG, 73, b"\xe9")
    md, body, length, reason = get(queue, 74, convert, coded_char_set_id=1208)
    assert (reason, length, body[72:], md.coded_char_set_id) == (MQRC.NONE, 74, "é".encode(), 1208)
    assert MDE.unpack(body).coded_char_set_id == 1208


def test_properties_after_an_mqmde(queue: Queue) -> None:
    sent = MessageHandle()
    sent.set("colour", "red")
    queue.put(extension() + b"data", version_1(), properties=sent)
    got = MessageHandle()
    message = queue.get(GetOption.BROWSE_FIRST, properties=got)
    assert (message.body, message.md.format.strip(), got.inquire("colour").value) == (b"data", b"MQSTR", "red")
    none = int(GetOption.NO_PROPERTIES)
    assert get(queue, 75, none)[2:] == (76, MQRC.TRUNCATED_MSG_FAILED)
    md, body, length, reason = get(queue, 76, none)
    assert (md.format.strip(), body, length, reason) == (b"MQHMDE", extension() + b"data", 76, MQRC.NONE)


def test_a_publication_with_an_mqmde(connection: QueueManagerConnection) -> None:
    subscription = connection.subscribe("prices")
    with connection.open_topic("prices") as topic:
        topic.publish(extension(msg_flags=0, group_id=bytes(24)) + b"1", version_1())
    assert subscription.queue is not None
    message = subscription.queue.get()
    assert (message.body, message.md.format.strip()) == (b"1", b"MQSTR")


def test_a_program_of_version_1_passes_groups_on(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    group.define_shared("NEXT")
    target = connection.open("NEXT", BOTH)
    put_member(queue, GROUP, 1, b"one")
    put_member(queue, GROUP, 2, b"two", LMIG)
    for _ in range(2):
        md, body, _, reason = get(queue)
        assert reason == MQRC.NONE
        assert put(target, MQMD(format=md.format, encoding=md.encoding), body) == MQRC.NONE
    assert drain(target, GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE) == [b"one", b"two"]


@pytest.mark.parametrize("igq", ["ENABLED", "DISABLED"])
def test_on_a_transmission_queue_it_is_after_the_header(pair: TestGroup, igq: str) -> None:
    for qmgr in ("QM1", "QM2"):
        pair.repository(qmgr).alter_qmgr(qmgr, {"igq": igq})
    pair.define_private("QM1", "QM2", usage="XMITQ")
    pair.connect("QM1").put1("IN", extension() + b"data", version_1(), qmgr_name="QM2")
    where = ("QM2", SYSTEM_QSG_TRANSMIT_QUEUE) if igq == "ENABLED" else ("QM1", "QM2")
    with pair.connect(where[0]).open(where[1], BOTH) as queue:
        whole = XQH_LENGTH + EXTENSION_LENGTH + 4
        assert get(queue, whole - 1)[2:] == (whole, MQRC.TRUNCATED_MSG_FAILED)
        md, body, length, reason = get(queue, whole)
    assert (md.format.strip(), length, reason) == (b"MQXMIT", whole, MQRC.NONE)
    header, inner, data = as_put(body)
    assert (header.remote_q_name, inner.group_id, inner.msg_flags, data) == (b"IN", GROUP, MIG, b"data")
