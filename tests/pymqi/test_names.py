"""The names that a program finds: the interface of pymqi 1.12, without publish/subscribe."""

from __future__ import annotations

import importlib
import inspect
import pickle
from enum import Enum
from operator import attrgetter

import pytest

from sharedq import pymqi
from sharedq.mqi import constants
from sharedq.pymqi import CMQC, CMQCFC
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

#: Class or module -> names, each with the parameters that a call may name or count.
INTERFACE = {
    "": {
        "connect": "queue_manager channel conn_info user password disconnect_on_exit bytes_encoding default_ccsid",
        "make_q_desc": "qDescOrString",
        "makeQDesc": "qDescOrString",
        "common_q_args": "*opts",
        "commonQArgs": "*opts",
        "ensure_bytes": "s encoding",
        "ensure_not_unicode": "value",
        "is_unicode": "s",
        "padded_count": "count boundary",
        "py23long": "x",
    },
    "QueueManager": {
        "__init__": "self name disconnect_on_exit bytes_encoding default_ccsid",
        "connect": "self name",
        "connect_with_options": "self name *args **kwargs",
        "connectWithOptions": "self name *args **kwargs",
        "connect_tcp_client": "self name cd channel conn_name user password",
        "connectTCPClient": "self name cd channel conn_name user password",
        "disconnect": "self",
        "get_handle": "self",
        "getHandle": "self",
        "begin": "self",
        "commit": "self",
        "backout": "self",
        "put1": "self qDesc msg *opts",
        "inquire": "self attribute",
    },
    "Queue": {
        "__init__": "self qMgr *opts",
        "open": "self qDesc *opts",
        "put": "self msg *opts",
        "put_rfh2": "self msg *opts",
        "get": "self maxLength *opts",
        "get_no_jms": "self max_length *args",
        "get_no_rfh2": "self max_length *args",
        "get_rfh2": "self max_length *opts",
        "close": "self options",
        "inquire": "self attribute",
        "set": "self attribute arg",
        "set_handle": "self queue_handle",
        "get_handle": "self",
    },
    "MQOpts": {
        "__init__": "self memlist **kw",
        "pack": "self",
        "unpack": "self buff",
        "set": "self **kw",
        "get": "self",
        "get_length": "self",
        "set_vs": "self vs_name vs_value vs_offset vs_buffer_size vs_ccsid",
        "get_vs": "self vs_name",
    },
    "MessageHandle": {"__init__": "self qmgr cmho"},
    "MessageHandle._Properties": {
        "get": "self name default max_value_length impo_options pd property_type",
        "set": "self name value property_type value_length pd smpo",
    },
    "RFH2": {"add_folder": "self folder_data", "pack": "self encoding", "unpack": "self buff encoding"},
    "MQMIError": {"__init__": "self comp reason **kw", "errorAsString": "self"},
    "PYIFError": {"__init__": "self e"},
    "ByteString": {"__init__": "self value"},
    "PCFExecute": {
        "__init__": "self name disconnect_on_exit model_queue_name dynamic_queue_name command_queue_name "
        "response_wait_interval convert",
        "stringify_keys": "rawDict",
        "stringifyKeys": "rawDict",
        "disconnect": "self",
        "unpack": "message",
    },
    "StringFilter": {"__init__": "self selector value operator"},
    "IntegerFilter": {"__init__": "self selector value operator"},
    "FilterOperator": {"__init__": "self selector operator_name", "__call__": "self value"},
    "Filter": {"__init__": "self selector"},
}
#: Names that are no calls.
ATTRIBUTES = {
    "": "__version__ __mqlevels__ __mqbuild__ is_py2 is_py3 default MQLONG_TYPE INTEGER64_TYPE CMQC CMQCFC CMQXC CMQZC",
    "default": "ccsid bytes_encoding",
    "QueueManager": "is_connected",
    "MQMIError": "comp reason errStringDicts",
    "RFH2": "initial_opts big_endian_encodings",
    "FilterOperator": "operator_mapping",
    "PCFExecute": "qm iaStringDict caStringDict command_queue_name convert reply_queue reply_queue_name "
    "response_wait_interval",
}
OWN_PARAMETERS = {"conn_tag", "cno_options"}


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner in INTERFACE for name in INTERFACE[owner]])
def test_calls_take_what_pymqis_take(owner: str, name: str) -> None:
    place = attrgetter(owner)(pymqi) if owner else pymqi
    stars: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(getattr(place, name)).parameters.values()
    found = [stars.get(each.kind, "") + each.name for each in parameters if each.name not in OWN_PARAMETERS]
    assert found == INTERFACE[owner][name].split()


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner in ATTRIBUTES for name in ATTRIBUTES[owner].split()]
)
def test_names_that_are_no_calls_are_there(owner: str, name: str) -> None:
    assert hasattr(getattr(pymqi, owner) if owner else pymqi, name)


