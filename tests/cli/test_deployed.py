"""The files of config/: servers start with them, and each user can do its work and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

import sharedq
from igq.pipeline.datasource.journal import source as journal_source
from igq.pipeline.datasource.journal.source import JournalReader
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import reader as queue_reader
from igq.pipeline.datasource.queue.reader import QueueReader
from igq.pipeline.schemas import JOURNAL, QUEUE
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.reading.figures import FigureReader
from sharedq.redis.keys import structure_keys
from sharedq.redis.script_source import commands_of, load_script, script_names
from sharedq.settings.values import Settings
from tests.cli.conftest import Shell, new_shell
from tests.support.deployed import Deployed, command_in, rights_of, server_programs, url_of
from tests.support.members import TestGroup, new_group_name
from tests.support.topologies import HOST, free_ports, until

pytestmark = pytest.mark.faults

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
#: Commands that only the administrator may use, on any key.
REFUSED = ("FLUSHALL", "KEYS *", "CONFIG SET appendonly no", "SHUTDOWN", "ACL LIST", "SCRIPT FLUSH")
#: Keys outside the group.
OTHERS_KEYS = ("HGET other field", "ZRANGE {OTHER:APPL1}:q 0 1")


@dataclass
class Site:
    """A group at a server that runs with redis.conf."""

    servers: Deployed
    port: int
    group: str
    shell: Shell

    def settings(self, user: str) -> Settings:
        data_dir = Path(self.shell.environment["IGQ_DATA_DIR"])
        return Settings(redis_url=url_of(user, self.port), group=self.group, data_dir=data_dir)


@pytest.fixture(scope="module", params=server_programs())
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A real manager, QM1, that runs as the user member, with a shared queue."""
    group = new_group_name()
    servers = Deployed(request.param, group)
    shell = new_shell(tmp_path_factory.mktemp("data"))
    try:
        port = servers.start("redis.conf")
        shell.environment |= {"IGQ_GROUP": group, "IGQ_REDIS_URL": url_of("member", port), "IGQ_DURABILITY": "strict"}
        shell.start("group", "start", "-m", "QM1", "-m", "QM2").wait_for("CSQM050I", 2)
        shell.out("mqsc", "QM1", text="DEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1)\nDEFINE QLOCAL(MINE)\n")
        yield Site(servers, port, group, shell)
    finally:
        shell.close()
        servers.close()


def denied(site: Site) -> list[tuple[str, str, str]]:
    """The commands that the server has refused."""
    with site.servers.client(site.port, "admin") as client:
        return [(each["username"], each["reason"], each["object"]) for each in client.acl_log()]


def test_a_manager_and_every_command_work_as_member(site: Site) -> None:
    out = site.shell.out
    out("put", "QM2", "MINE", "--qmgr", "QM1", "over")
    assert "over" in out("get", "QM1", "MINE", "--wait", "60")
    out("put", "QM1", "Q", "kept", "--persistent")
    for commands in ("BACKUP CFSTRUCT(APPL1)", "DISPLAY QLOCAL(*) ALL", "DISPLAY CONN(*) ALL", "DISPLAY CFSTATUS(*)"):
        out("mqsc", "QM1", text=f"{commands}\n")
    assert "kept" in out("browse", "QM1", "Q")
    assert "kept" in out("get", "QM1", "Q")
    out("status")
    out("fsck")
    assert not denied(site)


def test_a_program_works_as_application(site: Site) -> None:
    with sharedq.connect("QM1", settings=site.settings("application")) as manager:
        with manager.open("Q", BOTH) as queue:
            queue.put(b"1", options=PutOption.SYNCPOINT)
            manager.commit()
            assert queue.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=1).body == b"1"
            manager.backout()
            assert queue.get().body == b"1"
            with pytest.raises(MQIError) as caught:
                queue.get(GetOption.WAIT, wait_ms=1)
            assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
        with manager.open("SYSTEM.DEFAULT.MODEL.QUEUE", BOTH) as dynamic:
            dynamic.put(b"2")
            assert dynamic.get().body == b"2"
    assert not denied(site)


def test_the_journal_and_queues_are_read_as_reader(site: Site) -> None:
    site.shell.out("put", "QM1", "Q", "to read")
    where = {"url": url_of("reader", site.port), "group": site.group}
    for reader in (
        QueueReader(QUEUE, SourceOptions(where | {"queue": "Q"}, queue_reader.OPTIONS)),
        QueueReader(QUEUE, SourceOptions(where | {"queue": "MINE", "qmgr": "QM1"}, queue_reader.OPTIONS)),
        JournalReader(JOURNAL, SourceOptions(where, journal_source.OPTIONS)),
    ):
        rows = sum(batch.num_rows for each in reader.partitions() for batch in reader.read(each))
        assert rows or "MINE" in str(vars(reader))
    assert "to read" in site.shell.out("get", "QM1", "Q")
    assert not denied(site)


def test_the_figures_of_metrics_are_read_as_reader(site: Site) -> None:
    with sharedq.connect("QM1", settings=site.settings("application")) as connection:
        connection.put1("Q", b"in a unit of work", options=PutOption.SYNCPOINT)
        group = Group(site.settings("reader"))
        figures = FigureReader(group).read()
        group.leave()
        connection.backout()

    assert [unit for structure in figures.structures for unit in structure.units]
    assert all(node.used_memory for node in figures.nodes)
    assert not denied(site)


