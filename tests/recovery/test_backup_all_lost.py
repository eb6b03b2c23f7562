"""RECOVER CFSTRUCT after Redis came back empty: the backup has the messages and all definitions."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.restoration import recover
from sharedq.mqi.constants import MQRC, GetOption, MatchOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal
from tests.support.backups import BOTH, content, killed_after, mqsc, persistent
from tests.support.groups import LMIG, MIG, put_member
from tests.support.members import TestGroup
from tests.support.server import Server

QUEUES = ("FIFO", "PRIO", "GROUPS", "REQUESTS")


class Day:
    """A group whose Redis keeps nothing, filled and backed up."""

    def __init__(self, server: Server, data_dir: Path) -> None:
        self.server, self.data_dir = server, data_dir
        self.group = TestGroup(server.url, data_dir)
        self.group.add_member("QM1")
        self.group.define_structure("OTHER")
        self.group.repository("QM1").alter_structure("OTHER", {"recover": "YES", "description": "kept"})
        self.group.define_shared("FIFO", msg_delivery_sequence="FIFO", max_depth=4711)
        self.group.define_shared("PRIO")
        self.group.define_shared("GROUPS", index_type="GROUPID")
        self.group.define_shared("REQUESTS", "OTHER", description="in another structure")
        connection = self.group.connect()
        for name in QUEUES:
            with connection.open(name, BOTH) as queue:
                queue.put_many([(persistent(priority=n % 3), b"%d" % n) for n in range(40)])
                queue.put(b"given", persistent(msg_id=b"M" * 24, correl_id=b"C" * 24))
                queue.put(b"expires", persistent(correl_id=b"E" * 24, expiry=9_000_000))
        with connection.open("GROUPS", BOTH) as queue:
            put_member(queue, b"g", 1, b"one", MIG, persistence=1)
            put_member(queue, b"g", 2, b"two", LMIG, persistence=1)
        self.content = content(self.group, QUEUES)
        self.definitions = self.defined()
        for structure in ("APPL1", "OTHER"):
            backup(self.group.group, structure)

    def defined(self) -> list[object]:
        """The definitions in the application structures."""
        repository = self.group.repository("QM1")
        queues = [each for each in repository.display_queues() if each.definition.name in QUEUES]
        assert len(queues) in (0, len(QUEUES))
        return [each.definition for each in queues]

    def begin_anew(self, *members: str) -> None:
        """Members start after the loss, in this order. Another order gives structures other numbers."""
        name = self.group.group.name
        self.group.close()
        self.group = TestGroup(self.server.url, self.data_dir, group=name)
        for member in members:
            self.group.add_member(member)

    def check(self) -> None:
        """Check that everything is there again, exactly."""
        assert content(self.group, QUEUES) == self.content
        assert self.defined() == self.definitions

    def close(self) -> None:
        self.group.close()
        self.server.close()


@pytest.fixture(params=["embedded", "redis-server"])
def day(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Day]:
    if request.param == "redis-server":
        binary = shutil.which("redis-server")
        if binary is None:
            pytest.skip("there is no redis-server here")
        monkeypatch.setenv("IGQ_REDIS_SERVER", binary)
    made = Day(Server("--appendonly", "no"), tmp_path)
    yield made
    made.close()


def flush(day: Day) -> None:
    day.server.client().flushall()


def restart(day: Day) -> None:
    day.server.kill()
    day.server.start()


@pytest.mark.parametrize("members", [("QM1",), ("QM3", "QM2", "QM1")])
@pytest.mark.parametrize("lose", [flush, restart])
def test_the_contents_of_the_backups_are_there_again(
    day: Day, lose: Callable[[Day], None], members: tuple[str, ...]
) -> None:
    lose(day)
    day.begin_anew(*members)
    status, output = mqsc(day.group, "RECOVER CFSTRUCT(APPL1)\nRECOVER CFSTRUCT(OTHER)\n")
    assert status == 0, output
    assert output.count("CSQE131I") == 2
    assert "IGQ" not in output
    day.check()
    known = {each.name: each for each in day.group.repository("QM1").structures()}
    assert (known["OTHER"].recover, known["OTHER"].description) == ("YES", "kept")


def test_messages_are_found_by_the_identifiers_that_they_had(day: Day) -> None:
    """Also by identifiers that igq generated, although the structure has another number now."""
    flush(day)
    day.begin_anew("QM3", "QM2", "QM1")
    recover(day.group.group, "APPL1")
    msg_id, body = day.content["PRIO"][5]
    connection = day.group.connect()
    with connection.open("PRIO", BOTH) as queue:
        got = queue.get(GetOption.SYNCPOINT, match=MQMD(msg_id=msg_id), match_options=MatchOption.MATCH_MSG_ID)
        assert (got.body, got.md.msg_id) == (body, msg_id)
        got = queue.get(GetOption.SYNCPOINT, match=MQMD(correl_id=b"C" * 24), match_options=MatchOption.MATCH_CORREL_ID)
        assert got.body == b"given"
    connection.backout()
    assert content(day.group, ("PRIO",))["PRIO"] == day.content["PRIO"]


def test_queues_defined_meanwhile_stay_or_become_those_of_the_backup(day: Day) -> None:
    flush(day)
    day.begin_anew("QM1")
    day.group.define_shared("FIFO", max_depth=1)
    day.group.define_shared("NEW", max_depth=7)
    recover(day.group.group, "APPL1")
    recover(day.group.group, "OTHER")
    day.check()
    queues = {each.definition.name: each.definition for each in day.group.repository("QM1").display_queues()}
    new = queues["NEW"]
    assert isinstance(new, QueueLocal)
    assert new.max_depth == 7
    with day.group.connect().open("NEW", BOTH) as queue:
        queue.put(b"works")
        assert queue.get().body == b"works"


def refused(day: Day, structure: str = "APPL1") -> str:
    with pytest.raises(BackupError) as caught:
        recover(day.group.group, structure)
    return str(caught.value)


def test_where_the_structure_holds_messages_it_is_refused(day: Day) -> None:
    flush(day)
    day.begin_anew("QM1")
    day.group.define_shared("FIFO")
    with day.group.connect().open("FIFO", BOTH) as queue:
        queue.put(b"of the new day")
    before = content(day.group, ("FIFO",))
    assert "holds messages" in refused(day)
    assert content(day.group, ("FIFO",)) == before


def test_an_open_queue_is_not_taken_from_its_program(day: Day) -> None:
    flush(day)
    day.begin_anew("QM1")
    day.group.define_shared("FIFO")
    with day.group.connect().open("FIFO", BOTH) as queue:
        assert "is open" in refused(day)
        queue.put(b"x")
        assert queue.get().body == b"x"
    recover(day.group.group, "APPL1")
    recover(day.group.group, "OTHER")
    day.check()


def test_an_empty_structure_that_lost_nothing_is_not_recovered(day: Day) -> None:
    """Messages got since would come again."""
    connection = day.group.connect()
    for name in QUEUES:
        with connection.open(name, BOTH) as queue:
            queue.get_many(100)
    assert "it is not lost, its queues are there" in refused(day)
    assert content(day.group, QUEUES) == {name: [] for name in QUEUES}


@pytest.mark.parametrize("calls", range(1, 5))
def test_one_that_was_cut_off_is_repeated(day: Day, calls: int) -> None:
    flush(day)
    day.begin_anew("QM1")
    assert killed_after(day.group, calls, lambda: recover(day.group.group, "APPL1"))
    recover(day.group.group, "APPL1")
    recover(day.group.group, "OTHER")
    day.check()


def test_a_name_that_is_taken_is_named_and_nothing_is_entered(day: Day) -> None:
    flush(day)
    day.begin_anew("QM1")
    day.group.define("QM1", QueueAlias(name="PRIO", target="ELSEWHERE"))
    with pytest.raises(MQIError, match="PRIO") as caught:
        recover(day.group.group, "APPL1")
    assert caught.value.reason == MQRC.OBJECT_NOT_UNIQUE
    assert day.group.repository("QM1").locate("FIFO") is None
    day.group.repository("QM1").delete("QALIAS", "PRIO")
    recover(day.group.group, "APPL1")


def test_a_structure_without_a_backup_is_unknown(day: Day) -> None:
    with pytest.raises(MQIError) as caught:
        recover(day.group.group, "NOWHERE")
    assert caught.value.reason == MQRC.CF_STRUC_ERROR
