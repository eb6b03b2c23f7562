"""Starting, stopping and killing managers and agents."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import pytest

import sharedq
from igq.agent.services.pool import LOOK_S
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.objects.repository import Repository
from sharedq.settings.loader import load_settings
from tests.cli.conftest import Running, Shell, new_shell
from tests.support.scenes import until
from tests.support.server import Server

pytestmark = pytest.mark.faults


def pid_in(line: str) -> int:
    return int(line.rpartition("pid ")[2])


def is_there(pid: int) -> bool:
    """Whether a process runs. A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    """Wait for the end of a process that is not our child."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 60)[0], f"process {pid} is still there"
    finally:
        os.close(handle)


def agent_of(manager: Running, count: int = 1) -> int:
    return pid_in(manager.wait_for("CSQM050I", count))


def test_a_second_start_of_a_running_manager_is_refused(shell: Shell) -> None:
    first = shell.start_manager("QM1")

    second = shell.start("qmgr", "start", "QM1")

    assert second.wait() == 1
    assert "queue manager QM1 is already running (incarnation 1" in second.lines[-1]
    assert first.process.poll() is None
    assert shell.manager("QM1")["incarnation"] == 1


def test_stop_waits_until_the_manager_has_stopped_and_leaves_nothing(shell: Shell) -> None:
    manager = shell.start_manager("QM1")
    agent = agent_of(manager)

    shell.out("qmgr", "stop", "QM1")

    assert manager.wait() == 0
    wait_until_gone(agent)
    status = shell.status()
    assert status["managers"][0]["state"] == "STOPPED"
    assert status["managers"][0]["pid"] is None
    assert (status["managers"][0]["agent"]["state"], status["managers"][0]["agent"]["pid"]) == ("STOPPED", None)
    assert status["recoveries"] == []
    again = shell.run("qmgr", "stop", "QM1")
    assert (again.returncode, again.stderr) == (1, "igq: queue manager QM1 is not running\n")
    assert shell.run("put", "QM1", "Q", "x").stderr == (
        "igq: MQCONN QM1: MQRC_Q_MGR_NOT_AVAILABLE (2059), it is not running: igq qmgr start QM1\n"
    )


def test_a_stopped_manager_starts_again_at_once_with_its_queues(shell: Shell) -> None:
    shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(KEPT)")
    shell.out("put", "QM1", "KEPT", "--persistent", "kept")
    shell.out("qmgr", "stop", "QM1")

    manager = shell.start_manager("QM1")

    assert "incarnation 2" in manager.wait_for("CSQ9022I")
    assert not any("IGQ0002I" in line for line in manager.lines)
    assert shell.out("get", "QM1", "KEPT") == "kept\n"


@pytest.mark.parametrize("how", ["--immediate", "--timeout=1"])
def test_a_program_that_does_not_end_is_ended_and_backed_out(
    shell: Shell, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(WORK)")
    shell.out("put", "QM1", "WORK", "--persistent", "unfinished")
    monkeypatch.setenv("IGQ_DATA_DIR", shell.environment["IGQ_DATA_DIR"])
    with sharedq.connect("QM1", settings=load_settings()) as connection:
        queue = connection.open("WORK", OpenOption.INPUT_SHARED)
        assert queue.get(GetOption.SYNCPOINT).body == b"unfinished"

        shell.out("qmgr", "stop", "QM1", how)

        with pytest.raises(sharedq.MQIError) as caught:
            connection.commit()
    # The test's process would keep the embedded server running.
    connection.connection.group.leave()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    shell.start_manager("QM1")
    shown = shell.out("browse", "QM1", "WORK")
    assert "unfinished" in shown
    assert "BackoutCount         1" in shown


@pytest.mark.rule("igq/self-recovery", "The manager restarts an agent that ends abnormally, and logs CSQM067E.")
def test_a_killed_agent_is_started_again_and_goes_on(shell: Shell) -> None:
    group = shell.start("group", "start", "-m", "QM1", "-m", "QM2")
    group.wait_for("CSQ9022I", 2)
    shell.out("mqsc", "QM1", "-c", "ALTER QMGR IGQ(ENABLED)")
    shell.out("mqsc", "QM2", "-c", "DEFINE QLOCAL(ORDERS)")
    agent = pid_in(group.wait_for("CSQM050I QM2"))

    os.kill(agent, signal.SIGKILL)
    shell.out("put", "QM1", "ORDERS", "--qmgr", "QM2", "still delivered")

    assert shell.out("get", "QM2", "ORDERS", "--wait", "60", "--max", "1") == "still delivered\n"
    assert "signal 9" in group.wait_for("CSQM067E QM2")
    assert shell.manager("QM2")["agent"]["restarts"] == 1, "\n".join(group.lines)


@pytest.mark.rule("igq/self-recovery", "A slow mover does not count as hanging while it makes progress.")
def test_movers_serve_a_transmission_queue_and_go_on_after_kills(shell: Shell) -> None:
    first, _ = shell.start_manager("QM1"), shell.start_manager("QM2")
    shell.out("mqsc", "QM1", "-c", "ALTER QMGR IGQ(DISABLED)", "-c", "DEFINE QLOCAL(QM2) USAGE(XMITQ)")
    shell.out("mqsc", "QM2", "-c", "DEFINE QLOCAL(ORDERS)")
    for n in range(3):
        shell.out("put", "QM1", "ORDERS", "--qmgr", "QM2", "--persistent", f"{n}")
        assert shell.out("get", "QM2", "ORDERS", "--max", "1", "--wait", "120") == f"{n}\n"
        os.kill(agent_of(first, n + 1), signal.SIGKILL)
        first.wait_for("CSQM067E", n + 1)
        first.wait_for("CSQX500I", n + 2)

    def movers() -> list[tuple[str, str, float | None]]:
        found = shell.manager("QM1")["agent"]["movers"]
        return [(mover["queue"], mover["state"], mover["next_retry_s"]) for mover in found]

    # Logged at once, reported at intervals.
    until(lambda: movers() == [("QM2", "RUNNING", None)], "the mover is reported to be running", pause_s=0.1)


def test_an_alter_of_igq_that_was_cut_off_is_completed_by_the_manager(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it were killed between the directory and the structures, it would leave open handles with the former route."""
    shell.start_manager("QM1")
    group = Group(load_settings({"IGQ_DATA_DIR": shell.environment["IGQ_DATA_DIR"]}))
    repository = Repository(group, "QM1")

    class Killed(Exception):
        pass

    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("sharedq.objects.store.structures.announce", die)
    with pytest.raises(Killed):
        repository.alter_qmgr("QM1", {"igq": "DISABLED"})
    monkeypatch.undo()

    state = repository.qmgr_attributes("QM1").igq_state.encode()
    assert state.endswith(b":D")
    key = group.structure("@QM1").versions
    until(lambda: group.command(key, "HGET", key, "IGQ QM1") == state, "the manager tells it", 120)
    group.leave()


