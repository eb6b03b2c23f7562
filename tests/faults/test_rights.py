"""An ACL refuses Redis commands: each call is refused as a whole, with 2035, before it has written anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq.api import QueueManagerConnection
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import Deployment
from sharedq.redis.link import Link
from sharedq.redis.script_source import commands_of, is_asked_for_by_attach, load_script, script_names
from sharedq.session.connection import Connection
from tests.support.members import TestGroup
from tests.support.scenes import contents
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
ATTACH = "structure/attach"
#: Scripts whose calls a connection makes in a structure that it has entered with structure/attach.
HOT = tuple(filter(is_asked_for_by_attach, script_names()))


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def allow(server: Server, *rules: str) -> str:
    """The rights of the user app from now on; the URL with its password."""
    server.client().execute_command("ACL", "SETUSER", "app", "reset", "on", ">secret", "~*", "&*", "+@all", *rules)
    return f"unix://app:secret@{server.socket}"


@pytest.mark.parametrize("script", [name for name in script_names() if name not in HOT])
def test_no_script_runs_without_all_of_its_commands(own_server: Server, script: str) -> None:
    own_server.client().flushdb()
    for command in load_script(script).asked:
        link = Link(Deployment(allow(own_server, f"-{command}")))
        with pytest.raises(MQIError, match=f"may not run {command}") as caught:
            link.call(script, [f"{{G:S}}:{n}" for n in range(60)], ["1"] * 40)
        assert caught.value.reason == MQRC.NOT_AUTHORIZED
        assert not link.is_broken
        link.close()
    assert own_server.client().dbsize() == 0


def test_every_script_asks_for_what_it_does() -> None:
    for name in script_names():
        asked = load_script(name).asked
        asking = load_script(ATTACH).asked if name in HOT else asked
        assert set(commands_of(name)) <= set(asking)
        assert name not in HOT or not asked


@pytest.mark.parametrize("pattern", ["%RW~{G:S}:*", "~{G:*"])
@pytest.mark.parametrize("script", [name for name in script_names() if load_script(name).asked])
def test_the_keys_of_the_group_are_enough(own_server: Server, script: str, pattern: str) -> None:
    """The check is about the first key, for every command, even for one with two keys."""
    link = Link(Deployment(allow(own_server, "resetkeys", pattern)))
    assert "may not run" not in refusal(link, script)
    link.close()


def refusal(link: Link, script: str) -> str:
    """The reason why a script refused its arguments, if it did."""
    try:
        link.call(script, [f"{{G:S}}:{n}" for n in range(60)], ["1"] * 40)
    except MQIError as error:
        return error.detail
    return ""


class Site:
    """A group, and the user app's view of it."""

    def __init__(self, server: Server, data_dir: Path) -> None:
        self.server = server
        self.group = TestGroup(server.url, data_dir)
        self.group.add_member("QM1")
        self.group.define_shared("Q")

    def connect(self, *rules: str) -> Connection:
        settings = self.group.settings.model_copy(update={"redis_url": allow(self.server, *rules)})
        group = Group(settings)
        return Connection(group, Process.register(group, "QM1"))


@pytest.fixture
def site(own_server: Server, tmp_path: Path) -> Iterator[Site]:
    made = Site(own_server, tmp_path)
    yield made
    made.group.close()


@pytest.mark.parametrize("command", load_script(ATTACH).asked)
def test_a_program_that_lacks_a_right_opens_no_queue(site: Site, command: str) -> None:
    """Many of them belong to MQCONN or the name's resolution, and are refused there."""
    before = contents(site.group)[site.group.group.structure("APPL1").queue("Q").queue.encode()]
    with pytest.raises(MQIError) as caught:
        QueueManagerConnection(site.connect(f"-{command}")).open("Q", BOTH)
    assert caught.value.reason == MQRC.NOT_AUTHORIZED
    assert contents(site.group)[site.group.group.structure("APPL1").queue("Q").queue.encode()] == before
    assert not site.group.group.client().exists(site.group.group.structure("APPL1").owners)


@pytest.mark.unaccounted("what was done of the put is there, and igq fsck names it")
@pytest.mark.parametrize("command", ["xadd", "hset", "zadd"])
def test_a_right_taken_from_a_running_program_ends_its_connection(site: Site, command: str) -> None:
    """The outcome is unknown: 2009, as after a lost reply."""
    connection = site.connect()
    queue = QueueManagerConnection(connection).open("Q", BOTH)
    allow(site.server, f"-{command}")
    with pytest.raises(MQIError, match="stopped in its middle") as caught:
        queue.put(b"body")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert connection.is_ended


def test_the_rights_that_the_page_names_are_enough(site: Site) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "scripts.md").read_text("utf-8")
    named = re.search(r"A program's user needs: `([^`]+)`, `([^`]+)`, `~", text)
    assert named
    rights = [word if word[0] == "+" else f"+{word}" for word in f"{named[1]} {named[2]}".split()]
    connection = site.connect("resetkeys", f"~{{{site.group.group.name}:*", "-@all", *rights)
    manager = QueueManagerConnection(connection)
    with manager.open("Q", BOTH) as queue:
        queue.put(b"1", options=PutOption.SYNCPOINT)
        manager.commit()
        assert queue.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=1).body == b"1"
        manager.backout()
        assert queue.get().body == b"1"
        with pytest.raises(MQIError) as caught:
            queue.get(GetOption.WAIT, wait_ms=1)
        assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    manager.disconnect()


def test_a_get_that_may_not_wait_gets_2035_and_leaves_no_waiter(site: Site) -> None:
    connection = site.connect("-blpop")
    queue = QueueManagerConnection(connection).open("Q", BOTH)
    with pytest.raises(MQIError) as caught:
        queue.get(GetOption.WAIT, wait_ms=60_000)
    assert caught.value.reason == MQRC.NOT_AUTHORIZED
