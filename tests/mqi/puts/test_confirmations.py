"""Reports that the queue manager makes itself: confirmation of arrival (COA) and of delivery (COD)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from sharedq import MessageHandle
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.unit.commit import backout, commit
from sharedq.mqi import wire
from sharedq.mqi.constants import (
    MQRC,
    ApplType,
    Feedback,
    Format,
    GetOption,
    MsgFlag,
    MsgType,
    OpenOption,
    PutOption,
    Report,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueRemote
from sharedq.objects.repository import Repository
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.redis.link import Reply, ScriptCall
from tests.support.agents import drain
from tests.support.groups import BOTH
from tests.support.members import TestGroup

BODY = bytes(range(250))
BOTH_REPORTS = int(Report.COA | Report.COD)
SYNCPOINT, IF_PERSISTENT = GetOption.SYNCPOINT, GetOption.SYNCPOINT_IF_PERSISTENT


def asking(report: int = BOTH_REPORTS, **fields: object) -> MQMD:
    """A descriptor that asks for reports to REPLIES."""
    return MQMD(version=2, report=int(report), reply_to_q=b"REPLIES", **fields)  # type: ignore[arg-type]


def kinds(connection: QueueManagerConnection, queue: str = "REPLIES") -> list[int]:
    """Feedback of the messages that another program finds there now."""
    return [report.md.feedback for report in drain(connection, queue)]


@pytest.fixture(params=["shared", "private", "elsewhere"])
def defined(group: TestGroup, request: pytest.FixtureRequest) -> TestGroup:
    """Q and REPLIES: reports go to the same structure as the messages, or to another one."""
    if request.param == "shared":
        group.define_shared("Q")
        group.define_shared("REPLIES")
    elif request.param == "private":
        group.define_private("QM1", "Q")
        group.define_private("QM1", "REPLIES")
    else:
        group.define_shared("Q")
        group.define_private("QM1", "REPLIES")
    return group


@pytest.fixture
def queue(defined: TestGroup) -> Queue:
    return defined.connect().open("Q", BOTH)


@pytest.fixture
def reader(defined: TestGroup) -> QueueManagerConnection:
    """Another program."""
    return defined.connect()


@pytest.mark.rule(
    "mqi/reports", "A COA or COD report carries the data that was asked for, and the message's identity context."
)
@pytest.mark.parametrize(
    ("report", "length"),
    [
        (Report.COA, 0),
        (Report.COA_WITH_DATA, 100),
        (Report.COA_WITH_FULL_DATA, len(BODY)),
        (Report.COD, 0),
        (Report.COD_WITH_DATA, 100),
        (Report.COD_WITH_FULL_DATA, len(BODY)),
    ],
)
def test_the_fields_of_a_report(
    defined: TestGroup, reader: QueueManagerConnection, report: Report, length: int
) -> None:
    queue = defined.connect().open("Q", BOTH | OpenOption.SET_ALL_CONTEXT)
    identity = {
        "user_identifier": b"whoever",
        "accounting_token": b"\x02t".ljust(32, b"."),
        "appl_identity_data": b"who",
    }
    origin = {"put_appl_type": 28, "put_appl_name": b"there", "put_date": b"20010203", "put_time": b"04050607"}
    asked = asking(report, priority=7, persistence=1, format=b"MQSTR", correl_id=b"c" * 24, **identity, **origin)
    asked.appl_origin_data = b"orig"
    sent = queue.put(BODY, asked, options=PutOption.SET_ALL_CONTEXT)
    queue.get()

    (made,) = drain(reader, "REPLIES")
    assert (made.body, made.md.msg_type) == (BODY[:length], MsgType.REPORT)
    assert made.md.feedback == (Feedback.COA if report & Report.COA else Feedback.COD)
    assert (made.md.correl_id, made.md.priority, made.md.persistence) == (sent.msg_id, 7, 1)
    assert made.md.msg_id not in (sent.msg_id, bytes(24))
    assert (made.md.format.rstrip(), made.md.put_appl_type, made.md.put_appl_name.rstrip()) == (b"MQSTR", 7, b"QM1")
    assert {name: getattr(made.md, name) for name in identity} == identity
    assert (made.md.appl_origin_data.rstrip(), made.md.put_date > b"20010203") == (b"", True)
    assert (made.md.reply_to_q, made.md.reply_to_q_mgr, made.md.report) == (b"", b"QM1", 0)


@pytest.mark.rule("mqi/reports", "PASS_MSG_ID and PASS_CORREL_ID give a report the identifiers of its message.")
def test_identifiers_are_passed_where_that_is_asked(queue: Queue, reader: QueueManagerConnection) -> None:
    passing = BOTH_REPORTS | Report.PASS_MSG_ID | Report.PASS_CORREL_ID
    queue.put(BODY, asking(passing, msg_id=b"m" * 24, correl_id=b"c" * 24))
    queue.get()
    assert [(each.md.msg_id, each.md.correl_id) for each in drain(reader, "REPLIES")] == [(b"m" * 24, b"c" * 24)] * 2


@pytest.mark.rule("mqi/reports", "PASS_DISCARD_AND_EXPIRY gives a report the rest of its message's life.")
def test_a_report_expires_with_its_message_where_that_is_asked(queue: Queue, reader: QueueManagerConnection) -> None:
    passing = Report.COA | Report.PASS_DISCARD_AND_EXPIRY | Report.DISCARD_MSG
    queue.put(BODY, asking(passing, expiry=600))
    (made,) = drain(reader, "REPLIES")
    assert 0 < made.md.expiry <= 600
    assert made.md.report == Report.DISCARD_MSG


@pytest.mark.rule("mqi/reports", "A COA report in a unit of work comes with the commit, and never after a backout.")
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("later", [0, PutOption.ASYNC_RESPONSE])
def test_an_arrival_is_reported_when_its_unit_of_work_is_committed(
    queue: Queue, reader: QueueManagerConnection, many: bool, later: int
) -> None:
    def put() -> None:
        options = PutOption.SYNCPOINT | later
        queue.put(b"plain", options=options)
        if many:
            queue.put_many([(asking(Report.COA), b"%d" % n) for n in range(3)], options=options)
        else:
            queue.put(BODY, asking(Report.COA), options=options)

    put()
    assert kinds(reader) == []
    backout(queue.connection)
    assert kinds(reader) == []
    put()
    commit(queue.connection)
    assert kinds(reader) == [Feedback.COA] * (3 if many else 1)
    assert queue.get().body == b"plain"


@pytest.mark.rule("mqi/reports", "A COD report in a unit of work comes with the commit, and never after a backout.")
@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("option", [0, GetOption.NO_SYNCPOINT, SYNCPOINT, IF_PERSISTENT])
@pytest.mark.parametrize("many", [False, True])
def test_a_delivery_is_reported_when_its_unit_of_work_is_committed(
    queue: Queue, reader: QueueManagerConnection, persistence: int, option: int, many: bool
) -> None:
    def get() -> None:
        if many:
            assert len(queue.get_many(10, option)) == 3
        else:
            assert len([queue.get(option) for _ in range(3)]) == 3

    queue.put_many([(asking(Report.COD, persistence=persistence), b"%d" % n) for n in range(3)])
    in_unit = option == SYNCPOINT or (option == IF_PERSISTENT and persistence)
    get()
    if in_unit:
        assert kinds(reader) == []
        backout(queue.connection)
        assert kinds(reader) == []
        get()
        commit(queue.connection)
    assert kinds(reader) == [Feedback.COD] * 3


@pytest.mark.rule("mqi/reports", "A COD report in a unit of work comes with the commit, and never after a backout.")
@pytest.mark.parametrize("with_put", [False, True])
def test_a_commit_with_the_next_get_reports_each_in_its_own_unit_of_work(
    group: TestGroup, queue: Queue, reader: QueueManagerConnection, with_put: bool
) -> None:
    group.define_shared("ANSWERS")
    answers = QueueManagerConnection(queue.connection).open("ANSWERS", OpenOption.OUTPUT)
    queue.put_many([(asking(Report.COD), b"%d" % n) for n in range(3)])
    for n in range(3):
        if with_put:
            # It leaves with the commit, whose script then makes the next get, too.
            answers.put(b"answer", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
        assert queue.commit_and_get(SYNCPOINT).body == b"%d" % n
        assert kinds(reader) == [Feedback.COD] * min(n, 1)
    backout(queue.connection)
    assert kinds(reader) == []
    assert queue.get().body == b"2"


def test_a_wait_that_is_served_reports(group: TestGroup, queue: Queue, reader: QueueManagerConnection) -> None:
    queue.put(BODY, asking(Report.COD), options=PutOption.SYNCPOINT)
    with ThreadPoolExecutor() as pool, group.connect().open("Q", BOTH) as waiter:
        got = pool.submit(waiter.get, GetOption.WAIT, wait_ms=30_000)
        commit(queue.connection)
        assert got.result().body == BODY
    assert kinds(reader) == [Feedback.COD]


@pytest.mark.rule("mqi/reports", "A browse, and a get that ends with 2080, make no COD report.")
def test_a_call_that_takes_no_message_reports_nothing(queue: Queue, reader: QueueManagerConnection) -> None:
    queue.put(BODY, asking(Report.COD))
    queue.get(GetOption.BROWSE_FIRST)
    assert queue.get(max_length=1).reason == MQRC.TRUNCATED_MSG_FAILED
    assert kinds(reader) == []
    assert queue.get(GetOption.ACCEPT_TRUNCATED_MSG, max_length=1).body == BODY[:1]
    assert kinds(reader) == [Feedback.COD]


def test_a_message_under_the_cursor_is_delivered(queue: Queue, reader: QueueManagerConnection) -> None:
    queue.put(BODY, asking(Report.COD))
    queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    queue.get(GetOption.MSG_UNDER_CURSOR)
    assert kinds(reader) == [Feedback.COD]


@pytest.mark.rule("mqi/reports", "MQBACK removes the report of a message that was got with MARK_SKIP_BACKOUT.")
def test_a_message_that_skips_the_backout_is_reported_in_its_new_unit(
    queue: Queue, reader: QueueManagerConnection
) -> None:
    queue.put(BODY, asking(Report.COD))
    queue.get(SYNCPOINT | GetOption.MARK_SKIP_BACKOUT)
    backout(queue.connection)
    commit(queue.connection)
    # As on z/OS: the report belonged to the unit of work that was backed out.
    assert kinds(reader) == []


@pytest.mark.rule("mqi/reports", "Each segment is reported on its own, and the reports are got as one.")
def test_each_segment_is_reported_and_the_reports_are_got_as_one(queue: Queue, reader: QueueManagerConnection) -> None:
    flags = int(MsgFlag.SEGMENT)
    for offset, last in ((0, 0), (100, 0), (200, 1)):
        part = BODY[offset : offset + 100]
        md = asking(Report.COA_WITH_FULL_DATA | Report.COD, group_id=b"g" * 24, msg_seq_number=1, offset=offset)
        md.msg_flags = int(MsgFlag.LAST_SEGMENT) if last else flags
        md.msg_id = b"m" * 24
        queue.put(part, md)
    with reader.open("REPLIES", OpenOption.INPUT_SHARED) as replies:
        whole = replies.get(GetOption.COMPLETE_MSG)
    assert (whole.body, whole.md.feedback, whole.md.correl_id) == (BODY, Feedback.COA, b"m" * 24)
    for _ in range(3):
        queue.get()
    assert kinds(reader) == [Feedback.COD] * 3


@pytest.mark.rule("mqi/reports", "A logical message that is got whole is reported once.")
def test_a_logical_message_got_whole_is_reported_once(queue: Queue, reader: QueueManagerConnection) -> None:
    for offset in (0, 100, 200):
        md = asking(Report.COD_WITH_FULL_DATA, group_id=b"g" * 24, msg_seq_number=1, offset=offset)
        md.msg_flags = int(MsgFlag.LAST_SEGMENT if offset == 200 else MsgFlag.SEGMENT)
        queue.put(BODY[offset : offset + 100], md)
    assert queue.get(GetOption.COMPLETE_MSG).body == BODY
    (made,) = drain(reader, "REPLIES")
    assert (made.body, made.md.feedback, made.md.original_length) == (BODY, Feedback.COD, len(BODY))


def segment(offset: int, *, is_last: bool, report: Report, **fields: object) -> MQMD:
    """A descriptor of a segment that asks for reports."""
    flags = int(MsgFlag.LAST_SEGMENT if is_last else MsgFlag.SEGMENT)
    return asking(report, group_id=b"g" * 24, offset=offset, msg_flags=flags, **fields)


@pytest.mark.rule("mqi/reports", "A report about a report about a segment has its OriginalLength.")
def test_a_report_about_a_report_about_a_segment_has_its_original_length(
    queue: Queue, reader: QueueManagerConnection
) -> None:
    """The first one carries no data, and its OriginalLength is the length of the segment."""
    about: dict[str, object] = {"msg_type": int(MsgType.REPORT), "original_length": 100}
    for offset in (0, 100):
        queue.put(b"", segment(offset, is_last=offset == 100, report=Report.COA, **about))
    assert [each.md.original_length for each in drain(reader, "REPLIES")] == [100, 100]


def test_reports_put_together_are_confirmed_with_their_whole_length(
    queue: Queue, reader: QueueManagerConnection
) -> None:
    about: dict[str, object] = {"msg_type": int(MsgType.REPORT), "original_length": 100}
    for offset in (0, 100):
        md = segment(offset, is_last=offset == 100, report=Report.COD_WITH_FULL_DATA, **about)
        queue.put(BODY[offset : offset + 100], md)
    assert queue.get(GetOption.COMPLETE_MSG).body == BODY[:200]
    (made,) = drain(reader, "REPLIES")
    assert (made.body, made.md.original_length) == (BODY[:200], 200)


@pytest.mark.rule("mqi/reports", "Each message of a batch is confirmed by its own MsgId, even if the rest was refused.")
def test_messages_that_share_a_descriptor_are_confirmed_each(queue: Queue, reader: QueueManagerConnection) -> None:
    queue.put_many([(asking(Report.COA), b"1")] * 3)
    ids = [message.md.msg_id for message in queue.get_many(3)]
    assert [report.md.correl_id for report in drain(reader, "REPLIES")] == ids


@pytest.mark.rule("mqi/reports", "Each message of a batch is confirmed by its own MsgId, even if the rest was refused.")
@pytest.mark.parametrize("grouped", [False, True])
def test_arrived_messages_are_confirmed_even_if_the_rest_is_refused(
    group: TestGroup, reader: QueueManagerConnection, grouped: bool
) -> None:
    group.define_shared("SMALL", max_depth=150)
    fields = {"group_id": b"g" * 24, "msg_flags": int(MsgFlag.MSG_IN_GROUP)} if grouped else {}
    messages = [(asking(Report.COA, msg_seq_number=n if grouped else 1, **fields), b"x") for n in range(1, 251)]
    with group.connect().open("SMALL", BOTH) as small:
        with pytest.raises(MQIError) as refused:
            small.put_many(messages)
        assert refused.value.reason == MQRC.Q_FULL
        ids = [message.md.msg_id for message in drain(reader, "SMALL")]
    assert len(ids) == 100
    assert [report.md.correl_id for report in drain(reader, "REPLIES")] == ids


@pytest.mark.rule("mqi/reports", "A report that cannot be put and has MQRO_DISCARD_MSG is discarded.")
def test_a_report_that_cannot_be_put_is_discarded_where_that_was_asked(
    defined: TestGroup, queue: Queue, reader: QueueManagerConnection
) -> None:
    defined.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    for passing in (Report.DISCARD_MSG, Report.DISCARD_MSG | Report.PASS_DISCARD_AND_EXPIRY):
        queue.put(BODY, MQMD(report=int(BOTH_REPORTS | passing), reply_to_q=b"NOWHERE"))
        queue.get()
    # Only context that is passed on counts.
    assert kinds(reader, SYSTEM_DEAD_LETTER_QUEUE) == [Feedback.COA, Feedback.COD]


@pytest.mark.rule("mqi/reports", "A report that cannot be put goes to the dead-letter queue; the call itself succeeds.")
def test_a_report_about_a_segment_can_be_dead_lettered(
    defined: TestGroup, queue: Queue, reader: QueueManagerConnection
) -> None:
    """It has the header in front then, so it is longer than the segment was."""
    defined.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    defined.repository("QM1").delete("QLOCAL", "REPLIES")
    for offset in (0, 100):
        queue.put(BODY[offset : offset + 100], segment(offset, is_last=offset == 100, report=Report.COA_WITH_FULL_DATA))
    letters = drain(reader, SYSTEM_DEAD_LETTER_QUEUE)
    assert [(letter.md.feedback, letter.md.offset) for letter in letters] == [(Feedback.COA, 0), (Feedback.COA, 100)]
    assert [letter.body[wire.DLH.length(1) :] for letter in letters] == [BODY[:100], BODY[100:200]]


@pytest.mark.rule("mqi/reports", "Reports that do not fit their queue together are put as far as they fit.")
@pytest.mark.parametrize("option", [SYNCPOINT, GetOption.NO_SYNCPOINT])
def test_reports_that_do_not_all_fit_are_put_as_far_as_they_fit(group: TestGroup, option: GetOption) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    group.define_shared("Q")
    group.define_shared("REPLIES", max_depth=2)
    with group.connect().open("Q", BOTH) as queue:
        queue.put_many([(asking(Report.COD), b"%d" % n) for n in range(5)])
        ids = [message.md.msg_id for message in queue.get_many(5, option)]
        commit(queue.connection)
    names = ("REPLIES", SYSTEM_DEAD_LETTER_QUEUE)
    put, letters = ([each.md.correl_id for each in drain(group.connect(), name)] for name in names)
    assert (put, letters) == (ids[:2], ids[2:])


@pytest.mark.rule("mqi/reports", "The reports of one call for one queue are put in one call.")
def test_reports_of_a_batch_cost_one_call(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, calls, cost = queue.connection, list[int](), list[int]()
    call_many = connection.call_many

    def counted(each: Sequence[ScriptCall]) -> list[Reply]:
        calls.append(len(each))
        return call_many(each)

    monkeypatch.setattr(connection, "call_many", counted)
    # The structure of REPLIES is entered for the first time.
    for count in (2, 2, 100):
        queue.put_many([(asking(Report.COD), b"%d" % n) for n in range(count)])
        calls.clear()
        assert len(queue.get_many(count, SYNCPOINT)) == count
        cost.append(len(calls))
        commit(connection)
    assert cost[1] == cost[2]


@pytest.mark.rule("mqi/reports", "A report is lost if the dead-letter queue is not a local queue for messages.")
@pytest.mark.parametrize("usage", ["remote", "transmission"])
def test_only_a_local_queue_for_messages_is_a_dead_letter_queue(group: TestGroup, usage: str) -> None:
    """A program that serves a transmission queue would meet a message without a header there, and might stop."""
    group.define_private("QM1", "Q")
    group.define_private("QM1", "OUT", usage="XMITQ")
    group.define("QM1", QueueRemote(name="FAR", remote_queue="Q", remote_qmgr="QM9", transmission_queue="OUT"))
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "FAR" if usage == "remote" else "OUT"})
    connection = group.connect()
    with connection.open("Q", BOTH) as queue:
        queue.put(BODY, asking(Report.COA))
    assert drain(connection, "OUT") == []


@pytest.mark.rule("mqi/reports", "A report that cannot be put goes to the dead-letter queue; the call itself succeeds.")
@pytest.mark.parametrize("has_dead_letter_queue", [True, False])
@pytest.mark.parametrize("in_unit", [True, False])
def test_a_report_that_can_go_nowhere_stops_no_program(
    group: TestGroup, has_dead_letter_queue: bool, in_unit: bool
) -> None:
    group.define_private("QM1", "Q")
    name = SYSTEM_DEAD_LETTER_QUEUE if has_dead_letter_queue else ""
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": name})
    connection = group.connect()
    with connection.open("Q", BOTH) as queue:
        md = asking(encoding=785, coded_char_set_id=500)
        queue.put(BODY, md, options=PutOption.SYNCPOINT if in_unit else 0)
        connection.commit()
        queue.get(SYNCPOINT if in_unit else GetOption.NO_SYNCPOINT)
        connection.commit()
    letters = drain(group.connect(), SYSTEM_DEAD_LETTER_QUEUE)
    assert len(letters) == (2 if has_dead_letter_queue else 0)
    for letter in letters:
        header = wire.DLH.unpack(letter.body)
        assert (header.reason, header.dest_q_name) == (MQRC.UNKNOWN_OBJECT_NAME, b"REPLIES")
        assert (header.encoding, header.coded_char_set_id, header.put_appl_type) == (785, 500, ApplType.QMGR)
        assert letter.md.format.rstrip() == Format.DEAD_LETTER_HEADER
        assert (letter.md.encoding, letter.md.coded_char_set_id) == (546, 1208)


@pytest.mark.invariant(8, 9)
@pytest.mark.parametrize("in_unit", [True, False])
def test_a_dead_letter_queue_that_cannot_be_looked_up_fails_no_call(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, in_unit: bool
) -> None:
    """The message is put, or got: a program that heard of a refusal would put it again, or never see it."""
    group.define_private("QM1", "Q")
    queue = group.connect().open("Q", BOTH)

    def refuse(_: Repository, name: str) -> QueueManagerAttributes:
        raise error_for(MQRC.CF_NOT_AVAILABLE, "", name)

    monkeypatch.setattr(Repository, "qmgr_attributes", refuse)
    queue.put(BODY, asking(), options=PutOption.SYNCPOINT if in_unit else 0)
    commit(queue.connection)
    assert queue.get(SYNCPOINT if in_unit else GetOption.NO_SYNCPOINT).body == BODY
    commit(queue.connection)
    assert drain(group.connect(), "Q") == []


@pytest.mark.rule("mqi/reports", "A message on a transmission queue makes no COA or COD report.")
@pytest.mark.parametrize("format_", [Format.XMIT_Q_HEADER, Format.DEAD_LETTER_HEADER])
def test_a_message_on_its_way_is_not_confirmed(queue: Queue, reader: QueueManagerConnection, format_: bytes) -> None:
    queue.put(BODY, asking(format=format_))
    queue.get()
    assert kinds(reader) == []


@pytest.mark.rule("mqi/reports", "A message on a transmission queue makes no COA or COD report.")
def test_nothing_arrives_on_a_transmission_queue(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_private("QM1", "REPLIES")
    group.define_private("QM1", "OUT", usage="XMITQ")
    group.define("QM1", QueueRemote(name="FAR", remote_queue="Q", remote_qmgr="QM9", transmission_queue="OUT"))
    connection = group.connect()
    for name, qmgr in (("FAR", ""), ("Q", "QM2")):
        with connection.open(name, OpenOption.OUTPUT, qmgr_name=qmgr) as queue:
            queue.put(BODY, asking())
    with connection.open("OUT", OpenOption.INPUT_SHARED) as out:
        out.get()
    with group.connect("QM2").open(SYSTEM_QSG_TRANSMIT_QUEUE, OpenOption.INPUT_SHARED) as part:
        part.get()
    assert kinds(connection) == []


def test_reports_count_for_the_unit_of_work_but_are_never_refused(group: TestGroup) -> None:
    group.define_shared("Q")
    group.define_shared("REPLIES")
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 4})
    connection, reader = group.connect(), group.connect()
    with connection.open("Q", BOTH) as queue:
        queue.put_many([(asking(), b"%d" % n) for n in range(4)], options=PutOption.SYNCPOINT)
        with pytest.raises(MQIError) as refused:
            queue.put(b"one more", options=PutOption.SYNCPOINT)
        assert refused.value.reason == MQRC.SYNCPOINT_LIMIT_REACHED
        connection.commit()
        assert kinds(reader) == [Feedback.COA] * 4
        assert len(queue.get_many(4, SYNCPOINT)) == 4
        connection.commit()
    assert kinds(reader) == [Feedback.COD] * 4


def test_a_queue_for_replies_is_not_held_open(group: TestGroup, queue: Queue, reader: QueueManagerConnection) -> None:
    queue.put(BODY, asking())
    drain(reader, "REPLIES")
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    group.repository("QM1").delete("QLOCAL", "REPLIES")
    queue.get()
    assert [letter.md.feedback for letter in drain(reader, SYSTEM_DEAD_LETTER_QUEUE)] == [Feedback.COD]


@pytest.mark.rule("mqi/reports", "The report of a delivery has its data even if the program got the message cut.")
@pytest.mark.parametrize("identifier", ["any", "of a group"])
@pytest.mark.parametrize(("report", "length"), [(Report.COD_WITH_DATA, 100), (Report.COD_WITH_FULL_DATA, len(BODY))])
def test_a_message_that_is_got_cut_is_reported_with_its_data(
    queue: Queue, reader: QueueManagerConnection, report: Report, length: int, identifier: str
) -> None:
    handle = MessageHandle()
    handle.set("colour", "r" * 200)
    md = asking(report, msg_id=b"m" * 24)
    if identifier == "of a group":
        md.msg_flags, md.group_id, md.msg_seq_number = int(MsgFlag.LAST_MSG_IN_GROUP), b"g" * 24, 1
    queue.put(BODY, md, properties=handle)
    options = GetOption.ACCEPT_TRUNCATED_MSG | GetOption.PROPERTIES_FORCE_MQRFH2
    message = queue.get(options, max_length=10)
    assert (len(message.body), message.reason) == (10, MQRC.TRUNCATED_MSG_ACCEPTED)
    with reader.open("REPLIES", BOTH) as replies:
        assert replies.get(GetOption.NO_PROPERTIES).body == BODY[:length]