@pytest.mark.share
def test_a_peer_recovers_a_killed_manager_and_its_restarted_agent_goes_on(shell: Shell) -> None:
    peer = shell.start_manager("QM1")
    victim = shell.start_manager("QM2")
    shell.out("mqsc", "QM1", "-c", "ALTER QMGR IGQ(ENABLED)")
    shell.out("mqsc", "QM2", "-c", "DEFINE QLOCAL(ORDERS)")
    agent = agent_of(victim)

    assert victim.end(signal.SIGKILL) == -signal.SIGKILL
    wait_until_gone(agent)
    shell.out("put", "QM1", "ORDERS", "--qmgr", "QM2", "while it was down")

    peer.wait_for("CSQE014I QM1 recovery of QM2.1: phase 2 completed")
    assert shell.manager("QM2")["state"] == "FAILED"
    (recovery,) = shell.status()["recoveries"]
    assert (recovery["failed"], recovery["by"], recovery["state"]) == ("QM2.1", "QM1", "RESOLVED")
    shell.start_manager("QM2")
    assert shell.out("get", "QM2", "ORDERS", "--wait", "60", "--max", "1") == "while it was down\n"


def test_a_killed_supervisor_leaves_no_process(shell: Shell) -> None:
    group = shell.start("group", "start", "-m", "QM1", "-m", "QM2")
    group.wait_for("CSQ9022I", 2)
    pids = [pid_in(group.wait_for("CSQ9022I", n)) for n in (1, 2)]
    pids += [pid_in(group.wait_for("CSQM050I", n)) for n in (1, 2)]

    group.end(signal.SIGKILL)

    for pid in pids:
        wait_until_gone(pid)
    assert not any(is_there(pid) for pid in pids)


