"""Settings of the group, by command and with real managers."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.support.scenes import until

pytestmark = pytest.mark.faults


def shown(shell: Shell) -> dict[str, str]:
    return dict(line.split(" = ") for line in shell.out("group", "show").splitlines())


def test_the_first_managers_settings_count_and_another_one_is_told(shell: Shell) -> None:
    assert "no queue manager has joined" in shell.run("group", "show").stderr
    shell.start_manager("QM1")
    recorded = shown(shell)
    shell.environment["IGQ_JOURNAL"] = "false"
    second = shell.start_manager("QM2")
    told = second.wait_for("IGQ0006I")
    assert "journal is true in the group, false in the settings of this process" in told
    asked = shell.run("group", "show")
    assert "journal is true in the group" in asked.stderr
    assert shown(shell) == recorded


def test_managers_and_agents_go_over_to_what_is_set_and_back(shell: Shell) -> None:
    """Without a replica nothing is acknowledged until the group stops waiting for one."""
    manager = shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    changes = ("wait_replicas=1", "wait_replicas_timeout_ms=10")
    assert "--force" in shell.run("group", "set", *changes).stderr
    assert "wait_replicas = 1" in shell.out("group", "set", "--force", *changes)
    manager.wait_for("0 of 1 replicas")
    refused = shell.run("put", "QM1", "Q", "x")
    assert refused.returncode == 1
    assert "0 of 1 replicas" in refused.stderr or "2059" in refused.stderr
    shell.out("group", "set", "wait_replicas=0")

    def is_moved() -> bool:
        got = shell.run("get", "QM1", "Q") if shell.run("put", "QM1", "Q", "x").returncode == 0 else None
        return got is not None and got.returncode == 0 and got.stdout == "x\n"

    # The manager may have lost its place meanwhile, and joins again: programs that connected before lose their
    # connections (2009), between the put and the get or while the get waits for more.
    until(is_moved, "a message is put and got", limit_s=120)
    # A stop is for one incarnation, so it is refused if the manager joins again meanwhile.
    until(lambda: shell.run("qmgr", "stop", "QM1").returncode == 0, "QM1 is stopped", limit_s=60)
    assert manager.wait() == 0
    assert not [line for line in manager.lines if "Traceback" in line], "\n".join(manager.lines)


@pytest.mark.parametrize("arguments", [("nonsense=1",), ("lease_ms",), ("lease_ms=1",), ()])
def test_a_setting_that_cannot_be_set_is_refused_with_one_line(shell: Shell, arguments: tuple[str, ...]) -> None:
    shell.start_manager("QM1")
    refused = shell.run("group", "set", *arguments)
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    assert not arguments or refused.stderr.count("\n") == 1
