"""The client of a channel that the load programs of drills are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from igq.rehearsal.load.programs.channel import ClientConnection
from sharedq.mqi.constants import MQRC, ConnectOption, GetOption, MatchOption, MsgFlag, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.channels.conftest import Connect
from tests.support.scenes import until

pytestmark = pytest.mark.share
BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
GET, PUT = GetOption.SYNCPOINT, PutOption.SYNCPOINT


def client(channel: Path, *, tag: bytes = b"") -> ClientConnection:
    options = int(ConnectOption.SERIALIZE_CONN_TAG_QSG) if tag else 0
    return ClientConnection(channel, "QM1", "program", options, tag)


def member(group: bytes, seq: int, last: int) -> MQMD:
    flags = MsgFlag.MSG_IN_GROUP | (MsgFlag.LAST_MSG_IN_GROUP if seq == last else 0)
    return MQMD(version=2, group_id=group, msg_seq_number=seq, msg_flags=int(flags))


def test_it_puts_gets_commits_and_backs_out(channel: Path) -> None:
    with client(channel) as connection:
        queue = connection.open("Q", BOTH)
        queue.put_many([(MQMD(version=2, correl_id=bytes([number]) * 24), b"%d" % number) for number in range(3)])
        assert [message.body for message in queue.get_many(2, GET)] == [b"0", b"1"]
        connection.backout()
        match = MQMD(correl_id=b"\2" * 24)
        assert queue.get(GET, match=match, match_options=MatchOption.MATCH_CORREL_ID).body == b"2"
        connection.commit()
        assert [message.body for message in queue.get_many(9, GET)] == [b"0", b"1"]
        connection.commit()
        with pytest.raises(MQIError) as caught:
            queue.get_many(9, GET)
        assert caught.value.reason == MQRC.NO_MSG_AVAILABLE


def test_two_clients_that_get_groups_share_none(channel: Path) -> None:
    a, b = b"A" * 24, b"B" * 24
    with client(channel) as one, client(channel) as other:
        first, second = one.open("Q", BOTH), other.open("Q", BOTH)
        first.put_many([(member(group, seq, 3), b"%d" % seq) for seq in (1, 2, 3) for group in (a, b)])
        for queue, group in ((first, a), (second, b)):
            got = queue.get_groups(1, GET)
            assert [(message.md.group_id, message.body) for message in got] == [(group, b"%d" % n) for n in (1, 2, 3)]
        one.commit()
        other.commit()


def test_a_group_whose_rest_is_elsewhere_is_told_as_it_is(channel: Path) -> None:
    with client(channel) as connection:
        queue = connection.open("Q", BOTH)
        queue.put(b"1", member(b"A" * 24, 1, 2))
        assert [message.body for message in queue.get_groups(5, GET | GetOption.WAIT, rest_ms=1)] == [b"1"]
        connection.backout()
        queue.put(b"2", member(b"A" * 24, 2, 2))
        assert [message.body for message in queue.get_groups(5, GET)] == [b"1", b"2"]


def test_its_tag_is_in_use_until_it_is_gone(channel: Path) -> None:
    with client(channel, tag=b"T"):
        with pytest.raises(MQIError) as caught:
            client(channel, tag=b"T")
        assert caught.value.reason == MQRC.CONN_TAG_IN_USE
    with client(channel, tag=b"T"):
        pass


def test_two_programs_of_one_channel_share_no_restricted_tag(channel: Path) -> None:
    options = int(ConnectOption.RESTRICT_CONN_TAG_QSG)
    program = (
        "from pathlib import Path; from igq.rehearsal.load.programs.channel import ClientConnection;"
        f"ClientConnection(Path({str(channel)!r}), 'QM1', 'program', {options}, b'T')"
    )
    with ClientConnection(channel, "QM1", "program", options, b"T"):
        # The same program may have it twice.
        with ClientConnection(channel, "QM1", "program", options, b"T"):
            pass
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "MQRC_CONN_TAG_IN_USE" in done.stderr


def test_a_client_may_make_more_calls_than_there_are_ids(channel: Path) -> None:
    with client(channel) as connection:
        queue = connection.open("Q", BOTH)
        connection._last_id = (1 << 31) - 3
        for number in range(5):
            queue.put(b"%d" % number, MQMD(version=2))
            assert [message.body for message in queue.get_many(5, GET)] == [b"%d" % number]
            connection.commit()


def test_where_nobody_listens_the_manager_is_not_available(tmp_path: Path) -> None:
    for path in (tmp_path / "QM1.sock", tmp_path / "none" / "QM1.sock"):
        with pytest.raises(MQIError) as caught:
            client(path)
        assert caught.value.reason == MQRC.Q_MGR_NOT_AVAILABLE


def test_what_the_channel_says_when_it_ends_a_client_is_told(channel: Path) -> None:
    connection = client(channel)
    # The next request would have the same id.
    connection._last_id -= 1
    with pytest.raises(MQIError, match="request 1 comes after request 1") as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN


def test_a_client_that_is_killed_is_backed_out(channel: Path, connect: Connect) -> None:
    program = (
        "import sys; from pathlib import Path; from igq.rehearsal.load.programs.channel import ClientConnection;"
        f"c = ClientConnection(Path({str(channel)!r}), 'QM1', 'program', 0, b''); q = c.open('Q', {int(BOTH)});"
        f"q.get({int(GET)}); sys.stdout.write('.'); sys.stdout.flush(); sys.stdin.read()"
    )
    mine = connect()
    handle = mine.open("Q", int(BOTH))
    mine.put(handle, b"x")
    bare = {name: value for name, value in os.environ.items() if not name.startswith("IGQ_")}
    killed = subprocess.Popen([sys.executable, "-c", program], env=bare, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert killed.stdout is not None
    assert killed.stdout.read(1) == b"."
    assert mine.get(handle).numbers[1] == MQRC.NO_MSG_AVAILABLE
    killed.kill()
    killed.communicate()
    until(lambda: mine.get(handle).numbers[0] == 0, "the message is back", 30)