def test_mqsc_that_stops_its_manager_gives_no_command_to_it_any_more(shell: Shell) -> None:
    manager = shell.start_manager("QM1")

    commands = shell.run("mqsc", "QM1", "-c", "STOP QMGR", "-c", "DEFINE QLOCAL(LATE)")

    assert manager.wait() == 0
    assert commands.returncode == 10
    assert "CSQ9022I: STOP QMGR QM1 normal completion." in commands.stdout
    assert "CSQ3106E: Queue manager QM1 is stopped, DEFINE QLOCAL(LATE) not processed" in commands.stdout
    assert not any(queue["name"] == "LATE" for queue in shell.status()["queues"])


def test_ctrl_c_stops_a_group_cleanly(shell: Shell) -> None:
    group = shell.start("group", "start", "-m", "QM1", "-m", "QM2")
    group.wait_for("CSQM050I", 2)

    assert group.end(signal.SIGINT) == 0

    group.wait_for("CSQ3104I", 2)
    assert [each["state"] for each in shell.status()["managers"]] == ["STOPPED", "STOPPED"]


def test_the_log_is_kept_in_the_data_directory(shell: Shell) -> None:
    manager = shell.start_manager("QM1")
    shell.out("qmgr", "stop", "QM1")
    manager.wait()

    log = (Path(shell.environment["IGQ_DATA_DIR"]) / "QM1.log").read_text().splitlines()
    assert log == manager.lines


def test_a_hangup_reopens_the_logs_and_ends_no_process(shell: Shell) -> None:
    group = shell.start("group", "start", "-m", "QM1", "-m", "QM2")
    group.wait_for("CSQM050I", 2)
    until(lambda: all(each["agent"]["state"] == "RUNNING" for each in shell.status()["managers"]), "the agents run")
    logs = [Path(shell.environment["IGQ_DATA_DIR"]) / f"{name}.log" for name in ("QM1", "QM2")]
    rotated = [log.rename(log.with_suffix(".log.1")) for log in logs]

    for each in shell.status()["managers"]:
        os.kill(each["agent"]["pid"], signal.SIGHUP)
    group.process.send_signal(signal.SIGHUP)

    until(lambda: all(log.exists() for log in logs), "the logs are opened anew")
    assert group.end(signal.SIGINT) == 0
    assert not [line for line in group.lines if "CSQM067E" in line]
    for log, old in zip(logs, rotated, strict=True):
        assert "CSQ3104I" in log.read_text()
        assert "CSQ3104I" not in old.read_text()
        assert log.stat().st_mode & 0o777 == 0o600
    assert logs[0].parent.stat().st_mode & 0o777 == 0o700


def test_a_hangup_in_the_first_moment_of_an_agent_does_not_end_it(shell: Shell) -> None:
    """Its manager logs it as soon as there is a process, which has yet to become a Python."""
    manager = shell.start("qmgr", "start", "QM1")
    agent = pid_in(manager.wait_for("CSQM050I"))
    os.kill(agent, signal.SIGHUP)
    until(lambda: shell.manager("QM1")["agent"]["state"] == "RUNNING", "the agent runs")
    found = shell.manager("QM1")["agent"]
    assert (found["pid"], found["restarts"]) == (agent, 0)


