"""Options that exclude each other. IBM's text about MQGET is transcribed here option by option."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from sharedq.mqi.constants import MQRC, CloseOption, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.options import check_close_options, check_get_options, check_open_options, check_put_options
from tests.support.get_options import RPG

#: The options with which, by the text, each option cannot be combined.
NOT_VALID_WITH = {
    # A call that leaves the message on the queue, or only unlocks it, is in no unit of work, even conditionally.
    "GMSYP": "GMBRWF GMBRWC GMBRWN GMLK GMNSYP GMPSYP GMUNLK",
    # The same on the condition of persistence, because the segments of one message may differ in it.
    "GMPSYP": "GMBRWF GMBRWC GMBRWN GMCMPM GMNSYP GMSYP GMUNLK",
    # Outside a unit of work is not inside.
    "GMNSYP": "GMSYP GMPSYP",
    # One position to browse from, and no removal in a unit of work or under the cursor.
    "GMBRWF": "GMBRWC GMBRWN GMMUC GMSYP GMPSYP GMUNLK",
    "GMBRWN": "GMBRWF GMBRWC GMMUC GMSYP GMPSYP GMUNLK",
    "GMBRWC": "GMBRWF GMBRWN GMMUC GMSYP GMPSYP GMUNLK",
    # The removal of the message under the cursor is no browse.
    "GMMUC": "GMBRWF GMBRWC GMBRWN GMUNLK",
    # A lock is no part of a unit of work, and cannot be asked for and given up together.
    "GMLK": "GMSYP GMPSYP GMUNLK",
    # An unlock goes only with the options that it implies: GMNWT and GMNSYP.
    "GMUNLK": " ".join(sorted(RPG.keys() - {"GMUNLK", "GMNWT", "GMNSYP"})),
}
REFUSED = {frozenset((option, other)) for option, others in NOT_VALID_WITH.items() for other in others.split()}
#: Not in the text; IBM's reference has them with browsing only.
MARKS = (
    GetOption.MARK_BROWSE_HANDLE,
    GetOption.MARK_BROWSE_CO_OP,
    GetOption.UNMARK_BROWSE_HANDLE,
    GetOption.UNMARK_BROWSE_CO_OP,
    GetOption.UNMARKED_BROWSE_MSG,
)
BROWSES = ("GMBRWF", "GMBRWN", "GMBRWC")
DEFAULT_MATCH = MatchOption.MATCH_MSG_ID | MatchOption.MATCH_CORREL_ID


def refused_by_text(names: tuple[str, ...]) -> bool:
    """The text's answer to a combination: its pairs, and that GMLK needs a browse option."""
    if any(frozenset(pair) in REFUSED for pair in combinations(names, 2)):
        return True
    return "GMLK" in names and not any(name in names for name in BROWSES)


def options_of(names: tuple[str, ...]) -> GetOption:
    options = GetOption.NONE
    for name in names:
        options |= RPG[name]
    return options


@pytest.mark.rule("mqi/get", "Options that exclude each other are refused with 2046.")
@pytest.mark.rule("mqi/get", "NO_WAIT and PROPERTIES_AS_Q_DEF are zero: they are assumed, and exclude nothing.")
@pytest.mark.parametrize("pair", list(combinations(RPG, 2)), ids="+".join)
def test_get_refuses_exactly_the_pairs_that_the_text_refuses(pair: tuple[str, str]) -> None:
    expected = MQRC.OPTIONS_ERROR if refused_by_text(pair) else MQRC.NONE

    assert check_get_options(options_of(pair), DEFAULT_MATCH) == expected


@pytest.mark.rule("mqi/get", "The refused combinations are exactly those of IBM's page on MQGMO.")
def test_get_refuses_exactly_the_combinations_that_the_text_refuses() -> None:
    """All of them: a refused pair is refused in any company, and nothing else is."""
    pairs = [int(options_of(tuple(pair))) for pair in REFUSED]
    browses, lock = int(options_of(BROWSES)), int(GetOption.LOCK)
    wrong = []
    for bits in product(*((0, int(option)) for option in RPG.values() if option)):
        options = sum(bits)
        is_refused = any(options & pair == pair for pair in pairs) or (options & lock and not options & browses)
        if bool(check_get_options.__wrapped__(options, 3)) != bool(is_refused):
            wrong.append(GetOption(options))
    assert wrong == []


