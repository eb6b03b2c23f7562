"""A queue that is unloaded and loaded is what it was; a file that is wrong is refused in one line."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from igq.errors import CommandError
from igq.tools.unloading.load import load_file
from igq.tools.unloading.record_file import Header, RecordWriter, read_header
from igq.tools.unloading.unload import MessageFilter, copy_queue, remove_to_file, resume_removal
from sharedq.api import Queue
from sharedq.messages.message import Message
from sharedq.mqi.constants import GetOption, MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.support.agents import drain
from tests.support.killed import igq
from tests.support.members import TestGroup
from tests.support.scenes import contents

EVERY_BYTE = bytes(range(256))


def content(messages: list[Message]) -> list[tuple[MQMD, bytes]]:
    # BackoutCount is the queue manager's: a put begins with 0. Expiry goes on.
    return [(replace(each.md, backout_count=0, expiry=min(each.md.expiry, 0)), each.body) for each in messages]


def browsed(group: TestGroup, name: str) -> list[tuple[MQMD, bytes]]:
    found: list[Message] = []
    step = GetOption.BROWSE_FIRST
    with group.connect() as connection, connection.open(name, OpenOption.BROWSE) as queue:
        while True:
            try:
                found.append(queue.get(step, match_options=0))
            except MQIError:
                return content(found)
            step = GetOption.BROWSE_NEXT


@pytest.fixture
def filled(group: TestGroup) -> TestGroup:
    """A queue with everything that a message can be, and an empty one."""
    group.define_shared("FROM")
    group.define_shared("TO")
    sender = group.connect()
    with sender.open("FROM", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as queue:
        _fill(queue)
    with sender.open("FROM", OpenOption.INPUT_SHARED) as queue:
        queue.get(GetOption.SYNCPOINT)
    sender.backout()
    return group


def _fill(queue: Queue) -> None:
    queue.put(b"")
    queue.put(EVERY_BYTE * 100, MQMD(priority=9, persistence=1, format=b"MQSTR"))
    queue.put(b"x" * 200_000, MQMD(priority=0, correl_id=b"\xff" * 24, msg_id=b"\0" * 23 + b"\1", expiry=999_999))
    hostile = MQMD(
        version=2,
        user_identifier=b"\xff\x00\x1b[2J",
        accounting_token=EVERY_BYTE[-32:],
        appl_identity_data=b'"}\n{"',
        put_appl_type=-7,
        put_appl_name=b"\x80\x81 \r\n",
        put_date=b"20000229",
        put_time=b"23595999",
        appl_origin_data=b"\xf1\xf2",
        reply_to_q=b"ANSWER",
        reply_to_q_mgr=b"QM1",
        report=int(Report.PASS_MSG_ID | Report.EXCEPTION),
        feedback=66_000,
        msg_type=99_999,
        encoding=785,
        coded_char_set_id=1208,
        format=b"\x01\x02",
    )
    queue.put(b"hostile\n{}\n", hostile, options=PutOption.SET_ALL_CONTEXT)
    no_date = MQMD(put_date=b"99999999", put_time=b"        ", put_appl_name=b"never")
    queue.put(b"no date", no_date, options=PutOption.SET_ALL_CONTEXT)
    for number in range(1, 4):
        flags = MsgFlag.MSG_IN_GROUP | (MsgFlag.LAST_MSG_IN_GROUP if number == 3 else 0)
        for offset in (0, 5):
            last = MsgFlag.LAST_SEGMENT if offset else MsgFlag.SEGMENT
            md = MQMD(version=2, group_id=b"g" * 24, msg_seq_number=number, offset=offset, msg_flags=int(flags | last))
            queue.put(b"12345", md)


def test_a_copy_loaded_is_identical(filled: TestGroup, tmp_path: Path) -> None:
    messages = browsed(filled, "FROM")
    before = contents(filled)
    header = copy_queue(filled.group, "QM1", "FROM", tmp_path / "f", MessageFilter())
    assert contents(filled) == before
    assert header.count == len(messages) == 11
    loaded = load_file(filled.settings, filled.group, tmp_path / "f", "QM1", "TO")
    assert (loaded.put, loaded.before) == (11, 0)
    assert browsed(filled, "TO") == messages
    with filled.connect() as connection, connection.open("TO", OpenOption.INPUT_SHARED) as queue:
        for number in (1, 2, 3):
            options = GetOption.LOGICAL_ORDER | GetOption.COMPLETE_MSG | GetOption.ALL_MSGS_AVAILABLE
            if number == 1:
                match = MQMD(version=2, group_id=b"g" * 24)
                whole = queue.get(options, match=match, match_options=4)
            else:
                whole = queue.get(options, match_options=0)
            assert (whole.body, whole.md.msg_seq_number) == (b"1234512345", number)


def test_a_removal_takes_all_and_the_load_brings_it_back(filled: TestGroup, tmp_path: Path) -> None:
    messages = browsed(filled, "FROM")
    told: list[int] = []
    remove_to_file(filled.settings, filled.group, "QM1", "FROM", tmp_path / "f", MessageFilter(), told.append)
    assert (sum(told), browsed(filled, "FROM")) == (11, [])
    load_file(filled.settings, filled.group, tmp_path / "f", "QM1", "FROM")
    assert content(drain(filled.connect(), "FROM")) == messages


def test_what_is_chosen_is_removed_and_no_more(filled: TestGroup, tmp_path: Path) -> None:
    chosen = MessageFilter(group_id=b"g" * 24)
    assert remove_to_file(filled.settings, filled.group, "", "FROM", tmp_path / "g", chosen).count == 6
    correl = MessageFilter(correl_id=b"\xff" * 24)
    assert copy_queue(filled.group, "QM1", "FROM", tmp_path / "c", correl).count == 1
    old = MessageFilter(older_s=86_400)
    assert copy_queue(filled.group, "QM1", "FROM", tmp_path / "o", old).count == 1
    young = MessageFilter(younger_s=86_400)
    assert copy_queue(filled.group, "QM1", "FROM", tmp_path / "y", young).count == 3
    assert len(browsed(filled, "FROM")) == 5


def test_a_file_is_loaded_once_unless_asked_again(filled: TestGroup, tmp_path: Path) -> None:
    copy_queue(filled.group, "QM1", "FROM", tmp_path / "f", MessageFilter())
    for again, put in (("", 11), ("", 0), ("second", 11), ("second", 0)):
        assert load_file(filled.settings, filled.group, tmp_path / "f", "QM1", "TO", again=again).put == put
    assert len(browsed(filled, "TO")) == 22


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda _: b"", "is no file of igq unload"),
        (lambda _: b"[]\n", "is no file of igq unload"),
        (lambda data: data[:-20], "was changed"),
        (lambda data: data.replace(b"MQSTR", b"MQSTX"), "was changed"),
        (lambda data: data.replace(b'"version": 1', b'"version": 9'), "has format 9"),
        (lambda data: data.replace(b'"count": 11', b'"count": null'), "is not complete"),
    ],
)
def test_a_damaged_file_is_refused(filled: TestGroup, tmp_path: Path, damage: object, said: str) -> None:
    path = tmp_path / "f"
    copy_queue(filled.group, "QM1", "FROM", path, MessageFilter())
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CommandError, match=said) as refused:
        load_file(filled.settings, filled.group, path, "QM1", "TO")
    assert "\n" not in str(refused.value)
    assert browsed(filled, "TO") == []


@pytest.mark.parametrize(
    "change",
    [{"colour": 1}, {"msg_id": "00"}, {"priority": "9"}, {"format": "€"}, {"msg_id": "xx"}, {"priority": True}],
)
def test_a_line_that_is_no_message_is_named(filled: TestGroup, tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "f"
    copy_queue(filled.group, "QM1", "FROM", path, MessageFilter())
    header, first, *rest = path.read_bytes().splitlines(keepends=True)
    text = json.loads(first)
    text["md"] |= change
    header = header.replace(b'"count": 11', b'"count": null')
    path.write_bytes(b"".join((header.rstrip().ljust(511) + b"\n", json.dumps(text).encode() + b"\n", *rest)))
    with pytest.raises(CommandError, match="line 2: this is no message"):
        load_file(filled.settings, filled.group, path, "QM1", "TO", is_incomplete_allowed=True)


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b'"\\ud800"', b"1e999", b"{}"])
def test_a_line_that_is_no_record_is_named(filled: TestGroup, tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "f"
    copy_queue(filled.group, "QM1", "FROM", path, MessageFilter())
    header = path.read_bytes().splitlines()[0].replace(b'"count": 11', b'"count": null')
    path.write_bytes(header.rstrip().ljust(511) + b"\n" + line + b"\n")
    with pytest.raises(CommandError, match="line 2: this is no message"):
        load_file(filled.settings, filled.group, path, "QM1", "TO", is_incomplete_allowed=True)


def test_only_its_owner_can_read_an_unloaded_file(filled: TestGroup, tmp_path: Path) -> None:
    copy_queue(filled.group, "QM1", "FROM", tmp_path / "f", MessageFilter())
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


def test_a_refused_message_tells_where_the_load_goes_on(filled: TestGroup, tmp_path: Path) -> None:
    filled.define_shared("SMALL", max_depth=5)
    copy_queue(filled.group, "QM1", "FROM", tmp_path / "f", MessageFilter())
    with pytest.raises(MQIError, match=r"2053.*0 messages of the file are on the queue"):
        load_file(filled.settings, filled.group, tmp_path / "f", "QM1", "SMALL")
    assert browsed(filled, "SMALL") == []


def test_the_commands_unload_and_load(filled: TestGroup, tmp_path: Path) -> None:
    path = tmp_path / "f"
    done = igq(filled, "unload", "FROM", str(path))
    assert (done.returncode, done.stdout) == (0, f"11 messages of FROM copied to {path}\n")
    assert read_header(path).count == 11
    exists = igq(filled, "unload", "FROM", str(path))
    assert (exists.returncode, exists.stderr.count("\n")) == (1, 1)
    assert igq(filled, "load", str(path), "TO").stdout == f"11 messages of {path} put on TO\n"
    twice = igq(filled, "load", str(path), "TO")
    assert twice.stdout == f"0 messages of {path} put on TO; 11 messages had been put before\n"
    nothing = igq(filled, "unload", "SYSTEM.QSG.TRANSMIT.QUEUE", str(tmp_path / "x"))
    assert (nothing.returncode, nothing.stderr.count("\n")) == (1, 1)


def test_a_private_queue_is_named_with_its_manager(filled: TestGroup, tmp_path: Path) -> None:
    filled.define_private("QM1", "MINE")
    copy_queue(filled.group, "QM1", "FROM", tmp_path / "f", MessageFilter())
    with pytest.raises(CommandError, match="say -m QM1"):
        load_file(filled.settings, filled.group, tmp_path / "f", filled.group.name, "MINE")
    assert load_file(filled.settings, filled.group, tmp_path / "f", "QM1", "MINE").put == 11


def test_two_commands_do_not_write_one_file(filled: TestGroup, tmp_path: Path) -> None:
    path = tmp_path / "f"
    header = Header.new(filled.group.name, "QM1", "FROM", "", is_removed=True)
    with RecordWriter.create(path, header), pytest.raises(CommandError, match="another command"):
        resume_removal(filled.settings, filled.group, path, "FROM", MessageFilter())
    assert resume_removal(filled.settings, filled.group, path, "FROM", MessageFilter()).count == 11


def test_a_removal_delivers_nothing(filled: TestGroup, tmp_path: Path) -> None:
    filled.define_shared("ANSWERS")
    md = MQMD(report=int(Report.COD), reply_to_q=b"ANSWERS", reply_to_q_mgr=b"QM1", group_id=b"a" * 24, version=2)
    filled.connect().put1("FROM", b"one", md)
    remove_to_file(filled.settings, filled.group, "QM1", "FROM", tmp_path / "f", MessageFilter())
    assert drain(filled.connect(), "ANSWERS") == []