@pytest.mark.slow
def test_an_idle_manager_and_agent_cost_at_most_three_commands_a_second(tmp_path: Path, shell: Shell) -> None:
    server = Server()
    try:
        shell.environment["IGQ_REDIS_URL"] = server.url
        for name in ("QM1", "QM2", "QM3"):
            agent_of(shell.start_manager(name))
        client = server.client()

        def calls() -> int:
            return sum(int(each["calls"]) for each in client.info("commandstats").values())

        def now_s() -> float:
            seconds, microseconds = client.time()
            return float(seconds) + microseconds / 1e6

        # The agents' first looks are over when they wait.
        group = Group(load_settings({"IGQ_REDIS_URL": server.url, "IGQ_DATA_DIR": str(tmp_path)}))
        for name in ("QM1", "QM2", "QM3"):
            keys = group.structure(f"@{name}").queue("SYSTEM.QSG.TRANSMIT.QUEUE")
            while not client.zcard(keys.waiters):
                client.blpop(["nobody"], timeout=0.1)
        # Wait until each agent's movers have looked once more: a later member defined its queues meanwhile.
        seen_s = now_s() + LOOK_S + 1
        while now_s() < seen_s:
            client.blpop(["nobody"], timeout=1)
        before, started_s = calls(), now_s()
        # As long as the longest interval at which anything is done, 60 s; each wait is shorter than the client's
        # own for a reply.
        waits = 20
        for _ in range(waits):
            client.blpop(["nobody"], timeout=3)
        # Subtract this test's own commands: the waits, the first count and the clock.
        cost = calls() - before - (waits + 2)
        assert cost / (now_s() - started_s) <= 3 * 3
        group.leave()
    finally:
        shell.close()
        server.close()


def test_a_stop_is_heard_long_before_the_next_renewal(shell: Shell) -> None:
    shell.environment["IGQ_LEASE_MS"] = "600000"
    manager = shell.start_manager("QM1")
    agent_of(manager)
    shell.out("qmgr", "stop", "QM1")
    manager.wait_for("CSQ3104I")


def test_redis_that_goes_away_and_comes_back_is_found_again(shell: Shell) -> None:
    server = Server(fsync="always")
    try:
        shell.environment |= {"IGQ_REDIS_URL": server.url, "IGQ_LEASE_MS": "3000"}
        manager = shell.start_manager("QM1")
        shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(KEPT)")
        shell.out("put", "QM1", "KEPT", "--persistent", "kept")

        server.kill()
        manager.wait_for("IGQ0001E")
        server.start()

        manager.wait_for("CSQ9022I", 2)
        assert shell.out("get", "QM1", "KEPT") == "kept\n"
        assert shell.manager("QM1")["state"] == "RUNNING"
    finally:
        shell.close()
        server.close()


COMMANDS: list[tuple[str, ...]] = [("qmgr", "start", "QM1"), ("status",), ("put", "QM1", "Q", "x")]
IMPOSSIBLE = [
    ({"IGQ_REDIS_URL": "redis://127.0.0.1:1"}, "Redis cannot be reached: Error 111"),
    ({"IGQ_REDIS_URL": "http://somewhere"}, "IGQ_REDIS_URL"),
    ({"IGQ_GROUP": "toolong"}, "IGQ_GROUP=toolong"),
    ({"IGQ_CONFIG": "/nonexistent.toml"}, "IGQ_CONFIG=/nonexistent.toml"),
]
#: A command that only reads needs no directory that can be made.
READ_ONLY = ({"IGQ_DATA_DIR": "/proc/igq"}, "IGQ_DATA_DIR=/proc/igq")


