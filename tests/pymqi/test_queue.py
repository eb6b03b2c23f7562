"""Queue: the moment of its open, the arguments of put and get, and the form of failures."""

from __future__ import annotations

import pytest

from sharedq import pymqi
from sharedq.pymqi import CMQC
from tests.support.members import TestGroup

pytestmark = [pytest.mark.usefixtures("qsg"), pytest.mark.share]

BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED


@pytest.fixture
def qmgr(qsg: TestGroup) -> pymqi.QueueManager:  # noqa: ARG001 - the group must be there
    return pymqi.connect("QM1")


def reason_of(caught: pytest.ExceptionInfo[pymqi.MQMIError]) -> int:
    return caught.value.reason


def test_text_is_encoded_and_marked_as_text(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    sent, received = pymqi.MD(), pymqi.MD()
    queue.put("Zürich", sent)
    assert queue.get(None, received) == "Zürich".encode()
    assert (sent.Format, sent.CodedCharSetId) == (CMQC.MQFMT_STRING, 1208)
    assert (received.Format, received.CodedCharSetId) == (CMQC.MQFMT_STRING, 1208)


def test_text_is_encoded_as_the_connection_says() -> None:
    qmgr = pymqi.connect("QM1", bytes_encoding="iso8859-1", default_ccsid=819)
    queue, received = pymqi.Queue(qmgr, "ORDERS", BOTH), pymqi.MD()
    queue.put("Zürich")
    assert queue.get(None, received) == "Zürich".encode("iso8859-1")
    assert received.CodedCharSetId == 819


def test_bytes_are_put_as_they_are(qmgr: pymqi.QueueManager) -> None:
    queue, received = pymqi.Queue(qmgr, "ORDERS", BOTH), pymqi.MD()
    queue.put(b"\0\xff")
    assert queue.get(None, received) == b"\0\xff"
    assert received.Format == CMQC.MQFMT_NONE


@pytest.mark.parametrize("message", [7, None, ["x"], bytearray(b"x")])
def test_anything_else_is_refused(qmgr: pymqi.QueueManager, message: object) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS")
    with pytest.raises(TypeError):
        queue.put(message)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        qmgr.put1("ORDERS", message)  # type: ignore[arg-type]


def test_a_put_returns_identifiers_and_context(qsg: TestGroup, qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    sent, options, received = pymqi.MD(), pymqi.PMO(), pymqi.MD()
    queue.put(b"x", sent, options)
    queue.get(None, received)
    assert len(sent.MsgId) == 24
    assert sent.MsgId == received.MsgId != CMQC.MQMI_NONE
    assert options.ResolvedQName == b"ORDERS".ljust(48)
    assert options.ResolvedQMgrName == qsg.group.name.encode().ljust(48)
    assert received.UserIdentifier.strip()
    assert len(received.PutDate) == len(received.PutTime) == 8
    assert received.PutDate.isdigit()


def test_an_identifier_may_be_shorter_than_its_field(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"x", pymqi.MD(MsgId=b"mine", CorrelId=b"yours"))
    received = pymqi.MD(MsgId=b"mine")
    queue.get(None, received)
    assert received.CorrelId == b"yours".ljust(24, b"\0")


def test_fields_that_a_version_1_descriptor_lacks_are_left_alone(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"x", pymqi.MD(Version=2, GroupId=b"g", MsgFlags=CMQC.MQMF_MSG_IN_GROUP))
    received = pymqi.MD(GroupId=b"untouched", MsgSeqNumber=77)
    queue.get(None, received)
    assert received.GroupId == b"untouched".ljust(24, b"\0")
    assert received.MsgSeqNumber == 77


def test_a_queue_opens_for_what_is_done_first(qmgr: pymqi.QueueManager) -> None:
    put_first = pymqi.Queue(qmgr, "ORDERS")
    assert put_first.get_handle() is None
    put_first.put(b"x")
    assert put_first.get_handle() is not None
    with pytest.raises(pymqi.MQMIError) as caught:
        put_first.get()
    assert reason_of(caught) == CMQC.MQRC_NOT_OPEN_FOR_INPUT

    get_first = pymqi.Queue(qmgr, "ORDERS")
    assert get_first.get() == b"x"
    with pytest.raises(pymqi.MQMIError) as caught:
        get_first.put(b"y")
    assert reason_of(caught) == CMQC.MQRC_NOT_OPEN_FOR_OUTPUT


def test_open_and_close(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr)
    with pytest.raises(pymqi.PYIFError):
        queue.put(b"nowhere")
    with pytest.raises(pymqi.PYIFError, match="not open"):
        queue.close()
    queue.open(pymqi.OD(ObjectName=b"ORDERS"), BOTH)
    with pytest.raises(pymqi.PYIFError, match="already open"):
        queue.open("ORDERS")
    queue.put(b"x")
    queue.close()
    with pytest.raises(pymqi.PYIFError):
        queue.put(b"its name went with the close")
    queue.open("ORDERS")
    assert queue.get() == b"x"
    with pytest.raises(TypeError):
        pymqi.Queue(qmgr, "ORDERS", BOTH, "more")
    with pytest.raises(TypeError):
        queue.put(b"x", pymqi.MD(), pymqi.PMO(), "more")  # type: ignore[arg-type]


def test_a_handle_can_be_used_through_another_queue_object(qmgr: pymqi.QueueManager) -> None:
    queue, borrower = pymqi.Queue(qmgr, "ORDERS", BOTH), pymqi.Queue(qmgr)
    handle = queue.get_handle()
    assert handle is not None
    borrower.set_handle(handle)
    borrower.put(b"x")
    assert queue.get() == b"x"
    queue.close()
    with pytest.raises(pymqi.MQMIError) as caught:
        borrower.put(b"y")
    assert reason_of(caught) == CMQC.MQRC_HOBJ_ERROR


def test_a_handle_ends_with_its_connection(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    qmgr.disconnect()
    qmgr.connect("QM1")
    pymqi.Queue(qmgr, "ORDERS", BOTH)
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.put(b"x")
    assert reason_of(caught) == CMQC.MQRC_HOBJ_ERROR


def test_a_name_that_is_not_defined(qmgr: pymqi.QueueManager) -> None:
    with pytest.raises(pymqi.MQMIError) as caught:
        pymqi.Queue(qmgr, "NOWHERE").put(b"x")
    assert str(caught.value) == "MQI Error. Comp: 2, Reason 2085: FAILED: MQRC_UNKNOWN_OBJECT_NAME"


# -- get and lengths --------------------------------------------------------------------------------------------


def test_a_get_without_a_length_returns_messages_of_any_length(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    body = b"0123456789" * 20_000
    queue.put(body)
    assert queue.get() == body


def test_a_message_longer_than_its_room_stays_where_it_is(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"0123456789")
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.get(4)
    error = caught.value
    assert (error.comp, error.reason) == (CMQC.MQCC_WARNING, CMQC.MQRC_TRUNCATED_MSG_FAILED)
    assert (error.message, error.original_length) == (b"0123", 10)
    assert queue.get(error.original_length) == b"0123456789"


def test_a_truncated_message_can_be_accepted(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    sent, received = pymqi.MD(), pymqi.MD()
    queue.put(b"0123456789", sent)
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.get(4, received, pymqi.GMO(Options=CMQC.MQGMO_ACCEPT_TRUNCATED_MSG))
    error = caught.value
    assert (error.comp, error.reason) == (CMQC.MQCC_WARNING, CMQC.MQRC_TRUNCATED_MSG_ACCEPTED)
    assert (error.message, error.original_length) == (b"0123", 10)
    assert received.MsgId == sent.MsgId
    with pytest.raises(pymqi.MQMIError, match="MQRC_NO_MSG_AVAILABLE"):
        queue.get()


def test_a_failed_get_leaves_the_descriptor_alone(qmgr: pymqi.QueueManager) -> None:
    descriptor = pymqi.MD(CorrelId=b"wanted")
    with pytest.raises(pymqi.MQMIError) as caught:
        pymqi.Queue(qmgr, "ORDERS").get(None, descriptor)
    assert str(caught.value) == "MQI Error. Comp: 2, Reason 2033: FAILED: MQRC_NO_MSG_AVAILABLE"
    assert (caught.value.message, caught.value.original_length) == (b"", 0)
    assert descriptor.CorrelId == b"wanted"


def test_get_no_rfh2_sets_its_options(qmgr: pymqi.QueueManager) -> None:
    qmgr.put1("ORDERS", b"x")
    options = pymqi.GMO()
    assert pymqi.Queue(qmgr, "ORDERS").get_no_rfh2(None, None, options) == b"x"
    assert options.Options == CMQC.MQGMO_NO_PROPERTIES | CMQC.MQGMO_FAIL_IF_QUIESCING


# -- warnings and structures that cannot be ----------------------------------------------------------------------


def test_a_warning_is_raised_even_if_the_message_was_put(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.put(b"urgent", pymqi.MD(Priority=12))
    assert str(caught.value) == "MQI Error. Comp: 1, Reason 2049: WARNING: MQRC_PRIORITY_EXCEEDS_MAXIMUM"
    assert queue.get() == b"urgent"


def test_an_argument_that_is_no_structure_is_refused(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    for descriptor in (pymqi.MD(StrucId=b"NOMD"), pymqi.MD(Version=9)):
        with pytest.raises(pymqi.MQMIError) as caught:
            queue.put(b"x", descriptor)
        assert reason_of(caught) == CMQC.MQRC_MD_ERROR
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.get(None, pymqi.MD(), pymqi.GMO(Version=9))
    assert reason_of(caught) == CMQC.MQRC_GMO_ERROR


def test_a_selection_string_chooses_messages(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"low", pymqi.MD(Priority=1))
    queue.put(b"high", pymqi.MD(Priority=7))
    queue.put(b"lower", pymqi.MD(Priority=0))
    selecting = pymqi.OD(ObjectName=b"ORDERS", Version=CMQC.MQOD_VERSION_4)
    selecting.set_vs("SelectionString", b"Root.MQMD.Priority < 5")
    selected = pymqi.Queue(qmgr, selecting, CMQC.MQOO_INPUT_SHARED)
    assert [selected.get(), selected.get()] == [b"low", b"lower"]
    with pytest.raises(pymqi.MQMIError) as caught:
        selected.get()
    assert reason_of(caught) == CMQC.MQRC_NO_MSG_AVAILABLE
    assert queue.get() == b"high"
    # Before version 4 nobody reads it, and a null string is none.
    selecting.Version = CMQC.MQOD_VERSION_3
    pymqi.Queue(qmgr, selecting, CMQC.MQOO_OUTPUT).close()
    nothing = pymqi.OD(ObjectName=b"ORDERS", Version=CMQC.MQOD_VERSION_4)
    nothing.set_vs("SelectionString", b"")
    pymqi.Queue(qmgr, nothing, CMQC.MQOO_OUTPUT).close()


@pytest.mark.parametrize(
    ("text", "changes", "reason"),
    [
        (b"colour =", {}, CMQC.MQRC_SELECTOR_SYNTAX_ERROR),
        (b"Body.x = 1", {}, CMQC.MQRC_SELECTION_NOT_AVAILABLE),
        (b"1 = 2", {}, CMQC.MQRC_SELECTOR_ALWAYS_FALSE),
        (b"a = 1", {"SelectionStringVSOffset": 8}, CMQC.MQRC_SELECTION_STRING_ERROR),
        (b"a = 1", {"SelectionStringVSPtr": 0}, CMQC.MQRC_SELECTION_STRING_ERROR),
        (b"a = 1", {"SelectionStringVSLength": 10241}, CMQC.MQRC_SELECTION_STRING_ERROR),
        (b"a = 1", {"SelectionStringVSLength": -2}, CMQC.MQRC_SELECTION_STRING_ERROR),
        (b"a = '\xff'", {"SelectionStringVSCCSID": 1208}, CMQC.MQRC_SELECTION_STRING_ERROR),
    ],
)
def test_a_wrong_selection_string_is_refused(
    qmgr: pymqi.QueueManager, text: bytes, changes: dict[str, int], reason: int
) -> None:
    selecting = pymqi.OD(ObjectName=b"ORDERS", Version=CMQC.MQOD_VERSION_4)
    selecting.set_vs("SelectionString", text)
    selecting.set(**changes)
    with pytest.raises(pymqi.MQMIError) as caught:
        pymqi.Queue(qmgr, selecting, CMQC.MQOO_INPUT_SHARED)
    assert reason_of(caught) == reason


def test_unsupported_arguments_are_refused_not_ignored(qmgr: pymqi.QueueManager) -> None:
    with pytest.raises(pymqi.MQMIError) as caught:
        qmgr.put1(pymqi.OD(Version=CMQC.MQOD_VERSION_2, RecsPresent=2), b"x")
    assert reason_of(caught) == CMQC.MQRC_RECS_PRESENT_ERROR


# -- attributes ---------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/open", "MQINQ of an attribute of another queue type is a warning (2068), and tells the other attributes."
)
def test_inquiring_what_a_local_queue_does_not_have_is_a_warning(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE)
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.inquire(CMQC.MQCA_REMOTE_Q_NAME)
    assert (caught.value.comp, caught.value.reason) == (CMQC.MQCC_WARNING, CMQC.MQRC_SELECTOR_NOT_FOR_TYPE)
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.inquire(CMQC.MQIA_MAX_PRIORITY)
    assert (caught.value.comp, caught.value.reason) == (CMQC.MQCC_FAILED, CMQC.MQRC_SELECTOR_ERROR)


def test_attributes_are_inquired_and_set(qmgr: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE | CMQC.MQOO_SET | CMQC.MQOO_OUTPUT)
    assert queue.inquire(CMQC.MQCA_Q_NAME) == b"ORDERS".ljust(48)
    assert queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 0
    assert queue.inquire(CMQC.MQIA_INHIBIT_PUT) == CMQC.MQQA_PUT_ALLOWED

    queue.set(CMQC.MQIA_INHIBIT_PUT, CMQC.MQQA_PUT_INHIBITED)
    assert queue.inquire(CMQC.MQIA_INHIBIT_PUT) == CMQC.MQQA_PUT_INHIBITED
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.put(b"x")
    assert reason_of(caught) == CMQC.MQRC_PUT_INHIBITED

    queue.set(CMQC.MQCA_TRIGGER_DATA, b"wake the batch")
    assert queue.inquire(CMQC.MQCA_TRIGGER_DATA) == b"wake the batch".ljust(64)
    # Node's package copies what lies after a text in memory.
    queue.set(CMQC.MQCA_TRIGGER_DATA, b"next\0\xff\x01".ljust(64, b"\xfe"))
    assert queue.inquire(CMQC.MQCA_TRIGGER_DATA) == b"next".ljust(64)
    for attribute, value in ((CMQC.MQIA_INHIBIT_PUT, b"no"), (CMQC.MQCA_TRIGGER_DATA, 1)):
        with pytest.raises(pymqi.PYIFError):
            queue.set(attribute, value)
    with pytest.raises(TypeError):
        queue.set(CMQC.MQCA_TRIGGER_DATA, "text")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, 0, 10_000_000_000])
def test_a_value_out_of_range_is_refused(qmgr: pymqi.QueueManager, value: int) -> None:
    queue = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_SET | CMQC.MQOO_INQUIRE)
    with pytest.raises(pymqi.MQMIError) as caught:
        queue.set(CMQC.MQIA_TRIGGER_DEPTH, value)
    assert caught.value.comp == CMQC.MQCC_FAILED
    assert queue.inquire(CMQC.MQIA_TRIGGER_DEPTH) == 1


@pytest.mark.rule(
    "mqi/context", "PASS_ALL_CONTEXT and PASS_IDENTITY_CONTEXT pass on the context of the message that was got last."
)
def test_the_context_of_a_message_is_passed_on_by_its_handle(qmgr: pymqi.QueueManager) -> None:
    sets = pymqi.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT)
    with_context = pymqi.MD(UserIdentifier=b"somebody", ApplIdentityData=b"identity")
    pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT).put(b"came", with_context, sets)
    source = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_SAVE_ALL_CONTEXT)
    assert source.get() == b"came"

    passes = pymqi.PMO(Options=CMQC.MQPMO_PASS_ALL_CONTEXT, Context=source.get_handle())
    qmgr.put1("ORDERS", b"goes", pymqi.MD(), passes)

    assert passes.Options == CMQC.MQPMO_PASS_ALL_CONTEXT
    passed = pymqi.MD()
    assert source.get(None, passed) == b"goes"
    assert (passed.UserIdentifier.rstrip(), passed.ApplIdentityData.rstrip()) == (b"somebody", b"identity")