@pytest.mark.rule("mqi/get", "WAIT and SET_SIGNAL exclude each other.")
@pytest.mark.rule("mqi/get", "MARK_SKIP_BACKOUT needs SYNCPOINT.")
def test_get_refuses_what_ibm_names_beside_the_text() -> None:
    skip = GetOption.MARK_SKIP_BACKOUT

    assert check_get_options(skip, 0) == MQRC.OPTIONS_ERROR
    assert check_get_options(skip | GetOption.SYNCPOINT, 0) == MQRC.NONE
    assert check_get_options(GetOption.WAIT | GetOption.SET_SIGNAL, 0) == MQRC.OPTIONS_ERROR
    assert check_get_options(GetOption.SET_SIGNAL, 0) == MQRC.NONE


@pytest.mark.rule("mqi/get", "Marks need a browse, and exclude LOCK and the options for groups and segments.")
@pytest.mark.parametrize("mark", [GetOption.BROWSE_HANDLE, GetOption.BROWSE_CO_OP])
def test_marks_go_with_browsing_in_physical_order_only(mark: GetOption) -> None:
    assert check_get_options(mark | GetOption.WAIT, 0) == MQRC.NONE
    for other in (GetOption.LOCK, GetOption.LOGICAL_ORDER, GetOption.COMPLETE_MSG, GetOption.UNLOCK):
        assert check_get_options(mark | other, 0) == MQRC.OPTIONS_ERROR


@pytest.mark.rule("mqi/get", "A bit without a name is refused with 2046.")
def test_get_refuses_bits_without_a_name() -> None:
    for position in range(32):
        bit = 1 << position
        is_known = any(int(option) == bit for option in GetOption)
        alone = check_get_options(bit, 0) == MQRC.NONE
        needs_company = bit in (GetOption.LOCK, GetOption.MARK_SKIP_BACKOUT, *MARKS)
        assert alone == (is_known and not needs_company), hex(bit)
    assert check_get_options(-1, 0) == MQRC.OPTIONS_ERROR


@pytest.mark.rule("mqi/get", "COMPLETE_MSG excludes MATCH_OFFSET.")
def test_complete_messages_are_matched_by_anything_but_offset() -> None:
    for match in MatchOption:
        expected = MQRC.OPTIONS_ERROR if match == MatchOption.MATCH_OFFSET else MQRC.NONE
        assert check_get_options(GetOption.COMPLETE_MSG, match) == expected
    assert check_get_options(GetOption.NONE, MatchOption.MATCH_OFFSET) == MQRC.NONE


def test_unknown_match_options_have_their_own_reason() -> None:
    assert check_get_options(GetOption.WAIT, 64) == MQRC.MATCH_OPTIONS_ERROR
    assert check_get_options(GetOption.WAIT, 63 - MatchOption.MATCH_OFFSET) == MQRC.NONE


CONTEXTS = [
    PutOption.DEFAULT_CONTEXT,
    PutOption.NO_CONTEXT,
    PutOption.PASS_IDENTITY_CONTEXT,
    PutOption.PASS_ALL_CONTEXT,
    PutOption.SET_IDENTITY_CONTEXT,
    PutOption.SET_ALL_CONTEXT,
]


@pytest.mark.parametrize("pair", list(combinations(CONTEXTS, 2)), ids=repr)
def test_put_takes_one_context_option(pair: tuple[PutOption, PutOption]) -> None:
    assert check_put_options(pair[0] | pair[1]) == MQRC.OPTIONS_ERROR
    assert [check_put_options(option) for option in pair] == [MQRC.NONE, MQRC.NONE]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (PutOption.NONE, MQRC.NONE),
        (PutOption.SYNCPOINT | PutOption.NO_SYNCPOINT, MQRC.OPTIONS_ERROR),
        (PutOption.ASYNC_RESPONSE | PutOption.SYNC_RESPONSE, MQRC.OPTIONS_ERROR),
        (PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE | PutOption.LOGICAL_ORDER, MQRC.NONE),
        (PutOption.NEW_MSG_ID | PutOption.NEW_CORREL_ID | PutOption.FAIL_IF_QUIESCING, MQRC.NONE),
        (PutOption.ALTERNATE_USER_AUTHORITY, MQRC.OPTIONS_ERROR),
        (1, MQRC.OPTIONS_ERROR),
        (1 << 30, MQRC.OPTIONS_ERROR),
    ],
)
def test_put_options(options: int, expected: MQRC) -> None:
    assert check_put_options(options) == expected