@pytest.mark.parametrize(
    ("command", "environment", "words"),
    [
        *((command, *impossible) for command in COMMANDS for impossible in IMPOSSIBLE),
        *((command, *READ_ONLY) for command in COMMANDS if command != ("status",)),
    ],
)
def test_a_command_that_cannot_work_fails_with_one_line(
    shell: Shell, command: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    done = shell.run(*command, **environment)

    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_redis_that_refuses_or_keeps_too_little_is_one_line(shell: Shell) -> None:
    guarded, lossy = Server("--requirepass", "secret"), None
    try:
        refused = shell.run("qmgr", "start", "QM1", IGQ_REDIS_URL=guarded.url)
        assert refused.returncode == 1
        assert "MQRC_NOT_AUTHORIZED (2035), Redis asks for a password" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
        lossy = Server("--appendonly", "no")
        strict = shell.run("qmgr", "start", "QM1", IGQ_REDIS_URL=lossy.url, IGQ_DURABILITY="strict")
        assert strict.returncode == 1
        assert "QM1 does not start, durability is strict: none: the server keeps" in strict.stderr
        assert len(strict.stderr.splitlines()) == 1
    finally:
        guarded.close()
        if lossy is not None:
            lossy.close()


def test_a_failed_structure_is_reported_and_recovered_without_a_restart(tmp_path: Path) -> None:
    server = Server()
    shell = new_shell(tmp_path)
    shell.environment |= {"IGQ_REDIS_URL": server.url, "IGQ_LEASE_MS": "3000"}
    try:
        managers = [shell.start_manager(name) for name in ("QM1", "QM2")]
        shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1)")
        shell.out("put", "QM1", "Q", "kept", "--persistent")
        shell.out("mqsc", "QM1", "-c", "BACKUP CFSTRUCT(APPL1)")
        waiting = shell.start("get", "QM1", "Q", "--wait", "-1", "--max", "2")
        waiting.wait_for("kept")
        server.client().delete(*server.client().keys("{QSG1:APPL1}:*"))

        refused = shell.run("put", "QM2", "Q", "lost")
        assert (refused.returncode, "MQRC_CF_STRUC_FAILED (2373)" in refused.stderr) == (1, True), refused.stderr
        # The agents receive something, too.
        shell.out("put", "QM2", "Q", "by agent", "--qmgr", "QM1", "--persistent")
        for manager in managers:
            manager.wait_for("CSQE035E")
        managers[0].wait_for("CSQM065E")
        assert [each["state"] for each in shell.status()["structures"]] == ["FAILED"]
        assert waiting.wait() == 1
        assert "MQRC_CF_STRUC_FAILED (2373)" in waiting.lines[-1]

        shell.out("mqsc", "QM1", "-c", "RECOVER CFSTRUCT(APPL1)")
        for manager in managers:
            manager.wait_for("CSQE131I")
        managers[0].wait_for("IGQ0021I")
        assert shell.out("get", "QM2", "Q", "--wait", "60", "--max", "2").splitlines() == ["kept", "by agent"]
        assert [each["agent"]["restarts"] for each in shell.status()["managers"]] == [0, 0]
        for manager in managers:
            assert sum("CSQE035E" in line for line in manager.lines) == 1
            assert sum("CSQE131I" in line for line in manager.lines) == 1
            assert manager.end() == 0
    finally:
        shell.close()
        server.close()


def test_a_program_of_a_killed_manager_ends_with_one_line(shell: Shell) -> None:
    shell.environment["IGQ_LEASE_MS"] = "3000"
    managers = [shell.start_manager(name) for name in ("QM1", "QM2")]
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    putting = shell.typed("put", "QM1", "Q")
    putting.type("first")
    getting = shell.start("get", "QM1", "Q", "--wait", "-1")
    getting.wait_for("first")

    managers[0].end(signal.SIGKILL)
    managers[1].wait_for("CSQE014I")
    putting.type("second")
    for program, got in ((putting, []), (getting, ["first"])):
        assert program.wait() == 1
        assert program.lines[: len(got)] == got
        (line,) = program.lines[len(got) :]
        assert line.startswith("igq: ")
        assert "MQRC_CONNECTION_BROKEN (2009)" in line


