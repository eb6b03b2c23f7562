"""PCFExecute: the requests that it writes, the answers that it reads, and filters. A responder of the test answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq import pymqi
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD
from sharedq.pymqi import CMQC, CMQCFC
from tests.support.members import TestGroup
from tests.unit.mqi.test_pcf import MESSAGES, PARAMETERS

COMMANDS = "TEST.COMMANDS"
END = b"end"
NATIVE = Representation(1208, CMQC.MQENC_NATIVE)
BIG_ENDIAN = Representation(1208, CMQC.MQENC_INTEGER_NORMAL)
Responder = Callable[[pcf.PCFMessage], list[pcf.PCFMessage]]


def answer(*parameters: pcf.Parameter, is_last: bool = True, reason: int = 0) -> pcf.PCFMessage:
    header = pcf.MQCFH(CMQCFC.MQCFT_RESPONSE, control=int(is_last), comp_code=2 if reason else 0, reason=reason)
    return pcf.PCFMessage(header, parameters)


@contextmanager
def answered(qsg: TestGroup, responder: Responder, representation: Representation = NATIVE) -> Iterator[list[MQMD]]:
    """Answer each request. Yields the descriptors of the requests so far."""
    connection = qsg.connect()
    queue = connection.open(COMMANDS, OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    requests: list[MQMD] = []

    def serve() -> None:
        while True:
            message = queue.get(GetOption.WAIT, wait_ms=-1)
            if message.body == END:
                return
            requests.append(message.md)
            for each in responder(read(message.body)):
                reply = MQMD(format=CMQC.MQFMT_ADMIN, correl_id=message.md.msg_id, encoding=representation.encoding)
                connection.put1(message.md.reply_to_q.decode(), write(each, representation), reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield requests
    finally:
        qsg.connect().put1(COMMANDS, END)
        thread.join()


@pytest.fixture
def pcf_of_qm1(qsg: TestGroup) -> pymqi.PCFExecute:
    qsg.define_shared(COMMANDS)
    return pymqi.PCFExecute(pymqi.connect("QM1"), command_queue_name=COMMANDS.encode())


def echo(request: pcf.PCFMessage) -> list[pcf.PCFMessage]:
    """Answer with the request itself."""
    return [answer(pcf.MQCFIN(CMQCFC.MQIACF_COMMAND, request.header.command), *request.parameters)]


def test_every_kind_of_value_becomes_its_parameter(qsg: TestGroup, pcf_of_qm1: pymqi.PCFExecute) -> None:
    seen: list[pcf.PCFMessage] = []

    def respond(request: pcf.PCFMessage) -> list[pcf.PCFMessage]:
        seen.append(request)
        return echo(request)

    args: dict[int, Any] = {
        CMQC.MQCA_Q_NAME: "ORDERS.Zürich",
        CMQC.MQCA_Q_DESC: b"bytes",
        CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL,
        CMQCFC.MQIACF_Q_ATTRS: CMQC.MQIA_CURRENT_Q_DEPTH,
        CMQCFC.MQIACF_Q_STATUS_ATTRS: [CMQC.MQIA_CURRENT_Q_DEPTH, CMQC.MQCA_Q_DESC],
        CMQC.MQCA_NAMES: ["A", b"BB"],
        CMQCFC.MQBACF_GENERIC_CONNECTION_ID: pymqi.ByteString(b"\1\2"),
        CMQCFC.MQIACF_CONNECTION_ATTRS: [],
        CMQC.MQCA_LAST: [],
    }
    assert pymqi.ByteString("").value == b""
    filters = [
        pymqi.Filter(CMQC.MQIA_CURRENT_Q_DEPTH).greater(0),
        pymqi.Filter(CMQC.MQCA_Q_DESC).not_like(b"IBM*"),
        pymqi.CFBF(Parameter=CMQCFC.MQBACF_CONNECTION_ID, Operator=CMQCFC.MQCFOP_EQUAL, FilterValue=b"\1"),
    ]
    with answered(qsg, respond) as requests:
        (result,) = pcf_of_qm1.MQCMD_INQUIRE_Q(args, filters)

    assert seen[0].parameters == (
        pcf.MQCFST(CMQC.MQCA_Q_NAME, "ORDERS.Zürich".encode()),
        pcf.MQCFST(CMQC.MQCA_Q_DESC, b"bytes"),
        pcf.MQCFIN(CMQC.MQIA_Q_TYPE, CMQC.MQQT_LOCAL),
        pcf.MQCFIL(CMQCFC.MQIACF_Q_ATTRS, (CMQC.MQIA_CURRENT_Q_DEPTH,)),
        pcf.MQCFIL(CMQCFC.MQIACF_Q_STATUS_ATTRS, (CMQC.MQIA_CURRENT_Q_DEPTH, CMQC.MQCA_Q_DESC)),
        pcf.MQCFSL(CMQC.MQCA_NAMES, (b"A\0\0\0", b"BB\0\0")),
        pcf.MQCFBS(CMQCFC.MQBACF_GENERIC_CONNECTION_ID, b"\1\2"),
        pcf.MQCFIL(CMQCFC.MQIACF_CONNECTION_ATTRS, ()),
        pcf.MQCFSL(CMQC.MQCA_LAST, ()),
        pcf.MQCFIF(CMQC.MQIA_CURRENT_Q_DEPTH, CMQCFC.MQCFOP_GREATER, 0),
        pcf.MQCFSF(CMQC.MQCA_Q_DESC, CMQCFC.MQCFOP_NOT_LIKE, b"IBM*"),
        pcf.MQCFBF(CMQCFC.MQBACF_CONNECTION_ID, CMQCFC.MQCFOP_EQUAL, b"\1"),
    )
    assert seen[0].header == pcf.MQCFH(CMQCFC.MQCFT_COMMAND_XR, 3, CMQCFC.MQCMD_INQUIRE_Q)
    assert result[CMQCFC.MQIACF_COMMAND] == CMQCFC.MQCMD_INQUIRE_Q
    assert result[CMQC.MQCA_Q_NAME] == "ORDERS.Zürich".encode() + b"\0\0"
    assert result[CMQC.MQIA_CURRENT_Q_DEPTH] == (CMQCFC.MQCFOP_GREATER, 0)
    assert result[CMQCFC.MQBACF_CONNECTION_ID] == (CMQCFC.MQCFOP_EQUAL, b"\1\0\0\0")
    (md,) = requests
    assert (md.format.strip(), md.msg_type, md.coded_char_set_id) == (b"MQADMIN", CMQC.MQMT_REQUEST, 1208)
    assert md.reply_to_q == pcf_of_qm1.reply_queue_name
    assert md.report == CMQC.MQRO_PASS_DISCARD_AND_EXPIRY | CMQC.MQRO_DISCARD_MSG
    assert 0 < md.expiry <= 50


def test_parameters_may_be_structures_and_a_group_counts_once(qsg: TestGroup, pcf_of_qm1: pymqi.PCFExecute) -> None:
    inner = [pymqi.CFIN(Parameter=1, Value=7), pymqi.CFGR(Parameter=9002, ParameterCount=1), pymqi.CFIN(Parameter=2)]
    args = [pymqi.CFGR(Parameter=9001, ParameterCount=2), *inner, pymqi.CFST(Parameter=3, String=b"last")]
    with answered(qsg, echo):
        (result,) = pcf_of_qm1.CMQCFC.MQCMD_PING_Q_MGR(args)
    assert result == {CMQCFC.MQIACF_COMMAND: 40, 9001: [{1: 7, 9002: [{2: 0}]}], 3: b"last"}


def test_an_answer_may_be_many_messages(qsg: TestGroup, pcf_of_qm1: pymqi.PCFExecute) -> None:
    with answered(qsg, lambda _: [answer(pcf.MQCFIN(1, number), is_last=number == 2) for number in range(3)]):
        assert pcf_of_qm1.MQCMD_INQUIRE_Q() == [{1: 0}, {1: 1}, {1: 2}]


def test_a_failure_is_raised_and_leaves_no_answers_on_the_queue(qsg: TestGroup, pcf_of_qm1: pymqi.PCFExecute) -> None:
    failing = [
        answer(pcf.MQCFIN(1, 1), is_last=False),
        answer(is_last=False, reason=CMQCFC.MQRCCF_CFST_PARM_ID_ERROR),
        answer(is_last=False, reason=CMQCFC.MQRCCF_CFIN_PARM_ID_ERROR),
        answer(reason=CMQCFC.MQRCCF_COMMAND_FAILED),
    ]
    with answered(qsg, lambda _: failing), pytest.raises(pymqi.MQMIError) as caught:
        pcf_of_qm1.MQCMD_INQUIRE_Q()
    assert (caught.value.comp, caught.value.reason) == (2, CMQCFC.MQRCCF_CFST_PARM_ID_ERROR)
    assert pcf_of_qm1.reply_queue is not None
    with pytest.raises(pymqi.MQMIError, match="MQRC_NO_MSG_AVAILABLE"):
        pcf_of_qm1.reply_queue.get()


def test_an_answer_that_does_not_come_is_no_message(qsg: TestGroup) -> None:
    qsg.define_shared(COMMANDS)
    impatient = pymqi.PCFExecute(
        "QM1", command_queue_name=COMMANDS.encode(), response_wait_interval=1, dynamic_queue_name=b"MINE.*"
    )
    assert str(impatient.reply_queue_name).startswith("b'MINE.")
    with pytest.raises(pymqi.MQMIError, match="MQRC_NO_MSG_AVAILABLE"):
        impatient.MQCMD_PING_Q_MGR()


def test_only_the_answers_to_the_request_are_read(qsg: TestGroup, pcf_of_qm1: pymqi.PCFExecute) -> None:
    name = pcf_of_qm1.reply_queue_name
    assert name is not None
    qsg.connect().put1(name.decode(), write(answer(pcf.MQCFIN(1, 99))), MQMD(correl_id=b"late".ljust(24, b"\0")))
    with answered(qsg, lambda _: [answer(pcf.MQCFIN(1, 1))]):
        assert pcf_of_qm1.MQCMD_INQUIRE_Q() == [{1: 1}]


@pytest.mark.parametrize("convert", [True, False])
def test_answers_may_come_in_the_other_byte_order(qsg: TestGroup, convert: bool) -> None:
    qsg.define_shared(COMMANDS)
    commands = pymqi.PCFExecute("QM1", command_queue_name=COMMANDS.encode(), convert=convert)
    assert commands.convert is convert
    with answered(qsg, lambda _: [answer(pcf.MQCFIN(1, 77), pcf.MQCFST(2, b"text"))], BIG_ENDIAN):
        assert commands.MQCMD_INQUIRE_Q() == [{1: 77, 2: b"text"}]


def test_a_number_that_does_not_fit_is_told_before_anything_is_sent(qsg: TestGroup) -> None:
    qsg.define_shared(COMMANDS)
    commands = pymqi.PCFExecute("QM1", command_queue_name=COMMANDS.encode())
    for value in (1 << 31, -(1 << 31) - 1, [1, 1 << 40]):
        with pytest.raises(pymqi.PYIFError, match="PCF"):
            commands.MQCMD_INQUIRE_Q({CMQC.MQIA_Q_TYPE: value})
    with pytest.raises(pymqi.PYIFError, match="PCF"):
        commands.MQCMD_INQUIRE_Q({1 << 40: 1})
    assert qsg.group.client().hlen(qsg.group.structure("APPL1").messages) == 0


def test_a_connection_of_its_own_may_be_made_later(qsg: TestGroup) -> None:
    qsg.define_shared(COMMANDS)
    commands = pymqi.PCFExecute(command_queue_name=COMMANDS.encode())
    with pytest.raises(pymqi.PYIFError, match="not connected"):
        commands.MQCMD_PING_Q_MGR()
    commands.connect("QM1")
    with answered(qsg, echo):
        assert commands.MQCMD_PING_Q_MGR() == [{CMQCFC.MQIACF_COMMAND: 40}]
    commands.disconnect()
    assert not commands.is_connected


def test_disconnecting_removes_the_queue_for_the_answers(qsg: TestGroup, pcf_of_qm1: pymqi.PCFExecute) -> None:
    name = pcf_of_qm1.reply_queue_name
    assert name is not None
    assert qsg.repository("QM1").locate(name.decode()) is not None
    pcf_of_qm1.disconnect()
    pcf_of_qm1.disconnect()
    assert qsg.repository("QM1").locate(name.decode()) is None
    assert (pcf_of_qm1.reply_queue, pcf_of_qm1.reply_queue_name) == (None, None)
    assert pcf_of_qm1.qm is not None
    assert pcf_of_qm1.qm.is_connected
    with pytest.raises(pymqi.PYIFError, match="reply queue"):
        pcf_of_qm1.MQCMD_PING_Q_MGR()


def test_wrong_uses_are_refused(pcf_of_qm1: pymqi.PCFExecute) -> None:
    with pytest.raises(AttributeError, match="MQCMD_MAKE_COFFEE"):
        pcf_of_qm1.MQCMD_MAKE_COFFEE()
    with pytest.raises(TypeError, match="float"):
        pcf_of_qm1.MQCMD_PING_Q_MGR({1: 1.5})
    with pytest.raises(TypeError):
        pcf_of_qm1.MQCMD_PING_Q_MGR({1: object()})
    with pytest.raises(TypeError):
        pcf_of_qm1.MQCMD_PING_Q_MGR({}, [], "more")


def test_filters_know_their_operators_and_selectors() -> None:
    names = (
        "less equal greater not_less not_equal not_greater like not_like contains excludes contains_gen excludes_gen"
    )
    for name in names.split():
        made = getattr(pymqi.Filter(CMQC.MQCA_Q_NAME), name)(b"v")
        assert isinstance(made, pymqi.StringFilter)
        assert made.operator == getattr(CMQCFC, f"MQCFOP_{name.upper()}")
    assert isinstance(pymqi.Filter(CMQC.MQIA_Q_TYPE).less(1), pymqi.IntegerFilter)
    assert pymqi.Filter(CMQC.MQIA_Q_TYPE).selector == CMQC.MQIA_Q_TYPE
    with pytest.raises(pymqi.Error, match="likes"):
        pymqi.Filter(CMQC.MQCA_Q_NAME).likes(b"x")
    with pytest.raises(pymqi.Error, match="70000"):
        pymqi.Filter(70000).equal(1)
    with pytest.raises(TypeError):
        pymqi.Filter(CMQC.MQCA_Q_NAME).like("text")  # type: ignore[arg-type]
    assert pymqi.StringFilter(1, "text", 2).value == b"text"


def test_keys_become_names() -> None:
    answer = {CMQC.MQCA_Q_NAME: b"Q", CMQC.MQIA_Q_TYPE: 1, 123456: 7}
    named = {"MQCA_Q_NAME": b"Q", "MQIA_Q_TYPE": 1, 123456: 7}
    assert pymqi.PCFExecute.stringify_keys(answer) == pymqi.PCFExecute.stringifyKeys(answer) == named
    with pytest.raises(TypeError):
        pymqi.PCFExecute.stringify_keys({CMQC.MQCA_Q_NAME: "text"})


# -- messages -----------------------------------------------------------------------------------------------------


@given(MESSAGES, st.sampled_from([NATIVE, BIG_ENDIAN]))
def test_any_message_is_read_in_either_byte_order(message: pcf.PCFMessage, representation: Representation) -> None:
    data = write(message, representation)
    if message.header.comp_code and message.header.type != CMQCFC.MQCFT_EVENT:
        with pytest.raises(pymqi.MQMIError) as caught:
            pymqi.PCFExecute.unpack(data)
        assert (caught.value.comp, caught.value.reason) == (message.header.comp_code, message.header.reason)
        return
    found, header = pymqi.PCFExecute.unpack(data)
    assert (header.Command, header.Type) == (message.header.command, message.header.type)
    assert header.ParameterCount == len(message.parameters)
    assert set(found) == {each.parameter for each in message.parameters}


@pytest.mark.parametrize("value", [pcf.MQCFIN(1, 5), pcf.MQCFIL(1, (5, 6))])
def test_a_group_and_a_value_of_one_number_are_read(value: pcf.Parameter) -> None:
    """IBM MQ sends no such message, and a program must not fail for one."""
    group = pcf.MQCFGR(1, (pcf.MQCFIN(2, 7),))
    for parameters, expected in (((value, group), [{2: 7}]), ((group, value, group), [{2: 7}, {2: 7}])):
        message = pcf.PCFMessage(pcf.MQCFH(), parameters)
        assert pymqi.PCFExecute.unpack(write(message, NATIVE))[0] == {1: expected}


def packed(parameter: pcf.Parameter) -> bytes:
    """A parameter as a program writes it with the structures."""
    match parameter:
        case pcf.MQCFGR():
            group = pymqi.CFGR(Parameter=parameter.parameter, ParameterCount=len(parameter.parameters))
            return group.pack() + b"".join(map(packed, parameter.parameters))
        case pcf.MQCFIN():
            return pymqi.CFIN(Parameter=parameter.parameter, Value=parameter.value).pack()
        case pcf.MQCFIN64():
            # IBM's structure has a reserved number, which is null.
            return pymqi.CFIN64(Parameter=parameter.parameter, Value=parameter.value).pack()
        case pcf.MQCFIL():
            return pymqi.CFIL(Parameter=parameter.parameter, Values=list(parameter.values)).pack()
        case pcf.MQCFIL64():
            return pymqi.CFIL64(Parameter=parameter.parameter, Values=list(parameter.values)).pack()
        case pcf.MQCFSL():
            strings = [each.ljust(pymqi.padded_count(len(each)), b"\0") for each in parameter.strings]
            return pymqi.CFSL(Parameter=parameter.parameter, Strings=strings, CodedCharSetId=parameter.ccsid).pack()
        case pcf.MQCFST():
            return pymqi.CFST(
                Parameter=parameter.parameter, String=parameter.string, CodedCharSetId=parameter.ccsid
            ).pack()
        case pcf.MQCFBS():
            return pymqi.CFBS(Parameter=parameter.parameter, String=parameter.string).pack()
        case pcf.MQCFIF():
            return pymqi.CFIF(
                Parameter=parameter.parameter, Operator=parameter.operator, FilterValue=parameter.filter_value
            ).pack()
        case pcf.MQCFSF():
            return pymqi.CFSF(
                Parameter=parameter.parameter,
                Operator=parameter.operator,
                FilterValue=parameter.filter_value,
                CodedCharSetId=parameter.ccsid,
            ).pack()
    return pymqi.CFBF(
        Parameter=parameter.parameter, Operator=parameter.operator, FilterValue=parameter.filter_value
    ).pack()


@given(PARAMETERS)
def test_structures_have_the_layout_that_the_codec_reads(parameter: pcf.Parameter) -> None:
    header = pymqi.CFH(Type=CMQCFC.MQCFT_USER, ParameterCount=1)
    (found,) = read(header.pack() + packed(parameter)).parameters
    # The strings of a list have the room of the longest one, which is a multiple of four in these structures.
    if "MQCFSL" not in repr(parameter):
        assert found == parameter
    copy = pymqi.CFH()
    copy.unpack(header.pack())
    assert copy.get() == header.get()


@given(st.binary(max_size=60), st.integers(0, 200), st.binary(max_size=8))
def test_no_bytes_raise_anything_else(data: bytes, at: int, change: bytes) -> None:
    whole = write(answer(pcf.MQCFST(1, b"abcde"), pcf.MQCFGR(2, (pcf.MQCFIL(3, (1, 2)),)), pcf.MQCFSL(4, (b"x",))))
    for each in (data, whole[:at] + change + whole[at + len(change) :], whole[:at]):
        with suppress(pymqi.PYIFError, pymqi.MQMIError):
            pymqi.PCFExecute.unpack(each)


def test_an_empty_string_list_is_empty() -> None:
    message = pymqi.CFH(ParameterCount=1).pack() + pymqi.CFSL(Parameter=CMQC.MQCA_NAMES, Strings=[]).pack()
    assert pymqi.PCFExecute.unpack(message)[0] == {CMQC.MQCA_NAMES: []}