@pytest.mark.spark
@pytest.mark.slow
def test_the_audit_runs_as_reader(site: Site) -> None:
    site.shell.out("put", "QM1", "Q", "to audit")
    site.shell.out("get", "QM1", "Q")
    done = site.shell.run("pipeline", "audit", "--group", site.group, IGQ_REDIS_URL=url_of("reader", site.port))
    assert not denied(site), done.stderr
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize("user", ["member", "application", "reader"])
def test_commands_outside_a_role_are_refused(site: Site, user: str) -> None:
    keys = structure_keys(site.group, "APPL1")
    more = {
        "member": [],
        "application": ["SCAN 0", f"XRANGE {keys.journal} - +", f"HVALS {keys.messages}", "CONFIG GET appendonly"],
        "reader": [f"HSET {keys.messages} a b", f"XADD {keys.journal} * a b", f"UNLINK {keys.journal}", "SCAN 0"],
    }
    with site.servers.client(site.port, user) as client:
        for command in (*REFUSED, *OTHERS_KEYS, *more[user]):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*command.split())
    site.servers.client(site.port, "admin").acl_log_reset()


def test_a_user_without_a_name_is_refused(site: Site) -> None:
    with site.servers.client(site.port) as client, pytest.raises(redis.exceptions.AuthenticationError):
        client.ping()
    with pytest.raises(MQIError) as caught, sharedq.connect("QM1", settings=site.settings("reader")):
        pass
    assert caught.value.reason == MQRC.NOT_AUTHORIZED
    site.servers.client(site.port, "admin").acl_log_reset()


#: Commands that every user needs to connect and to run scripts, in a Cluster too.
CONNECTED = {"evalsha", "script|exists", "script|load", "ping", "select", "cluster|slots", "command"}
#: Scripts of the reader, and its commands outside scripts.
READING = ("admin/lookup", "structure/oldest", "structure/queue_states", "structure/read_range")
READ = {"exists", "get", "hexists", "hgetall", "hkeys", "info", "xinfo|stream", "xrange", "xrevrange", "zrange"}
#: Commands of metrics besides.
READ |= {"hvals", "lrange", "memory|usage", "xlen"}


def commands(names: Iterable[str]) -> set[str]:
    return {command.lower() for name in names for command in (*load_script(name).asked, *commands_of(name))}


def test_the_rights_are_no_more_than_the_scripts_and_reports_need() -> None:
    member = {
        "blpop",
        "config|get",
        "exec",
        "hgetall",
        "info",
        "multi",
        "scan",
        "wait",
        "memory|usage",
        "xinfo|stream",
        "xlen",
        "xrevrange",
        "xtrim",
        "zscan",
    }
    assert rights_of("member") == CONNECTED | member | commands(script_names())
    assert rights_of("application") < CONNECTED | {"blpop", "wait"} | commands(script_names())
    assert rights_of("reader") == CONNECTED | READ | commands(READING)


@pytest.mark.parametrize("program", server_programs())
def test_sentinels_promote_the_replica(program: str, tmp_path: Path) -> None:
    servers = Deployed(program, group_name := new_group_name())
    try:
        primary = servers.start("redis.conf")
        replica = servers.start("redis.conf", "--replicaof", f"{HOST} {primary}")
        sentinels = [servers.start("sentinel.conf", first_port=primary, is_sentinel=True) for _ in range(3)]
        first = servers.client(sentinels[0])

        def known() -> Any:
            return first.sentinel_master("igq")

        until(lambda: known()["num-other-sentinels"] == 2, "the Sentinels know each other")
        until(lambda: known()["num-slaves"] == 1, "they know the replica")
        up = servers.client(replica, "admin")
        until(lambda: up.info("replication")["master_link_status"] == "up", "the replica follows")
        group = TestGroup(
            url_of("member", *sentinels, scheme="redis+sentinel", path="/igq"), tmp_path, group=group_name
        )
        put_and_get(group)
        first.sentinel_failover("igq")
        until(lambda: up.role()[0] == "master", "the replica is promoted", 120)
        group.close()
    finally:
        servers.close()


@pytest.mark.parametrize("program", server_programs())
def test_the_cluster_is_made_by_the_command_in_its_file(program: str, tmp_path: Path) -> None:
    servers = Deployed(program, group_name := new_group_name())
    try:
        ports = [servers.start("cluster.conf", "--cluster-port", str(free_ports(1)[0])) for _ in range(6)]
        if shutil.which("redis-cli") is None:
            pytest.skip("there is no redis-cli here; the nodes have started")
        words = command_in("cluster.conf", ["redis-cli"])
        addresses = iter(ports)
        command = [f"{HOST}:{next(addresses)}" if word.startswith("192.0.2.") else word for word in words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        nodes = [servers.client(port, "admin") for port in ports]
        until(lambda: all(n.execute_command("CLUSTER INFO")["cluster_state"] == "ok" for n in nodes), "it is up")
        until(lambda: [n.role()[0] for n in nodes].count("slave") == 3, "each primary has a replica")
        group = TestGroup(url_of("member", *ports[:2], scheme="redis+cluster"), tmp_path, group=group_name)
        put_and_get(group)
        group.close()
    finally:
        servers.close()


def put_and_get(group: TestGroup) -> None:
    group.add_member("QM1")
    group.define_structure("APPL1")
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    queue.put(b"body")
    assert queue.get().body == b"body"