def test_put1_takes_another_user_but_no_logical_order() -> None:
    assert check_put_options(PutOption.ALTERNATE_USER_AUTHORITY, is_put1=True) == MQRC.NONE
    assert check_put_options(PutOption.LOGICAL_ORDER, is_put1=True) == MQRC.OPTIONS_ERROR


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (OpenOption.INPUT_SHARED | OpenOption.BROWSE | OpenOption.OUTPUT | OpenOption.INQUIRE, MQRC.NONE),
        (OpenOption.INPUT_SHARED | OpenOption.INPUT_EXCLUSIVE, MQRC.OPTIONS_ERROR),
        (OpenOption.INPUT_AS_Q_DEF | OpenOption.INPUT_SHARED, MQRC.OPTIONS_ERROR),
        (0, MQRC.OPTIONS_ERROR),
        (OpenOption.FAIL_IF_QUIESCING, MQRC.OPTIONS_ERROR),
        (OpenOption.OUTPUT | OpenOption.BIND_ON_OPEN | OpenOption.BIND_NOT_FIXED, MQRC.OPTIONS_ERROR),
        (OpenOption.INPUT_SHARED | OpenOption.READ_AHEAD | OpenOption.NO_READ_AHEAD, MQRC.OPTIONS_ERROR),
        (OpenOption.SAVE_ALL_CONTEXT | OpenOption.OUTPUT, MQRC.OPTIONS_ERROR),
        (OpenOption.SAVE_ALL_CONTEXT | OpenOption.INPUT_SHARED, MQRC.NONE),
        (OpenOption.SET_ALL_CONTEXT | OpenOption.INPUT_SHARED, MQRC.OPTIONS_ERROR),
        (OpenOption.PASS_IDENTITY_CONTEXT | OpenOption.OUTPUT, MQRC.NONE),
        (OpenOption.CO_OP | OpenOption.INPUT_SHARED, MQRC.OPTIONS_ERROR),
        (OpenOption.CO_OP | OpenOption.BROWSE, MQRC.NONE),
        (OpenOption.OUTPUT | 1 << 16, MQRC.OPTIONS_ERROR),
        (OpenOption.OUTPUT | 1 << 31, MQRC.OPTIONS_ERROR),
    ],
)
def test_open_options(options: int, expected: MQRC) -> None:
    assert check_open_options(options) == expected


BAD, NOT_FOR_IT = MQRC.OPTIONS_ERROR, MQRC.OPTION_NOT_VALID_FOR_TYPE


@pytest.mark.parametrize(
    ("options", "expected", "of_predefined"),
    [
        (CloseOption.NONE, MQRC.NONE, MQRC.NONE),
        (CloseOption.QUIESCE, MQRC.NONE, MQRC.NONE),
        (CloseOption.DELETE, MQRC.NONE, NOT_FOR_IT),
        (CloseOption.DELETE_PURGE | CloseOption.QUIESCE, MQRC.NONE, NOT_FOR_IT),
        (CloseOption.KEEP_SUB, NOT_FOR_IT, NOT_FOR_IT),
        (CloseOption.REMOVE_SUB, NOT_FOR_IT, NOT_FOR_IT),
        *((each, BAD, BAD) for each in (1 | 2, 4 | 8, 1 | 4, 2 | 8, 16, 1 << 31)),
    ],
)
def test_close_options(options: int, expected: MQRC, of_predefined: MQRC) -> None:
    assert check_close_options(options, may_delete=True) == expected
    assert check_close_options(options, may_delete=False) == of_predefined