@pytest.mark.parametrize("options", [CMQC.MQCNO_NONE, CMQC.MQCNO_RECONNECT])
def test_the_queue_manager_can_be_opened_as_an_object(qsg: TestGroup, options: int) -> None:  # noqa: ARG001
    qmgr = pymqi.connect("QM1", cno_options=options)
    queue = pymqi.Queue(qmgr, "ORDERS", BOTH)
    manager = pymqi.Queue(qmgr, pymqi.OD(ObjectType=CMQC.MQOT_Q_MGR), CMQC.MQOO_INQUIRE)
    later = pymqi.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE)
    assert len({queue.get_handle(), manager.get_handle(), later.get_handle()}) == 3
    assert manager.inquire(CMQC.MQCA_Q_MGR_NAME) == b"QM1".ljust(48)
    with pytest.raises(pymqi.MQMIError) as caught:
        manager.put(b"x")
    assert reason_of(caught) == CMQC.MQRC_NOT_OPEN_FOR_OUTPUT
    handle = manager.get_handle()
    assert handle is not None
    manager.close()
    borrower = pymqi.Queue(qmgr)
    borrower.set_handle(handle)
    with pytest.raises(pymqi.MQMIError) as caught:
        borrower.inquire(CMQC.MQCA_Q_MGR_NAME)
    assert reason_of(caught) == CMQC.MQRC_HOBJ_ERROR
    assert later.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 0