def test_every_command_is_a_method(qsg: TestGroup) -> None:  # noqa: ARG001 - the group must be there
    commands = pymqi.PCFExecute("QM1")
    names = [name for name in vars(CMQCFC) if name.startswith("MQCMD_")]
    assert len(names) > 190
    assert all(callable(getattr(commands, name)) for name in names)


def test_structures_also_have_their_short_names() -> None:
    assert (pymqi.md, pymqi.gmo, pymqi.pmo, pymqi.od) == (pymqi.MD, pymqi.GMO, pymqi.PMO, pymqi.OD)
    assert (pymqi.cd, pymqi.sco) == (pymqi.CD, pymqi.SCO)
    assert all(hasattr(pymqi, name) for name in pymqi.__all__)


def test_constants_are_found_by_every_way_of_importing() -> None:
    assert importlib.import_module("sharedq.pymqi.CMQC").MQRC_NO_MSG_AVAILABLE == 2033
    assert pymqi.CMQCFC.MQCMD_PING_Q_MGR == 40
    assert importlib.import_module("sharedq.pymqi.const").MQGMO_WAIT == 1
    assert pymqi.CMQXC.MQCD_VERSION_11 == 11
    assert CMQC.MQFMT_STRING == b"MQSTR   "
    assert CMQC.MQMI_NONE == b"\0" * 24
    assert CMQC.MQENC_NATIVE == 0x222
    assert CMQC.MQMD_STRUC_ID_ARRAY == [b"M", b"D", b" ", b" "]


def families() -> list[type[Enum]]:
    found = [each for each in vars(constants).values() if isinstance(each, type) and issubclass(each, Enum)]
    return [each for each in found if each.__module__.startswith("sharedq")]


@pytest.mark.parametrize("family", families(), ids=lambda family: family.__name__)
def test_constants_agree_with_the_native_ones(family: type[Enum]) -> None:
    prefix = str(family.__doc__).partition("*")[0]
    names = vars(CMQC) | vars(CMQCFC)
    compared = 0
    for name, member in family.__members__.items():
        number = names.get(prefix + name)
        if number is not None:
            # C's numbers are signed: the top bit of a mask makes a negative one.
            assert (number - int(member.value)) % (1 << 32) == 0, prefix + name
            compared += 1
    # A few names differ: MQPER_PERSISTENCE_AS_Q_DEF is Persistence.AS_Q_DEF.
    assert compared >= len(family.__members__) - 3


@pytest.mark.parametrize(
    ("comp", "reason", "text"),
    [
        (2, 2033, "MQI Error. Comp: 2, Reason 2033: FAILED: MQRC_NO_MSG_AVAILABLE"),
        (1, 2079, "MQI Error. Comp: 1, Reason 2079: WARNING: MQRC_TRUNCATED_MSG_ACCEPTED"),
        (2, 3008, "MQI Error. Comp: 2, Reason 3008: FAILED: MQRCCF_COMMAND_FAILED"),
        (2, 123456, "MQI Error. Comp: 2, Reason 123456: FAILED: Error code 123456 not defined"),
        (0, 0, "MQI Error. Comp: 0, Reason 0: OK"),
    ],
)
def test_errors_read_as_pymqis(comp: int, reason: int, text: str) -> None:
    error = pymqi.MQMIError(comp, reason, message=b"m")
    assert str(error) == text
    assert (error.comp, error.reason, error.message) == (comp, reason, b"m")
    assert isinstance(error, pymqi.Error)
    assert str(pickle.loads(pickle.dumps(error))) == text


def test_an_error_is_logged_with_plain_numbers_as_pymqis_is() -> None:
    error = pymqi.MQMIError(constants.MQCC.FAILED, constants.MQRC.NO_MSG_AVAILABLE)

    assert repr(error) == "MQMIError(2, 2033)"


def test_the_other_error_names_the_cause() -> None:
    error = pymqi.PYIFError("not connected")
    assert (str(error), error.error) == ("PYMQI Error: not connected", "not connected")
    assert isinstance(error, pymqi.Error)
    assert not isinstance(error, pymqi.MQMIError)


def test_helpers() -> None:
    assert [pymqi.padded_count(count) for count in (0, 1, 4, 5)] == [0, 4, 4, 8]
    assert pymqi.ensure_bytes("a") == pymqi.ensure_bytes(b"a") == b"a"
    assert pymqi.ensure_bytes(None) is None
    assert len(pymqi.ByteString(b"abc")) == 3
    assert pymqi.makeQDesc("Q").ObjectName == b"Q"
    descriptor, options = pymqi.common_q_args()
    assert (type(descriptor), options) == (pymqi.MD, None)
    given = pymqi.MD(), pymqi.PMO()
    assert pymqi.commonQArgs(*given) == given
    with pytest.raises(TypeError):
        pymqi.common_q_args(1, 2, 3)  # type: ignore[arg-type]
