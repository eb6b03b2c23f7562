"""The files of config/: servers start with them, and each user can do its work and nothing else."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
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
from tests.cli.conftest import ROOT, Shell, new_shell
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


#: A program with a unit of work, open handles and a dynamic queue, until it is killed.
DIES = """
import sys, time, sharedq
from sharedq.mqi.constants import GetOption, OpenOption, PutOption

with sharedq.connect("QM3") as manager:
    queue = manager.open("Q", OpenOption.INPUT_SHARED)
    manager.open("SYSTEM.DEFAULT.MODEL.QUEUE", OpenOption.INPUT_SHARED)
    manager.put1("SYSTEM.DEFAULT.LOCAL.QUEUE", b"never", options=PutOption.SYNCPOINT)
    print(queue.get(GetOption.SYNCPOINT).body.decode(), flush=True)
    time.sleep(600)
"""


def test_members_recover_a_manager_and_its_program(site: Site) -> None:
    site.shell.start_manager("QM3")
    site.shell.out("put", "QM1", "Q", "kept", "--persistent")
    application = site.shell.environment | {"IGQ_REDIS_URL": url_of("application", site.port)}
    program = subprocess.Popen(
        [sys.executable, "-c", DIES], cwd=ROOT, env=application, stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "kept\n"
        site.shell.out("mqsc", "QM3", text="DISPLAY CONN(*) TYPE(ALL)\n")
        site.shell.out("fsck")
        os.kill(site.shell.manager("QM3")["pid"], signal.SIGKILL)
    finally:
        program.kill()
        program.communicate()

    def recovered() -> bool:
        assert not denied(site)
        found = [each for each in site.shell.status()["recoveries"] if each["failed"] == "QM3.1"]
        return any(each["state"] == "RESOLVED" for each in found)

    until(recovered, "QM3 is recovered")
    assert "kept" in site.shell.out("get", "QM1", "Q", "--wait", "60")
    assert not denied(site)


def test_a_program_prepares_at_any_manager_as_application(site: Site) -> None:
    with sharedq.connect(site.group, settings=site.settings("application")) as manager:
        manager.put1("Q", b"1", options=PutOption.SYNCPOINT)
        manager.put1("SYSTEM.DEFAULT.LOCAL.QUEUE", b"1", options=PutOption.SYNCPOINT)
        manager.prepare(b"xid")
        manager.backout_prepared(b"xid")
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


def test_definitions_are_exported_and_compared_as_reader(site: Site, tmp_path: Path) -> None:
    as_reader = {"IGQ_REDIS_URL": url_of("reader", site.port)}

    exported = site.shell.run("export", **as_reader)
    assert exported.returncode == 0, exported.stderr
    assert exported.stdout == site.shell.out("export")
    (tmp_path / "same").write_text(exported.stdout, encoding="utf-8")
    (tmp_path / "other").write_text("DEFINE QLOCAL(OTHER)\nALTER QLOCAL(MINE) MAXDEPTH(5)\n", encoding="utf-8")
    same = site.shell.run("diff", str(tmp_path / "same"), "-m", "QM1", **as_reader)
    other = site.shell.run("diff", str(tmp_path / "other"), "-m", "QM1", **as_reader)

    assert (same.returncode, same.stdout) == (0, ""), same.stderr
    assert other.returncode == 1, other.stderr
    assert not denied(site)


def test_status_and_doctor_look_as_reader(site: Site) -> None:
    as_reader = {"IGQ_REDIS_URL": url_of("reader", site.port)}

    assert "QM1" in site.shell.run("status", **as_reader).stdout
    seen = json.loads(site.shell.run("doctor", "--json", "--quick", **as_reader).stdout)
    assert "cannot be read" not in str(seen)
    site.servers.client(site.port, "admin").acl_log_reset()


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
#: Of exports and comparisons besides.
READ |= {"hscan"}


def commands(names: Iterable[str]) -> set[str]:
    return {command.lower() for name in names for command in (*load_script(name).asked, *commands_of(name))}


def commands_in(*folders: str) -> set[str]:
    """The commands that the Python code of some folders gives Redis outside scripts, as it names them."""
    found = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(call, ast.Call) or getattr(call.func, "attr", "") not in ("command", "commands"):
                continue
            for each in (part for argument in call.args for part in ast.walk(argument)):
                if isinstance(each, ast.Constant) and isinstance(each.value, str | bytes):
                    word = each.value.decode("latin-1") if isinstance(each.value, bytes) else each.value
                    if word.isalpha() and word.isupper():
                        found.add(word.lower())
    return found


#: Words in these calls that are no commands, but options of them; and commands that have parts, which have rights.
WORDS = {"block", "count", "limit", "match", "maxlen", "streams", "usage", "withscores", "recover", "stream"}
WORDS |= {"memory", "xinfo"}
#: Names of fields.
WORDS |= {"trigger"}


@pytest.mark.share
def test_members_have_the_right_to_each_command_outside_scripts() -> None:
    found = commands_in("sharedq", "recovery")
    assert {"srandmember", "xread", "lindex"} <= found
    assert found - WORDS <= rights_of("member")


@pytest.mark.share
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
        "smembers",
        "sscan",
        "srandmember",
        "lindex",
        "ttl",
        "xread",
        "memory|usage",
        "xinfo|stream",
        "xlen",
        "xrevrange",
        "xtrim",
        "zscan",
    }
    assert rights_of("member") == CONNECTED | member | commands(script_names())
    more = {"blpop", "wait", "hgetall", "hscan", "lindex"}
    assert rights_of("application") < CONNECTED | more | commands(script_names())
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
