"""MQGMO_CONVERT on a queue: the returned data, the descriptor, and the fate of the message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharedq import MQIError, Queue, verbs
from sharedq.messages.message import Message
from sharedq.mqi import wire
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQCC, MQRC, Encoding, Format, GetOption, PutOption
from sharedq.mqi.conversion.structures import STRUCTURES
from sharedq.mqi.headers import MQMDE
from sharedq.mqi.pcf.structures import MQCFH, MQCFIN, MQCFST, PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQGMO, MQMD
from tests.support import layouts
from tests.support.examples import examples
from tests.support.groups import BOTH, LSEG, MAY_SEGMENT, MIG, SEG, drain, put_member
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

CONVERT = int(GetOption.CONVERT)
CUT = int(GetOption.ACCEPT_TRUNCATED_MSG)
BROWSE = int(GetOption.BROWSE_FIRST)
LATIN1, UTF8, EBCDIC = 819, 1208, 500
NORMAL, REVERSED = int(Encoding.NORMAL), int(Encoding.REVERSED)


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("ORDERS")
    return group.connect().open("ORDERS", BOTH)


def put(queue: Queue, body: bytes, ccsid: int = LATIN1, format_: bytes = Format.STRING, **fields: Any) -> None:
    queue.put(body, MQMD(coded_char_set_id=ccsid, format=format_, **fields))


def get(queue: Queue, ccsid: int, options: int = CONVERT, *, encoding: int = REVERSED, **kwargs: Any) -> Message:
    return queue.get(options, match=MQMD(version=2, coded_char_set_id=ccsid, encoding=encoding), **kwargs)


def is_empty(queue: Queue) -> bool:
    with pytest.raises(MQIError) as caught:
        queue.get()
    return caught.value.reason == MQRC.NO_MSG_AVAILABLE


def described(message: Message) -> tuple[bytes, int, int, MQRC]:
    return message.body, message.md.coded_char_set_id, message.md.encoding, message.reason


@pytest.mark.rule(
    "mqi/conversion",
    "CONVERT converts data to CodedCharSetId and Encoding of the descriptor given, which then describe them.",
)
def test_text_is_converted_to_what_the_descriptor_asks_for(queue: Queue) -> None:
    put(queue, b"Z\xfcrich")
    assert described(get(queue, UTF8, CONVERT | BROWSE)) == (b"Z\xc3\xbcrich", UTF8, REVERSED, MQRC.NONE)
    assert described(get(queue, EBCDIC, CONVERT | BROWSE, encoding=NORMAL)) == (
        b"\xe9\xdc\x99\x89\x83\x88",
        EBCDIC,
        NORMAL,
        MQRC.NONE,
    )
    message = get(queue, 1200, encoding=NORMAL)
    assert described(message) == (b"\0Z\0\xfc\0r\0i\0c\0h", 1200, NORMAL, MQRC.NONE)
    assert message.data_length == 12
    assert is_empty(queue)


def test_without_the_option_data_come_as_they_were_put(queue: Queue) -> None:
    put(queue, b"\xfc")
    assert described(get(queue, UTF8, 0)) == (b"\xfc", LATIN1, REVERSED, MQRC.NONE)


@pytest.mark.rule(
    "mqi/conversion", "CodedCharSetId 0 means the manager's CCSID as it was at MQCONN, and is never returned."
)
def test_zero_asks_for_the_character_set_of_the_queue_manager(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    utf8 = group.connect().open("ORDERS", BOTH)
    group.repository("QM1").alter_qmgr("QM1", {"ccsid": EBCDIC})
    ebcdic = group.connect().open("ORDERS", BOTH)

    put(utf8, b"\xfc")
    assert described(get(ebcdic, 0, CONVERT | BROWSE)) == (b"\xdc", EBCDIC, REVERSED, MQRC.NONE)
    assert described(get(utf8, 0)) == ("ü".encode(), UTF8, REVERSED, MQRC.NONE)

    # A message put with it has the number of the manager at which it is put.
    put(utf8, "ü".encode(), ccsid=0)
    put(ebcdic, b"\xdc", ccsid=0)
    assert [described(get(ebcdic, LATIN1)) for _ in range(2)] == [(b"\xfc", LATIN1, REVERSED, MQRC.NONE)] * 2
    md = MQMD()
    ebcdic.put(b"\xdc", md)
    assert (md.coded_char_set_id, utf8.get().md.coded_char_set_id) == (0, EBCDIC)


@pytest.mark.rule(
    "mqi/conversion", "Data that cannot be converted come unconverted with their own descriptor fields and a warning."
)
@pytest.mark.parametrize(
    ("body", "ccsid", "format_", "asked", "reason"),
    [
        (b"\xfc", LATIN1, Format.NONE, UTF8, MQRC.FORMAT_ERROR),
        (b"\xfc", LATIN1, b"MYOWN", UTF8, MQRC.FORMAT_ERROR),
        (b"\xfc", 7, Format.STRING, UTF8, MQRC.SOURCE_CCSID_ERROR),
        (b"\xfc", LATIN1, Format.STRING, 7, MQRC.TARGET_CCSID_ERROR),
        (b"\xfc", UTF8, Format.STRING, LATIN1, MQRC.NOT_CONVERTED),
        ("日".encode(), UTF8, Format.STRING, LATIN1, MQRC.NOT_CONVERTED),
    ],
)
def test_unconvertible_data_is_returned_unchanged_with_a_warning(
    queue: Queue, body: bytes, ccsid: int, format_: bytes, asked: int, reason: MQRC
) -> None:
    put(queue, body, ccsid, format_, encoding=NORMAL)
    md, gmo = MQMD(version=2, coded_char_set_id=asked), MQGMO(version=3, options=CONVERT)
    outcome = verbs.mqget(queue.connection, queue.handle, md, gmo, 100)
    assert outcome == (body, len(body), MQCC.WARNING, reason)
    assert (md.coded_char_set_id, md.encoding, gmo.returned_length) == (ccsid, NORMAL, len(body))
    assert is_empty(queue)


@pytest.mark.rule(
    "mqi/conversion",
    "CONVERT does nothing to data that are as asked, that are empty, or for which the buffer has no room at all.",
)
def test_data_that_needs_no_conversion_has_no_warning(queue: Queue) -> None:
    put(queue, b"\xff", UTF8, Format.NONE)
    assert described(get(queue, UTF8)) == (b"\xff", UTF8, REVERSED, MQRC.NONE)
    # No data, and no room for any: the descriptor describes the message.
    put(queue, b"", LATIN1)
    assert described(get(queue, UTF8)) == (b"", LATIN1, REVERSED, MQRC.NONE)
    put(queue, b"\xfc", LATIN1)
    assert described(get(queue, UTF8, CONVERT | CUT, max_length=0)) == (
        b"",
        LATIN1,
        REVERSED,
        MQRC.TRUNCATED_MSG_ACCEPTED,
    )


@pytest.mark.rule(
    "mqi/conversion",
    "Data that fit only unconverted end with 2120; with ACCEPT_TRUNCATED_MSG they are converted and cut (2079).",
)
def test_a_message_that_fits_until_it_is_converted(queue: Queue) -> None:
    put(queue, b"Z\xfcrich")
    message = get(queue, UTF8, CONVERT | BROWSE, max_length=6)
    assert described(message) == (b"Z\xfcrich", LATIN1, REVERSED, MQRC.CONVERTED_MSG_TOO_BIG)
    assert message.data_length == 6
    message = get(queue, UTF8, CONVERT | CUT, max_length=6)
    assert described(message) == (b"Z\xc3\xbcric", UTF8, REVERSED, MQRC.TRUNCATED_MSG_ACCEPTED)
    # Truncated data is measured as it was on the queue.
    assert message.data_length == 6
    put(queue, b"Z\xfcrich")
    assert get(queue, UTF8, max_length=6).reason == MQRC.CONVERTED_MSG_TOO_BIG
    assert is_empty(queue)


@pytest.mark.rule(
    "mqi/conversion", "Data that are cut are converted only with ACCEPT_TRUNCATED_MSG, and no character is torn."
)
def test_a_message_that_is_cut_before_it_is_converted(queue: Queue) -> None:
    put(queue, "Züri".encode(), UTF8)
    message = get(queue, LATIN1, max_length=2)
    assert described(message) == (b"Z\xc3", UTF8, REVERSED, MQRC.TRUNCATED_MSG_FAILED)
    message = get(queue, LATIN1, CONVERT | CUT, max_length=2)
    assert described(message) == (b"Z", LATIN1, REVERSED, MQRC.TRUNCATED_MSG_ACCEPTED)
    assert message.data_length == 5
    assert is_empty(queue)


@pytest.mark.rule("mqi/conversion", "CONVERT does not change the message on the queue.")
def test_a_backout_returns_the_message_as_it_was(queue: Queue, group: TestGroup) -> None:
    connection = group.connect()
    other = connection.open("ORDERS", BOTH)
    put(queue, b"\xfc")
    assert get(other, UTF8, CONVERT | int(GetOption.SYNCPOINT)).body == "ü".encode()
    connection.backout()
    assert described(queue.get()) == (b"\xfc", LATIN1, REVERSED, MQRC.NONE)


def test_a_batch_is_converted_to_the_character_set_of_the_queue_manager(queue: Queue) -> None:
    put(queue, b"\xfc")
    put(queue, b"\xdc", EBCDIC)
    put(queue, b"\xdc", EBCDIC, Format.NONE)
    put(queue, b"\xfc")
    assert [described(message) for message in queue.get_many(3, CONVERT)] == [
        ("ü".encode(), UTF8, REVERSED, MQRC.NONE),
        ("ü".encode(), UTF8, REVERSED, MQRC.NONE),
        (b"\xdc", EBCDIC, REVERSED, MQRC.FORMAT_ERROR),
    ]
    assert described(queue.commit_and_get(CONVERT)) == ("ü".encode(), UTF8, REVERSED, MQRC.NONE)


# -- headers -----------------------------------------------------------------------------------------------------


def test_get_without_the_option_leaves_headers_as_they_are(queue: Queue) -> None:
    for layout in layouts.LAYOUTS.values():
        body = layouts.built(layout, layouts.HOST)
        queue.put(body, MQMD(format=layout.format, encoding=layouts.HOST.encoding, coded_char_set_id=EBCDIC))
        assert described(get(queue, UTF8, 0)) == (body, EBCDIC, layouts.HOST.encoding, MQRC.NONE)


@pytest.mark.parametrize("name", layouts.HEADERS)
def test_a_header_and_its_string_from_a_host_and_to_it(queue: Queue, name: str) -> None:
    layout = layouts.LAYOUTS[name]
    keeps = name in layouts.WITHOUT_OWN

    def message(how: Representation) -> bytes:
        told = Representation(0, 0) if keeps else how
        front = layouts.built(layout, how, following=told, format_=Format.STRING)
        return front + layouts.text("Zürich", how)

    here, there = Representation(UTF8, REVERSED), layouts.HOST
    for source, target in ((there, here), (here, there)):
        md = MQMD(format=layout.format, encoding=source.encoding, coded_char_set_id=source.ccsid)
        # Beside flags an MQMDE is data.
        queue.put(message(source), replace(md, version=2, msg_flags=MAY_SEGMENT))
        got = get(queue, target.ccsid, encoding=target.encoding)
        assert described(got) == (message(target), *target, MQRC.NONE)
        assert got.data_length == len(message(target))
    assert is_empty(queue)


@pytest.mark.rule("mqi/conversion", "Data that are cut within a header come as they were put, with 2110.")
def test_a_header_that_is_cut(queue: Queue) -> None:
    body = layouts.built(layouts.LAYOUTS["MQDLH"], layouts.HOST)
    queue.put(body, MQMD(format=Format.DEAD_LETTER_HEADER, encoding=layouts.HOST.encoding, coded_char_set_id=EBCDIC))
    got = get(queue, UTF8, CONVERT | CUT, max_length=100)
    assert got.data_length == len(body)
    assert described(got) == (body[:100], EBCDIC, layouts.HOST.encoding, MQRC.FORMAT_ERROR)


def test_three_headers_and_a_pcf_message_from_a_host(queue: Queue) -> None:
    def message(how: Representation) -> bytes:
        names = ("MQXQH", "MQDLH", "MQRFH2")
        chain = [layouts.LAYOUTS[each] for each in names]
        formats = [layout.format for layout in chain[1:]] + [Format.EVENT]
        event = PCFMessage(MQCFH(type=7, command=44), (MQCFST(2016, layouts.text("ORDERS", how)), MQCFIN(1, 7)))
        return b"".join(
            layouts.built(layout, how, following=how, format_=format_)
            for layout, format_ in zip(chain, formats, strict=True)
        ) + write(event, how)

    host = layouts.HOST
    queue.put(message(host), MQMD(format=Format.XMIT_Q_HEADER, encoding=host.encoding, coded_char_set_id=EBCDIC))
    expected = message(Representation(LATIN1, REVERSED))
    assert described(get(queue, LATIN1)) == (expected, LATIN1, REVERSED, MQRC.NONE)


def test_characters_are_converted_with_a_connection_that_is_there(queue: Queue) -> None:
    connection = queue.connection
    assert verbs.mqxcnvc(connection, 0, LATIN1, b"\xfc", UTF8, 2) == ("ü".encode(), 2, MQCC.OK, MQRC.NONE)
    assert verbs.mqxcnvc(connection, 0, LATIN1, b"\xfc", 7, 2) == (b"", 0, MQCC.FAILED, MQRC.TARGET_CCSID_ERROR)
    verbs.mqdisc(connection)
    found = verbs.mqxcnvc(connection, 0, LATIN1, b"\xfc", UTF8, 2)
    assert found == (b"", 0, MQCC.FAILED, MQRC.HCONN_ERROR)


REFUSED_CONVERSIONS = {
    "an unknown target": ((0, LATIN1, b"\xfc", 7, 2), MQRC.TARGET_CCSID_ERROR),
    "an unknown source": ((0, 7, b"\xfc", UTF8, 2), MQRC.SOURCE_CCSID_ERROR),
    "characters that the target does not have": ((0, UTF8, "€".encode(), LATIN1, 2), MQRC.NOT_CONVERTED),
    "no characters of the source": ((0, UTF8, b"\xff", LATIN1, 2), MQRC.DBCS_ERROR),
    "a negative length": ((0, LATIN1, b"\xfc", UTF8, -1), MQRC.TARGET_LENGTH_ERROR),
    "unknown options": ((1 << 30, LATIN1, b"\xfc", UTF8, 2), MQRC.OPTIONS_ERROR),
}


@pytest.mark.parametrize("refused", REFUSED_CONVERSIONS)
def test_a_refused_mqxcnvc_leaves_its_connection_and_the_unit_of_work(queue: Queue, refused: str) -> None:
    arguments, reason = REFUSED_CONVERSIONS[refused]
    queue.put(b"kept", options=PutOption.SYNCPOINT)
    assert verbs.mqxcnvc(queue.connection, *arguments) == (b"", 0, MQCC.FAILED, reason)
    assert verbs.mqcmit(queue.connection) == (MQCC.OK, MQRC.NONE)
    assert queue.get().body == b"kept"


# -- with groups and segments ------------------------------------------------------------------------------------


def put_segment(queue: Queue, offset: int, body: bytes, flags: int, ccsid: int = LATIN1) -> None:
    put_member(queue, b"s", 1, body, flags, offset=offset, coded_char_set_id=ccsid, format=Format.STRING)


@pytest.mark.rule("mqi/conversion", "A logical message is converted after it is put together.")
def test_a_logical_message_is_converted_when_it_has_been_put_together(queue: Queue) -> None:
    put_segment(queue, 0, b"Z\xc3", SEG, UTF8)
    put_segment(queue, 2, b"\xbcrich", LSEG, UTF8)
    message = get(queue, LATIN1, CONVERT | int(GetOption.COMPLETE_MSG))
    assert described(message) == (b"Z\xfcrich", LATIN1, REVERSED, MQRC.NONE)


@pytest.mark.rule("mqi/conversion", "A logical message whose segments disagree is not converted (2243, 2244).")
def test_segments_that_do_not_agree_are_returned_unconverted(queue: Queue) -> None:
    put_segment(queue, 0, b"\xfc", SEG)
    put_segment(queue, 1, b"\xdc", LSEG, EBCDIC)
    message = get(queue, UTF8, CONVERT | int(GetOption.COMPLETE_MSG))
    assert described(message) == (b"\xfc", LATIN1, REVERSED, MQRC.INCONSISTENT_CCSIDS)


@pytest.mark.rule(
    "mqi/conversion", "Logical order uses offsets and lengths as they are on the queue, not converted ones."
)
@pytest.mark.parametrize("how", [0, BROWSE])
def test_logical_order_goes_on_where_the_data_ended_on_the_queue(queue: Queue, how: int) -> None:
    for offset, body, flags in ((0, b"\xfc\xfc", SEG), (2, b"\xfc", SEG), (3, b"\xfc", LSEG)):
        put_segment(queue, offset, body, flags)
    bodies = []
    for _ in range(3):
        bodies.append(get(queue, UTF8, CONVERT | int(GetOption.LOGICAL_ORDER) | how).body.decode())
        how = how and int(GetOption.BROWSE_NEXT)
    assert bodies == ["üü", "ü", "ü"]


@pytest.mark.parametrize(
    ("format_", "returned"), [(Format.STRING, ("ü".encode(), UTF8)), (Format.NONE, (b"\xfc", LATIN1))]
)
def test_the_warning_that_a_group_was_left_stays(queue: Queue, format_: bytes, returned: tuple[bytes, int]) -> None:
    put_member(queue, b"g", 1, b"\xfc", MIG, coded_char_set_id=LATIN1, format=Format.STRING)
    put(queue, b"\xfc", LATIN1, format_, correl_id=b"c" * 24)
    assert get(queue, UTF8, CONVERT | int(GetOption.LOGICAL_ORDER)).body == "ü".encode()
    message = queue.get(CONVERT, match=MQMD(version=2, coded_char_set_id=UTF8, correl_id=b"c" * 24))
    assert described(message) == (*returned, REVERSED, MQRC.INCOMPLETE_GROUP)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_no_message_makes_a_get_fail_with_more_than_a_warning(queue: Queue, data: st.DataObject) -> None:
    """Got, or browsed and then got, outside a unit of work: the message is there in any case."""
    # An example that failed has left its message, which the next one must not take for its own.
    drain(queue)
    numbers = st.sampled_from([0, -1, -2, 37, 500, 819, 1200, 1208, 546, 273, 785, 2**31 - 1, -(2**31)])
    formats = st.sampled_from([*STRUCTURES, Format.STRING, Format.PCF, Format.IMS_VAR_STRING, b"ODD"])
    told = st.builds(Representation, st.one_of(st.just(LATIN1), numbers), st.one_of(st.just(REVERSED), numbers))
    body, format_ = data.draw(st.binary(max_size=30)), data.draw(formats)
    for layout in data.draw(st.lists(st.sampled_from(list(layouts.LAYOUTS.values())), max_size=3)):
        body = layouts.built(layout, layouts.LATIN1, following=data.draw(told), format_=format_) + body
        format_ = data.draw(st.one_of(st.just(layout.format), formats))
    if body and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(body) - 1))
        body = body[:place] + data.draw(st.binary(max_size=4)) + body[place + 4 :]
    source = data.draw(told)
    md = MQMD(format=format_, encoding=source.encoding, coded_char_set_id=source.ccsid)
    room = data.draw(st.sampled_from([0, 10, 80, 10_000]))
    options = data.draw(st.sampled_from([0, CUT])) | CONVERT
    ccsid, encoding = data.draw(numbers), data.draw(numbers)
    looks = data.draw(st.sampled_from([(0,), (BROWSE, 0)]))
    try:
        queue.put(body, md)
    except MQIError:
        # A descriptor that no message may have.
        assert is_empty(queue)
        return
    stored = queue.get(BROWSE).body
    # A put takes the first into the descriptor, and the second comes back as the queue manager writes it.
    assert stored == body or format_ in (Format.MD_EXTENSION, Format.RF_HEADER_2)
    for browse in looks:
        got = get(queue, ccsid, options | browse, encoding=encoding, max_length=room)
        assert isinstance(got.reason, MQRC)
        if got.reason not in (MQRC.NONE, MQRC.TRUNCATED_MSG_ACCEPTED):
            assert got.body == stored[:room]
        if got.reason == MQRC.TRUNCATED_MSG_FAILED and not browse:
            # A message that does not fit stays.
            assert queue.get().body == stored
    assert is_empty(queue)


def test_a_thousand_headers_are_converted(queue: Queue) -> None:
    header = wire.MDE.pack(MQMDE(format=Format.MD_EXTENSION, encoding=REVERSED, coded_char_set_id=UTF8))
    # The put takes the first one.
    queue.put(header * 1001, MQMD(format=Format.MD_EXTENSION, coded_char_set_id=UTF8))
    got = get(queue, EBCDIC, encoding=NORMAL)
    assert (got.reason, len(got.body), got.md.coded_char_set_id) == (MQRC.NONE, 72_000, EBCDIC)
    assert is_empty(queue)
