"""The browse cursor: its place, the calls that move it, and the calls that use it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sharedq import Queue
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, Report
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, browse_all, matching, reason_of, take
from tests.support.members import TestGroup
from tests.support.waits import until_waiting

pytestmark = pytest.mark.share

FIRST, NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
UNDER_CURSOR, TAKE_UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR), int(GetOption.MSG_UNDER_CURSOR)
WAIT, TRUNCATED = int(GetOption.WAIT), int(GetOption.ACCEPT_TRUNCATED_MSG)


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    """A queue with the messages 1 to 4."""
    group.define_shared("Q")
    opened = group.connect().open("Q", BOTH)
    for number in range(1, 5):
        opened.put(b"%d" % number, MQMD(priority=4, correl_id=b"%024d" % number))
    return opened


@pytest.mark.rule(
    "mqi/browse",
    "An open for browse sets the cursor before the first message, so BROWSE_FIRST and BROWSE_NEXT begin alike.",
)
@pytest.mark.parametrize("how", [FIRST, NEXT])
def test_the_first_browse_is_the_same_by_first_and_by_next(queue: Queue, how: int) -> None:
    assert queue.get(how).body == b"1"
    assert queue.get(NEXT).body == b"2"


@pytest.mark.rule("mqi/browse", "BROWSE_FIRST starts again from the front, wherever the cursor stands.")
def test_browsing_first_forgets_where_the_cursor_stood(queue: Queue) -> None:
    for _ in range(3):
        queue.get(NEXT)
    assert queue.get(FIRST).body == b"1"
    assert queue.get(NEXT).body == b"2"


@pytest.mark.rule("mqi/browse", "BROWSE_NEXT searches after the cursor for what the descriptor asks for.")
def test_a_browse_finds_a_matching_message_after_the_cursor(queue: Queue) -> None:
    asked = matching(correl_id=b"%024d" % 2)
    assert queue.get(FIRST, **asked).body == b"2"
    assert reason_of(queue, NEXT, **asked) == MQRC.NO_MSG_AVAILABLE
    assert queue.get(NEXT).body == b"3"


@pytest.mark.rule(
    "mqi/browse", "The cursor keeps its place when its message is removed; a get under it then ends with 2034."
)
def test_the_cursor_keeps_its_place_when_its_message_is_removed(group: TestGroup, queue: Queue) -> None:
    other = group.connect().open("Q", BOTH)
    queue.get(FIRST)
    queue.get(NEXT)
    other.get(**matching(correl_id=b"%024d" % 2))
    for how in (UNDER_CURSOR, TAKE_UNDER_CURSOR):
        assert reason_of(queue, how) == MQRC.NO_MSG_UNDER_CURSOR
    assert queue.get(NEXT).body == b"3"


@pytest.mark.rule("mqi/browse", "A get under a cursor that was never set ends with 2034.")
def test_nothing_is_under_a_cursor_that_was_not_set(queue: Queue) -> None:
    for how in (UNDER_CURSOR, TAKE_UNDER_CURSOR):
        assert reason_of(queue, how) == MQRC.NO_MSG_UNDER_CURSOR


@pytest.mark.rule(
    "mqi/browse", "A get, a failed browse and a browse that ends with 2080 leave the cursor where it is; 2079 moves it."
)
def test_neither_a_get_nor_a_failed_or_cut_off_browse_moves_the_cursor(queue: Queue) -> None:
    assert queue.get(FIRST).body == b"1"
    assert reason_of(queue, NEXT, max_length=0) == MQRC.TRUNCATED_MSG_FAILED
    assert reason_of(queue, FIRST, match=MQMD(correl_id=b"?" * 24)) == MQRC.NO_MSG_AVAILABLE
    assert queue.get().body == b"1"
    assert queue.get().body == b"2"
    assert queue.get(NEXT).body == b"3"
    assert queue.get(UNDER_CURSOR).body == b"3"
    assert queue.get(NEXT | TRUNCATED, max_length=0).reason == MQRC.TRUNCATED_MSG_ACCEPTED
    assert queue.get(UNDER_CURSOR).body == b"4"


@pytest.mark.rule(
    "mqi/browse", "On a queue by priority, only BROWSE_FIRST finds a message that arrives in front of the cursor."
)
def test_only_browse_first_finds_messages_arriving_before_the_cursor(group: TestGroup, queue: Queue) -> None:
    queue.get(FIRST)
    queue.put(b"urgent", MQMD(priority=9))
    assert browse_all_next(queue) == [b"2", b"3", b"4"]
    assert queue.get(FIRST).body == b"urgent"
    group.repository("QM1").alter("QLOCAL", "Q", {"msg_delivery_sequence": "FIFO"})
    queue.put(b"later", MQMD(priority=9))
    assert browse_all_next(queue)[-1] == b"later"


def browse_all_next(queue: Queue) -> list[bytes]:
    bodies: list[bytes] = []
    while body := take(queue, NEXT):
        bodies.append(body)
    return bodies


@pytest.mark.rule("mqi/browse", "Each handle has its own cursor.")
def test_each_handle_has_a_cursor_of_its_own(queue: Queue) -> None:
    second = QueueManagerConnection(queue.connection).open("Q", BOTH)
    queue.get(FIRST)
    queue.get(NEXT)
    assert second.get(NEXT).body == b"1"
    assert queue.get(NEXT).body == b"3"


@pytest.mark.rule("mqi/browse", "BROWSE_MSG_UNDER_CURSOR and MSG_UNDER_CURSOR ignore the match options.")
def test_match_options_do_not_count_under_the_cursor(queue: Queue) -> None:
    other = matching(correl_id=b"%024d" % 4)
    queue.get(FIRST)
    assert queue.get(UNDER_CURSOR, **other).body == b"1"
    assert queue.get(TAKE_UNDER_CURSOR, **other).body == b"1"


@pytest.mark.rule("mqi/browse", "A browse needs a handle that is open for browse.")
@pytest.mark.parametrize("how", [FIRST, NEXT, UNDER_CURSOR])
def test_a_browse_is_for_handles_that_are_open_for_browse(group: TestGroup, queue: Queue, how: int) -> None:
    getter = group.connect().open(queue.name, OpenOption.INPUT_SHARED)
    assert reason_of(getter, how) == MQRC.NOT_OPEN_FOR_BROWSE


@pytest.mark.rule("mqi/browse", "MSG_UNDER_CURSOR needs a handle that is open for browse and for input.")
def test_a_get_under_the_cursor_is_for_handles_that_are_open_for_both(group: TestGroup, queue: Queue) -> None:
    getter = group.connect().open(queue.name, OpenOption.INPUT_SHARED)
    assert reason_of(getter, TAKE_UNDER_CURSOR) == MQRC.NOT_OPEN_FOR_BROWSE
    browser = group.connect().open(queue.name, OpenOption.BROWSE)
    browser.get(FIRST)
    assert reason_of(browser, TAKE_UNDER_CURSOR) == MQRC.NOT_OPEN_FOR_INPUT


@pytest.mark.rule("mqi/browse", "A browse is outside units of work; NO_SYNCPOINT changes nothing about it.")
@pytest.mark.parametrize("how", [FIRST, NEXT, UNDER_CURSOR])
def test_a_browse_with_any_option_is_outside_units_of_work(queue: Queue, how: int) -> None:
    queue.get(FIRST)
    queue.get(how | int(GetOption.NO_SYNCPOINT))
    assert not queue.connection.has_unit


@pytest.mark.rule("mqi/waiting", "WAIT and its interval are ignored under the cursor.")
@pytest.mark.parametrize("how", [UNDER_CURSOR, TAKE_UNDER_CURSOR])
def test_waiting_is_ignored_under_the_cursor(group: TestGroup, queue: Queue, how: int) -> None:
    other = group.connect().open("Q", BOTH)
    queue.get(FIRST)
    other.get()
    # It would wait for ever. Its length is not checked either.
    for wait_ms in (-1, -2):
        assert reason_of(queue, how | WAIT, wait_ms=wait_ms) == MQRC.NO_MSG_UNDER_CURSOR


@pytest.mark.rule(
    "mqi/waiting", "A manager that quiesces ends the waits that have FAIL_IF_QUIESCING (2161), and no others."
)
@pytest.mark.parametrize("how", [0, FIRST, NEXT | int(GetOption.LOCK)])
@pytest.mark.parametrize("fails", [True, False])
def test_a_quiescing_manager_cancels_the_waits_that_ask_for_it(group: TestGroup, how: int, fails: bool) -> None:
    group.define_shared("Q")
    queue, putter = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    options = how | WAIT | (int(GetOption.FAIL_IF_QUIESCING) if fails else 0)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(reason_of, queue, options, wait_ms=20_000)
        until_waiting(group, "Q", 1)
        queue.connection.notice_quiescing()
        if not fails:
            until_waiting(group, "Q", 1)
            putter.put(b"x")
        assert future.result(10) == (MQRC.Q_MGR_QUIESCING if fails else MQRC.NONE)
        until_waiting(group, "Q", 0)
    if fails:
        # And later calls that ask for it.
        assert reason_of(queue, options, wait_ms=0) == MQRC.Q_MGR_QUIESCING


@pytest.mark.rule("mqi/waiting", "Inhibiting gets ends a waiting get or browse with 2016.")
@pytest.mark.parametrize("how", [FIRST, NEXT | int(GetOption.LOCK)])
def test_inhibiting_gets_cancels_a_waiting_browse(group: TestGroup, how: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(reason_of, queue, how | WAIT, wait_ms=60_000)
        until_waiting(group, "Q", 1)
        group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
        assert future.result(20) == MQRC.GET_INHIBITED
    queue.put(b"x")
    assert reason_of(queue, how) == MQRC.GET_INHIBITED


def test_browsing_on_to_the_end_and_further(queue: Queue) -> None:
    assert browse_all(queue) == [b"1", b"2", b"3", b"4"]
    queue.put(b"5")
    assert queue.get(NEXT).body == b"5"


@pytest.mark.parametrize("report", [0, int(Report.EXPIRATION)])
@pytest.mark.parametrize("how", [FIRST, FIRST | WAIT])
def test_no_expired_message_is_browsed(group: TestGroup, queue: Queue, how: int, report: int) -> None:
    for _ in range(2):
        queue.put_many([(MQMD(expiry=1, report=report, reply_to_q=b"Q", priority=9), b"dead") for _ in range(100)])
    group.wait_redis_ms(150)
    assert queue.get(how, wait_ms=60_000).body == b"1"
