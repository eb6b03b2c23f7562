"""A manager tells the supervisor that started it how it is (sd_notify)."""

from __future__ import annotations

import secrets
import signal
import socket
from pathlib import Path

import pytest

from igq.processes.service_manager import notify
from tests.cli.conftest import Shell

pytestmark = pytest.mark.faults


def heard(listener: socket.socket) -> list[str]:
    return listener.recv(4096).decode().splitlines()


def test_a_manager_tells_its_supervisor_when_it_is_ready_and_when_it_stops(shell: Shell, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(240)
        listener.bind(str(tmp_path / "notify"))
        shell.environment["NOTIFY_SOCKET"] = str(tmp_path / "notify")

        manager = shell.start("qmgr", "start", "QM1")
        assert heard(listener) == ["STATUS=QM1 runs, incarnation 1", "READY=1"]
        assert shell.manager("QM1")["state"] == "RUNNING"

        manager.process.send_signal(signal.SIGTERM)
        assert heard(listener) == ["STATUS=QM1 stops", "STOPPING=1"]
        assert manager.wait() == 0


def test_a_supervisor_with_an_abstract_address_is_told_too() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        name = f"igq-{secrets.token_hex(8)}"
        listener.bind(f"\0{name}")
        listener.settimeout(60)

        notify("waits", env={"NOTIFY_SOCKET": f"@{name}"})

        assert heard(listener) == ["STATUS=waits"]


@pytest.mark.parametrize("address", ["", "/nowhere/notify", "vsock:2:1", "@"])
def test_a_supervisor_that_cannot_be_told_is_no_error(address: str) -> None:
    notify("runs", env={"NOTIFY_SOCKET": address}, READY="1")
