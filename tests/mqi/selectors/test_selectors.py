"""Gets and browses through handles with a selection string."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sharedq import Message, MessageHandle, Queue, QueueManagerConnection, verbs
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption, MsgFlag, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.unit.properties.test_headers import rfh2
from tests.unit.properties.test_message_handle import reason_of

pytestmark = pytest.mark.share

INPUT = OpenOption.INPUT_SHARED
BROWSING = INPUT | OpenOption.BROWSE
FIRST, NEXT = GetOption.BROWSE_FIRST, GetOption.BROWSE_NEXT
WAIT = GetOption.WAIT


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.define_shared("Q")
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH | OpenOption.BROWSE)


def put(queue: Queue, body: bytes, md: MQMD | None = None, options: int = 0, **values: Any) -> MQMD:
    handle = MessageHandle()
    for name, value in values.items():
        handle.set(name.replace("__", "."), value)
    return queue.put(body, md, options=options, properties=handle)


def waiters(group: TestGroup, queue: Queue) -> int:
    key = queue.handle.queue.queue
    return int(group.group.command(key, "HGET", key, "nw") or 0)


def bodies(queue: Queue, options: int = 0) -> Iterator[bytes]:
    step = options
    while True:
        try:
            yield queue.get(step, properties=MessageHandle()).body
        except Exception:  # noqa: BLE001 - the end
            return
        step = options if not options & FIRST else NEXT


@pytest.mark.rule("mqi/selectors", "A handle with a selector sees the messages that it is true of, in their order.")
def test_a_selector_chooses_messages(connection: QueueManagerConnection, queue: Queue) -> None:
    for number in range(6):
        put(queue, b"%d" % number, MQMD(priority=9 - number % 2), colour="red" if number % 3 else "blue", n=number)
    red = connection.open("Q", BROWSING, selector="colour = 'red' AND n < 5")
    assert list(bodies(red, FIRST)) == [b"2", b"4", b"1"]
    assert list(bodies(red)) == [b"2", b"4", b"1"]
    assert list(bodies(queue)) == [b"0", b"3", b"5"]


@pytest.mark.rule("mqi/selectors", "A sum has as many terms as a selection string has room for.")
def test_a_sum_has_any_number_of_terms(connection: QueueManagerConnection, queue: Queue) -> None:
    put(queue, b"right", a=1, b=2)
    put(queue, b"wrong", a=2, b=2)
    for condition in (" + ".join(["a"] * 2000) + " = 2000", "-".join(["b"] * 100) + " + a * 2 / b = -195"):
        assert list(bodies(connection.open("Q", BROWSING, selector=condition), FIRST)) == [b"right"]
    nested = "(" * 30 + "a" + ")" * 30 + " = 1"
    assert list(bodies(connection.open("Q", BROWSING, selector=nested), FIRST)) == [b"right"]
    with pytest.raises(MQIError) as refused:
        connection.open("Q", BROWSING, selector=f"({nested})")
    assert refused.value.reason == MQRC.SELECTOR_SYNTAX_ERROR


def test_messages_without_properties_have_a_descriptor(connection: QueueManagerConnection, queue: Queue) -> None:
    queue.put(b"plain")
    queue.put(b"text", MQMD(format=b"MQSTR"))
    put(queue, b"both", MQMD(format=b"MQSTR"), a=1)
    assert list(bodies(connection.open("Q", BROWSING, selector="Root.MQMD.Format = 'MQHRF2'"), FIRST)) == []
    assert list(bodies(connection.open("Q", BROWSING, selector="Root.MQMD.Format = 'MQSTR'"), FIRST)) == [
        b"text",
        b"both",
    ]
    assert list(bodies(connection.open("Q", BROWSING, selector="a IS NULL"), FIRST)) == [b"plain", b"text"]
    assert list(bodies(connection.open("Q", INPUT, selector="Root.MQMD.Format = ''"))) == [b"plain"]


@pytest.mark.rule("mqi/selectors", "The fields of a descriptor are those that a get into a message handle returns.")
def test_a_selector_sees_the_descriptor_without_the_header(connection: QueueManagerConnection, queue: Queue) -> None:
    put(queue, b"own", MQMD(format=b"MQSTR", coded_char_set_id=819, encoding=0x111), a=1, not_a_number=float("nan"))
    queue.put(rfh2([b"<psc>x</psc>"]) + b"x", MQMD(format=b"MQHRF2", coded_char_set_id=819))
    fields = "Root.MQMD.Format = '{}' AND Root.MQMD.CodedCharSetId = {} AND Root.MQMD.Encoding = {}"
    for text, expected in (
        (fields.format("MQSTR", 819, 0x111), [b"own"]),
        ("Root.MQMD.Format = 'MQHRF2'", [rfh2([b"<psc>x</psc>"]) + b"x"]),
        ("not_a_number IS NOT NULL AND not_a_number <> not_a_number", [b"own"]),
    ):
        assert list(bodies(connection.open("Q", BROWSING, selector=text), FIRST)) == expected


@pytest.mark.rule("mqi/selectors", "An equality of MsgId, CorrelId or GroupId finds its message by the index.")
def test_identifiers_find_messages(connection: QueueManagerConnection, queue: Queue) -> None:
    for number in range(300):
        queue.put(b"%d" % number)
    generated = put(queue, b"generated", a=1).msg_id
    put(queue, b"given", MQMD(msg_id=b"M" * 24, correl_id=b"C" * 24), a=2)
    put(queue, b"other", MQMD(msg_id=b"M" * 24, correl_id=b"D" * 24), a=3)
    put(queue, b"third", MQMD(msg_id=b"M" * 24, correl_id=b"D" * 24), a=4)
    in_group = MQMD(version=2, group_id=b"G" * 24, msg_flags=int(MsgFlag.MSG_IN_GROUP))
    put(queue, b"member", in_group, a=4)
    for text, expected in (
        (f'Root.MQMD.MsgId = "0x{generated.hex()}"', b"generated"),
        (f'Root.MQMD.MsgId = "0x{b"M".hex() * 24}" AND a = 3', b"other"),
        (f'Root.MQMD.CorrelId = "0x{b"C".hex() * 24}"', b"given"),
        (f'Root.MQMD.CorrelId = "0x{b"D".hex() * 24}" AND Root.MQMD.MsgId = "0x{b"M".hex() * 24}"', b"third"),
        (f'Root.MQMD.GroupId = "0x{b"G".hex() * 24}"', b"member"),
    ):
        selected = connection.open("Q", BROWSING, selector=text)
        assert list(bodies(selected, FIRST)) == [expected]
        assert list(bodies(selected)) == [expected]


def test_a_selector_and_match_options_must_both_fit(connection: QueueManagerConnection, queue: Queue) -> None:
    for correl_id in (b"A" * 24, b"B" * 24):
        for n in range(2):
            put(queue, correl_id[:1] + b"%d" % n, MQMD(correl_id=correl_id), n=n)
    selected = connection.open("Q", INPUT, selector="n = 1")
    match = MQMD(version=2, correl_id=b"B" * 24)
    assert selected.get(match=match, properties=MessageHandle()).body == b"B1"
    assert reason_of(lambda: selected.get(match=match)) == MQRC.NO_MSG_AVAILABLE
    by_id = connection.open("Q", INPUT, selector=f'Root.MQMD.CorrelId = "0x{b"A".hex() * 24}" and n = 1')
    assert reason_of(lambda: by_id.get(match=match)) == MQRC.NO_MSG_AVAILABLE
    assert by_id.get(properties=MessageHandle()).body == b"A1"


@pytest.mark.rule("mqi/selectors", "A search looks at no more than 2000 messages in one call, and goes on from there.")
def test_a_message_is_found_after_thousands(connection: QueueManagerConnection, queue: Queue) -> None:
    for _ in range(3):
        queue.put_many([(MQMD(), b"x") for _ in range(1000)])
    put(queue, b"found", colour="red")
    queue.put_many([(MQMD(), b"x") for _ in range(10)])
    for text in ("colour = 'red'", "colour IS NOT NULL"):
        selected = connection.open("Q", BROWSING, selector=text)
        assert selected.get(FIRST, properties=MessageHandle()).body == b"found"
        assert reason_of(lambda: selected.get(NEXT)) == MQRC.NO_MSG_AVAILABLE  # noqa: B023 - called at once
    assert selected.get(properties=MessageHandle()).body == b"found"
    assert reason_of(selected.get) == MQRC.NO_MSG_AVAILABLE


def test_units_of_work_batches_and_cursors_know_the_selector(connection: QueueManagerConnection, queue: Queue) -> None:
    for number in range(6):
        put(queue, b"%d" % number, a=number % 2 == 1)
    selected = connection.open("Q", BROWSING, selector="a")
    got = selected.get_many(2, GetOption.SYNCPOINT | GetOption.NO_PROPERTIES)
    assert [each.body for each in got] == [b"1", b"3"]
    connection.backout()
    assert selected.get(FIRST, properties=MessageHandle()).body == b"1"
    assert selected.get(GetOption.MSG_UNDER_CURSOR | GetOption.SYNCPOINT, properties=MessageHandle()).body == b"1"
    found = selected.commit_and_get(GetOption.SYNCPOINT | GetOption.NO_PROPERTIES)
    assert (found.body, found.md.backout_count) == (b"3", 1)
    assert selected.take_unseen(5) == 0
    connection.commit()
    lock = GetOption.LOCK | GetOption.NO_PROPERTIES
    assert selected.get(FIRST | lock).body == b"5"
    assert reason_of(lambda: connection.open("Q", BROWSING, selector="a").get(FIRST)) == MQRC.NO_MSG_AVAILABLE
    selected.unlock()
    assert list(bodies(queue)) == [b"0", b"2", b"4", b"5"]


def test_a_search_that_goes_once_does_not_look_again(connection: QueueManagerConnection, queue: Queue) -> None:
    for number in range(12):
        put(queue, b"%d" % number, a=number % 3 == 2)
    selected = connection.open("Q", BROWSING, selector="a")

    def found(count: int) -> list[bytes]:
        return [each.body for each in selected.get_many(count, GetOption.NO_PROPERTIES)]

    selected.search_once()
    assert found(2) == [b"2", b"5"]
    put(queue, b"first", MQMD(priority=9), a=True)
    assert found(1) == [b"8"]
    selected.search_once()
    assert found(9) == [b"first", b"11"]
    put(queue, b"12", a=True)
    assert found(1) == [b"12"]
    queue.search_once()
    assert queue.get_many(100)[0].md.priority == 0


def test_groups_are_got_in_order_through_a_selector(connection: QueueManagerConnection, queue: Queue) -> None:
    for group_id in (b"A" * 24, b"B" * 24):
        for number in (1, 2):
            last = MsgFlag.LAST_MSG_IN_GROUP if number == 2 else MsgFlag.MSG_IN_GROUP
            md = MQMD(version=2, group_id=group_id, msg_seq_number=number, msg_flags=int(last))
            put(queue, group_id[:1] + b"%d" % number, md, which=group_id[:1].decode())
    selected = connection.open("Q", INPUT, selector="which = 'B'")
    whole = GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE
    assert [selected.get(whole, properties=MessageHandle()).body for _ in range(2)] == [b"B1", b"B2"]
    assert reason_of(lambda: selected.get(whole)) == MQRC.NO_MSG_AVAILABLE


def test_a_token_counts_beside_a_selector(connection: QueueManagerConnection, queue: Queue) -> None:
    put(queue, b"1", a=1)
    token = queue.get(FIRST).msg_token

    def got(text: str) -> Message:
        selected = connection.open("Q", INPUT, selector=text)
        by_token = MatchOption.MATCH_MSG_TOKEN
        return selected.get(GetOption.NO_PROPERTIES, match_options=by_token, msg_token=token)

    assert reason_of(lambda: got("a = 2")) == MQRC.NO_MSG_AVAILABLE
    assert got("a = 1").body == b"1"


@pytest.mark.rule("mqi/selectors", "A message wakes a waiting get with a selector, which passes on what does not fit.")
def test_a_wait_ends_with_the_message_that_fits(group: TestGroup, pool: ThreadPoolExecutor, queue: Queue) -> None:
    def waiting(colour: str) -> bytes:
        with group.connect().open("Q", INPUT, selector=f"colour = '{colour}'") as selected:
            return selected.get(WAIT, wait_ms=60_000, properties=MessageHandle()).body

    colours = ["red", "green", "blue"]
    found = [pool.submit(waiting, colour) for colour in colours]
    until(lambda: waiters(group, queue) == 3, "waiters")
    put(queue, b"none", colour="white")
    for colour in reversed(colours):
        put(queue, colour.encode(), colour=colour)
    assert [each.result(60) for each in found] == [b"red", b"green", b"blue"]
    assert queue.get(properties=MessageHandle()).body == b"none"


def test_a_wait_by_an_identifier_ends_too(group: TestGroup, pool: ThreadPoolExecutor, queue: Queue) -> None:
    text = f'Root.MQMD.CorrelId = "0x{b"C".hex() * 24}" and a = 2'
    selected = group.connect().open("Q", INPUT, selector=text)
    found = pool.submit(lambda: selected.get(WAIT, wait_ms=60_000, properties=MessageHandle()).body)
    until(lambda: waiters(group, queue) == 1, "waiters")
    put(queue, b"1", MQMD(correl_id=b"C" * 24), a=1)
    put(queue, b"2", MQMD(correl_id=b"C" * 24), a=2)
    assert found.result(60) == b"2"


def test_any_getter_has_what_a_selector_passes_over(group: TestGroup, pool: ThreadPoolExecutor, queue: Queue) -> None:
    selected = group.connect().open("Q", INPUT, selector="a = 1")
    anything = group.connect().open("Q", INPUT)
    first = pool.submit(lambda: selected.get(WAIT, wait_ms=60_000, properties=MessageHandle()).body)
    second = pool.submit(lambda: anything.get(WAIT, wait_ms=60_000).body)
    until(lambda: waiters(group, queue) == 2, "waiters")
    queue.put(b"plain")
    assert second.result(60) == b"plain"
    put(queue, b"1", a=1)
    assert first.result(60) == b"1"


@pytest.mark.rule("mqi/selectors", "A selection string needs an open for input or browse of a queue, else 2516.")
def test_a_selector_needs_a_queue_to_get_from(connection: QueueManagerConnection) -> None:
    def opened(od: MQOD, options: int) -> MQRC:
        return verbs.mqopen(connection.connection, od, options)[2]

    text = "a = 1"
    output = int(OpenOption.OUTPUT)
    assert opened(MQOD(version=4, object_name=b"Q", selection_string=text), output) == MQRC.SELECTOR_INVALID_FOR_TYPE
    # Before version 4 there is none.
    assert opened(MQOD(version=3, object_name=b"Q", selection_string=text), output) == MQRC.NONE
    inquire = int(OpenOption.INQUIRE)
    qmgr = MQOD(version=4, object_type=5, selection_string=text)
    assert opened(qmgr, inquire) == MQRC.SELECTOR_INVALID_FOR_TYPE
    put1 = MQOD(version=4, object_name=b"Q", selection_string=text)
    refused = (MQCC.FAILED, MQRC.SELECTOR_INVALID_FOR_TYPE)
    assert verbs.mqput1(connection.connection, put1, MQMD(), MQPMO(), b"") == refused
    wrong = MQOD(version=4, object_name=b"Q", selection_string="a =")
    assert opened(wrong, int(INPUT)) == MQRC.SELECTOR_SYNTAX_ERROR
    assert connection.connection.handles.keys() == {1}


def test_a_selector_reads_headers_of_every_kind(connection: QueueManagerConnection, queue: Queue) -> None:
    folder = "<usr><g><a>no</a></g><a dt='i4'>7</a><b>Zürich &amp; &#66;</b></usr>"
    for order, name_ccsid, codec in (("<", 1208, "utf-8"), (">", 1208, "utf-8"), ("<", 819, "latin-1")):
        data = rfh2([folder.encode(codec)], order=order, name_ccsid=name_ccsid)
        queue.put(data + b"x", MQMD(format=b"MQHRF2", encoding=0x111 if order == ">" else 0x222))
    for order, codec in (("<", "utf-16-le"), (">", "utf-16-be")):
        data = rfh2([folder.encode(codec)], order=order, name_ccsid=1200)
        queue.put(data + b"x", MQMD(format=b"MQHRF2", encoding=0x111 if order == ">" else 0x222))
    chained = rfh2([b"<psc>x</psc>"], form=b"MQHRF2") + rfh2([folder.encode()])
    queue.put(chained + b"x", MQMD(format=b"MQHRF2"))
    # Not announced by the descriptor, and not valid.
    queue.put(rfh2([folder.encode()]), MQMD(format=b"MQSTR"))
    queue.put(rfh2([folder.encode()], length=36), MQMD(format=b"MQHRF2"))
    selected = connection.open("Q", BROWSING, selector="a = 7 and b = 'Zürich & B' and usr.g.a = 'no'")
    assert len(list(bodies(selected, FIRST))) == 6


def test_puts_of_an_open_unit_of_work_are_not_seen(connection: QueueManagerConnection, queue: Queue) -> None:
    selected = connection.open("Q", BROWSING, selector="a = 1")
    put(queue, b"1", options=PutOption.SYNCPOINT, a=1)
    assert reason_of(lambda: selected.get(FIRST)) == MQRC.NO_MSG_AVAILABLE
    connection.commit()
    assert selected.get(FIRST, properties=MessageHandle()).body == b"1"


@pytest.mark.rule("mqi/selectors", "Whole numbers of 64 bits are compared exactly, and so are their sums and products.")
@pytest.mark.parametrize(
    ("value", "text", "is_found"),
    [
        (2**53 + 1, f"n = {2**53}", False),
        (2**53 + 1, f"n <> {2**53}", True),
        (2**53 + 1, f"n > {2**53} AND {2**53} < n", True),
        (2**53, f"n BETWEEN {2**53 + 1} AND {2**53 + 2}", False),
        (2**63 - 1, f"n = {2**63 - 2}", False),
        (2**63 - 1, f"n = {2**63 - 1}", True),
        (-(2**63), f"n = -{2**63}", True),
        (-(2**63), f"n < -{2**63 - 1}", True),
        (2**53 + 1, f"n - 1 = {2**53}", True),
        (2**53, f"n + 1 = {2**53 + 1}", True),
        (3037000499, f"n * n = {3037000499**2}", True),
        (3037000499, f"n * n = {3037000499**2 + 1}", False),
        (-(2**53) - 1, f"n < -{2**53}", True),
        (2**53 + 1, f"n = {2**53}.0E0", False),
        (2**60 + 1, "n = 1.152921504606846976E18", True),
        (2**53 + 1, f"n = {2**53 + 1} AND Root.MQMD.Priority >= 0", True),
    ],
)
def test_long_whole_numbers_are_exact(
    connection: QueueManagerConnection, queue: Queue, value: int, text: str, is_found: bool
) -> None:
    put(queue, b"x", n=value)
    assert list(bodies(connection.open("Q", BROWSING, selector=text), FIRST)) == [b"x"] * is_found


@pytest.mark.rule("mqi/selectors", "A property is found by its name in each character set of a header.")
@pytest.mark.parametrize(("ccsid", "codec"), [(1208, "utf-8"), (819, "latin-1"), (1200, "utf-16-le")])
@pytest.mark.parametrize(
    "text", ["größe > 3", "5 = größe", "NOT (größe <= 3)", "größe = 5 AND n = 1", "größe <> 4 AND farbe = 'weiß'"]
)
def test_a_name_beyond_ascii_is_found(
    connection: QueueManagerConnection, queue: Queue, ccsid: int, codec: str, text: str
) -> None:
    folder = "<usr><größe dt='i4'>5</größe><n dt='i4'>1</n><farbe>weiß</farbe></usr>".encode(codec)
    queue.put(rfh2([folder], name_ccsid=ccsid) + b"x", MQMD(format=b"MQHRF2"))
    selected = connection.open("Q", BROWSING, selector=text)
    assert selected.get(FIRST | GetOption.PROPERTIES_IN_HANDLE, properties=MessageHandle()).body == b"x"
