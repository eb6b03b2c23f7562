"""The numbers are IBM's: decimal here, as IBM's reference prints them, hexadecimal where they are defined."""

from __future__ import annotations

import pytest

from sharedq.mqi import constants
from sharedq.mqi.constants import (
    MQRC,
    CharSelector,
    ConnectOption,
    ConversionOption,
    GetOption,
    IntSelector,
    MatchOption,
    MsgFlag,
    OpenOption,
    PutOption,
    Report,
)

GET_OPTIONS = {
    "WAIT": 1,
    "NO_WAIT": 0,
    "FAIL_IF_QUIESCING": 8192,
    "SYNCPOINT": 2,
    "SYNCPOINT_IF_PERSISTENT": 4096,
    "NO_SYNCPOINT": 4,
    "MARK_SKIP_BACKOUT": 128,
    "BROWSE_FIRST": 16,
    "BROWSE_NEXT": 32,
    "BROWSE_MSG_UNDER_CURSOR": 2048,
    "MSG_UNDER_CURSOR": 256,
    "LOCK": 512,
    "UNLOCK": 1024,
    "ACCEPT_TRUNCATED_MSG": 64,
    "CONVERT": 16384,
    "LOGICAL_ORDER": 32768,
    "COMPLETE_MSG": 65536,
    "ALL_MSGS_AVAILABLE": 131072,
    "ALL_SEGMENTS_AVAILABLE": 262144,
    "SET_SIGNAL": 8,
    "MARK_BROWSE_HANDLE": 1048576,
    "MARK_BROWSE_CO_OP": 2097152,
    "UNMARK_BROWSE_CO_OP": 4194304,
    "UNMARK_BROWSE_HANDLE": 8388608,
    "UNMARKED_BROWSE_MSG": 16777216,
    "PROPERTIES_FORCE_MQRFH2": 33554432,
    "NO_PROPERTIES": 67108864,
    "PROPERTIES_IN_HANDLE": 134217728,
    "PROPERTIES_COMPATIBILITY": 268435456,
    "PROPERTIES_AS_Q_DEF": 0,
    "NONE": 0,
    "BROWSE_HANDLE": 17825808,
    "BROWSE_CO_OP": 18874384,
}
PUT_OPTIONS = {
    "SYNCPOINT": 2,
    "NO_SYNCPOINT": 4,
    "DEFAULT_CONTEXT": 32,
    "NEW_MSG_ID": 64,
    "NEW_CORREL_ID": 128,
    "PASS_IDENTITY_CONTEXT": 256,
    "PASS_ALL_CONTEXT": 512,
    "SET_IDENTITY_CONTEXT": 1024,
    "SET_ALL_CONTEXT": 2048,
    "ALTERNATE_USER_AUTHORITY": 4096,
    "FAIL_IF_QUIESCING": 8192,
    "NO_CONTEXT": 16384,
    "LOGICAL_ORDER": 32768,
    "ASYNC_RESPONSE": 65536,
    "SYNC_RESPONSE": 131072,
    "RESOLVE_LOCAL_Q": 262144,
    "WARN_IF_NO_SUBS_MATCHED": 524288,
    "RETAIN": 2097152,
    "MD_FOR_OUTPUT_ONLY": 8388608,
    "SCOPE_QMGR": 67108864,
    "SUPPRESS_REPLYTO": 134217728,
    "NOT_OWN_SUBS": 268435456,
}
OPEN_OPTIONS = {
    "INPUT_AS_Q_DEF": 1,
    "INPUT_SHARED": 2,
    "INPUT_EXCLUSIVE": 4,
    "BROWSE": 8,
    "OUTPUT": 16,
    "INQUIRE": 32,
    "SET": 64,
    "SAVE_ALL_CONTEXT": 128,
    "PASS_IDENTITY_CONTEXT": 256,
    "PASS_ALL_CONTEXT": 512,
    "SET_IDENTITY_CONTEXT": 1024,
    "SET_ALL_CONTEXT": 2048,
    "ALTERNATE_USER_AUTHORITY": 4096,
    "FAIL_IF_QUIESCING": 8192,
    "BIND_ON_OPEN": 16384,
    "BIND_NOT_FIXED": 32768,
    "BIND_ON_GROUP": 4194304,
    "CO_OP": 131072,
    "RESOLVE_LOCAL_Q": 262144,
    "NO_READ_AHEAD": 524288,
    "READ_AHEAD": 1048576,
}
CONVERSION_OPTIONS = {
    "DEFAULT_CONVERSION": 1,
    "FILL_TARGET_BUFFER": 2,
    "SOURCE_ENC_NORMAL": 16,
    "SOURCE_ENC_REVERSED": 32,
    "TARGET_ENC_NORMAL": 256,
    "TARGET_ENC_REVERSED": 512,
}
CONNECT_OPTIONS = {
    "FASTPATH_BINDING": 1,
    "SERIALIZE_CONN_TAG_Q_MGR": 2,
    "SERIALIZE_CONN_TAG_QSG": 4,
    "RESTRICT_CONN_TAG_Q_MGR": 8,
    "RESTRICT_CONN_TAG_QSG": 16,
    "HANDLE_SHARE_NONE": 32,
    "HANDLE_SHARE_BLOCK": 64,
    "HANDLE_SHARE_NO_BLOCK": 128,
    "SHARED_BINDING": 256,
    "ISOLATED_BINDING": 512,
    "LOCAL_BINDING": 1024,
    "CLIENT_BINDING": 2048,
    "GENERATE_CONN_TAG": 2097152,
    "RECONNECT": 16777216,
    "RECONNECT_DISABLED": 33554432,
    "RECONNECT_Q_MGR": 67108864,
}
REPORTS = {
    "EXCEPTION": 16777216,
    "EXCEPTION_WITH_DATA": 50331648,
    "EXCEPTION_WITH_FULL_DATA": 117440512,
    "EXPIRATION": 2097152,
    "EXPIRATION_WITH_DATA": 6291456,
    "EXPIRATION_WITH_FULL_DATA": 14680064,
    "COA": 256,
    "COA_WITH_DATA": 768,
    "COA_WITH_FULL_DATA": 1792,
    "COD": 2048,
    "COD_WITH_DATA": 6144,
    "COD_WITH_FULL_DATA": 14336,
    "PAN": 1,
    "NAN": 2,
    "ACTIVITY": 4,
    "PASS_MSG_ID": 128,
    "PASS_CORREL_ID": 64,
    "DISCARD_MSG": 134217728,
    "PASS_DISCARD_AND_EXPIRY": 16384,
}
MATCHES = {
    "MATCH_MSG_ID": 1,
    "MATCH_CORREL_ID": 2,
    "MATCH_GROUP_ID": 4,
    "MATCH_MSG_SEQ_NUMBER": 8,
    "MATCH_OFFSET": 16,
    "MATCH_MSG_TOKEN": 32,
}
MESSAGE_FLAGS = {
    "SEGMENTATION_ALLOWED": 1,
    "SEGMENT": 2,
    "LAST_SEGMENT": 4,
    "MSG_IN_GROUP": 8,
    "LAST_MSG_IN_GROUP": 16,
}
#: The constants that the documents of this project mention.
REASONS = {
    "BACKED_OUT": 2003,
    "CONNECTION_BROKEN": 2009,
    "GET_INHIBITED": 2016,
    "SYNCPOINT_LIMIT_REACHED": 2024,
    "MSG_TOO_BIG_FOR_Q": 2030,
    "MSG_TOO_BIG_FOR_Q_MGR": 2031,
    "NO_MSG_AVAILABLE": 2033,
    "NO_MSG_UNDER_CURSOR": 2034,
    "OBJECT_CHANGED": 2041,
    "OBJECT_IN_USE": 2042,
    "OPTIONS_ERROR": 2046,
    "PERSISTENT_NOT_ALLOWED": 2048,
    "PRIORITY_EXCEEDS_MAXIMUM": 2049,
    "PUT_INHIBITED": 2051,
    "Q_DELETED": 2052,
    "Q_FULL": 2053,
    "Q_MGR_NAME_ERROR": 2058,
    "Q_MGR_NOT_AVAILABLE": 2059,
    "TRUNCATED_MSG_ACCEPTED": 2079,
    "TRUNCATED_MSG_FAILED": 2080,
    "UNKNOWN_OBJECT_NAME": 2085,
    "WAIT_INTERVAL_ERROR": 2090,
    "NOT_CONVERTED": 2119,
    "Q_MGR_QUIESCING": 2161,
    "INCONSISTENT_PERSISTENCE": 2185,
    "STORAGE_MEDIUM_FULL": 2192,
    "NO_MSG_LOCKED": 2209,
    "INCOMPLETE_GROUP": 2241,
    "INCOMPLETE_MSG": 2242,
    "INCONSISTENT_CCSIDS": 2243,
    "INCONSISTENT_ENCODINGS": 2244,
    "INCONSISTENT_UOW": 2245,
    "INVALID_MSG_UNDER_CURSOR": 2246,
    "MATCH_OPTIONS_ERROR": 2247,
    "MSG_FLAGS_ERROR": 2249,
    "MSG_SEQ_NUMBER_ERROR": 2250,
    "OFFSET_ERROR": 2251,
    "SEGMENT_LENGTH_ZERO": 2253,
    "UOW_NOT_AVAILABLE": 2255,
    "WRONG_GMO_VERSION": 2256,
    "WRONG_MD_VERSION": 2257,
    "INCONSISTENT_BROWSE": 2259,
    "CONN_TAG_IN_USE": 2271,
    "CONN_TAG_NOT_RELEASED": 2344,
    "CF_STRUC_IN_USE": 2346,
    "CF_STRUC_LIST_HDR_IN_USE": 2347,
    "CF_STRUC_ERROR": 2349,
    "CF_STRUC_FAILED": 2373,
    "Q_INDEX_TYPE_ERROR": 2394,
}
INTEGER_SELECTORS = {
    "CURRENT_Q_DEPTH": 3,
    "DEF_INPUT_OPEN_OPTION": 4,
    "DEF_PERSISTENCE": 5,
    "DEF_PRIORITY": 6,
    "INHIBIT_GET": 9,
    "INHIBIT_PUT": 10,
    "MAX_MSG_LENGTH": 13,
    "MAX_Q_DEPTH": 15,
    "MSG_DELIVERY_SEQUENCE": 16,
    "OPEN_INPUT_COUNT": 17,
    "OPEN_OUTPUT_COUNT": 18,
    "Q_TYPE": 20,
    "TRIGGER_CONTROL": 24,
    "MAX_UNCOMMITTED_MSGS": 33,
    "INDEX_TYPE": 57,
    "QSG_DISP": 63,
    "INTRA_GROUP_QUEUING": 64,
    "IGQ_PUT_AUTHORITY": 65,
    "MSG_MARK_BROWSE_INTERVAL": 68,
    "CF_LEVEL": 70,
    "CF_RECOVER": 71,
    "SHARED_Q_Q_MGR_NAME": 77,
    "GROUP_UR": 221,
    "CF_OFFLOAD": 224,
    "CF_CFCONLOS": 246,
}
CHARACTER_SELECTORS = {
    "BASE_OBJECT_NAME": 2002,
    "CREATION_DATE": 2004,
    "DEAD_LETTER_Q_NAME": 2006,
    "Q_DESC": 2013,
    "Q_MGR_NAME": 2015,
    "Q_NAME": 2016,
    "REMOTE_Q_MGR_NAME": 2017,
    "REMOTE_Q_NAME": 2018,
    "TRIGGER_DATA": 2023,
    "XMIT_Q_NAME": 2024,
    "DEF_XMIT_Q_NAME": 2025,
    "ALTERATION_DATE": 2027,
    "CF_STRUC_NAME": 2039,
    "QSG_NAME": 2040,
    "IGQ_USER_ID": 2041,
    "CF_STRUC_DESC": 2052,
}


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (GetOption, GET_OPTIONS),
        (PutOption, PUT_OPTIONS),
        (OpenOption, OPEN_OPTIONS),
        (ConnectOption, CONNECT_OPTIONS),
        (ConversionOption, CONVERSION_OPTIONS),
        (Report, REPORTS),
        (MatchOption, MATCHES),
        (MsgFlag, MESSAGE_FLAGS),
        (MQRC, REASONS),
        (IntSelector, INTEGER_SELECTORS),
        (CharSelector, CHARACTER_SELECTORS),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_members_have_the_numbers_that_ibm_gives_them(names: type[GetOption | MQRC], numbers: dict[str, int]) -> None:
    assert {name: int(names[name]) for name in numbers} == numbers


def test_reason_codes_have_one_name_but_for_the_two_that_ibm_renamed() -> None:
    renamed = {name for name, member in MQRC.__members__.items() if name != member.name}

    assert renamed == {"TRUNCATED", "PAGESET_FULL"}


def test_testing_a_bit_answers_a_plain_integer() -> None:
    options = GetOption.WAIT | GetOption.SYNCPOINT

    assert type(options & GetOption.WAIT) is int
    assert type(3 & GetOption.WAIT) is int
    assert [options & GetOption.SYNCPOINT, options & GetOption.LOCK] == [2, 0]
    assert options & ~GetOption.WAIT == 2


def test_all_names_of_the_package_are_importable_from_it() -> None:
    assert [name for name in constants.__all__ if not hasattr(constants, name)] == []
    assert len(set(constants.__all__)) == len(constants.__all__)