def test_where_redis_loses_everything_managers_begin_a_new_group(tmp_path: Path) -> None:
    server = Server()
    shell = new_shell(tmp_path)
    shell.environment |= {"IGQ_REDIS_URL": server.url, "IGQ_LEASE_MS": "4000"}
    define = ("mqsc", "QM1", "-c", "DEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    try:
        managers = [shell.start_manager(name) for name in ("QM1", "QM2")]
        shell.out(*define)
        shell.out("put", "QM1", "Q", "before")
        waiting = shell.start("get", "QM1", "Q", "--wait", "-1")
        waiting.wait_for("before")
        server.client().flushall()

        for manager in managers:
            manager.wait_for("IGQ0001E")
            assert "incarnation 2" in manager.wait_for("CSQ9022I", 2)
        assert waiting.wait() == 1
        assert len(waiting.lines) == 2
        assert "MQRC_CONNECTION_BROKEN (2009)" in waiting.lines[-1]
        shell.out(*define)
        shell.out("put", "QM1", "Q", "--qmgr", "QM2", "by agent")
        assert shell.out("get", "QM1", "Q", "--wait", "60", "--max", "1") == "by agent\n"
        assert [manager.end() for manager in managers] == [0, 0]
        assert not any("Traceback" in line or "lease_lost" in line for manager in managers for line in manager.lines)
    finally:
        shell.close()
        server.close()


def test_a_mistyped_name_is_removed_again(shell: Shell) -> None:
    shell.start_manager("QM1")
    shell.start_manager("QM11")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(KEPT)")
    shell.out("put", "QM1", "KEPT", "--persistent", "kept")
    running = shell.run("group", "remove", "QM11")
    shell.out("qmgr", "stop", "QM11")

    assert shell.out("group", "remove", "QM11") == "queue manager QM11 is removed from group QSG1\n"

    said = "igq: queue manager QM11 is running: igq qmgr stop QM11 stops it\n"
    assert (running.returncode, running.stdout, running.stderr) == (1, "", said)
    assert [each["name"] for each in shell.status()["managers"]] == ["QM1"]
    again = shell.run("group", "remove", "QM11")
    assert (again.returncode, again.stderr) == (1, "igq: there is no queue manager QM11 in group QSG1: QM1\n")
    assert shell.out("get", "QM1", "KEPT") == "kept\n"
    assert "incarnation 3" in shell.start_manager("QM11").wait_for("CSQ9022I")
    assert {each["name"] for each in shell.status()["managers"]} == {"QM1", "QM11"}


def test_a_killed_manager_is_removed_when_its_peers_have_recovered_it(shell: Shell) -> None:
    shell.environment["IGQ_LEASE_MS"] = "1000"
    shell.start_manager("QM1")
    killed = shell.start_manager("QM2")
    shell.out("mqsc", "QM2", "-c", "DEFINE QLOCAL(ORDERS)")
    shell.out("put", "QM1", "ORDERS", "--qmgr", "QM2", "--persistent", "one")
    assert shell.out("get", "QM2", "ORDERS", "--wait", "20", "--max", "1") == "one\n"
    killed.end(signal.SIGKILL)
    until(lambda: any(each["state"] == "RESOLVED" for each in shell.status()["recoveries"]), "its recovery", 60)

    assert shell.out("group", "remove", "QM2") == "queue manager QM2 is removed from group QSG1\n"

    status = shell.status()
    assert ([each["name"] for each in status["managers"]], status["recoveries"]) == (["QM1"], [])
    lost = shell.run("put", "QM1", "ORDERS", "--qmgr", "QM2", "two")
    assert "MQRC_UNKNOWN_REMOTE_Q_MGR (2087)" in lost.stderr
    shell.out("mqsc", "QM1", "-c", "DISPLAY GROUP")
