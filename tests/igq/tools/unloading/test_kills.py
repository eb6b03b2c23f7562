"""Unload and load, killed at every step of a commit: each message is there once, in the file or on the queue."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from igq.tools.unloading.record_file import read_header, read_records
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.structures import MQMD
from tests.support.agents import drain
from tests.support.killed import igq, igq_killed
from tests.support.members import TestGroup

COUNT = 250
SENT = [b"%03d" % number for number in range(COUNT)]
#: The calls of a commit, and where they are killed.
STEPS = [(call, when) for call in ("prepare", "commit_prepared_together") for when in ("before", "after")]


@pytest.fixture
def filled(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> TestGroup:
    monkeypatch.setattr(TestGroup, "is_accounted", True)
    group.define_shared("FROM")
    group.define_shared("TO")
    with group.connect() as connection, connection.open("FROM", OpenOption.OUTPUT) as queue:
        queue.put_many([(MQMD(persistence=1), body) for body in SENT])
    return group


def in_file(path: Path) -> list[bytes]:
    return [record.body for _, record in read_records(path)]


def on(group: TestGroup, queue: str) -> list[bytes]:
    return [message.body for message in drain(group.connect(), queue)]


@pytest.mark.invariant(1, 3, 8)
@pytest.mark.parametrize(("call", "when"), STEPS)
def test_a_killed_unload_is_resumed(filled: TestGroup, tmp_path: Path, call: str, when: str) -> None:
    path = tmp_path / "f"
    command = ("unload", "FROM", str(path), "-m", "QM1", "--remove")
    assert igq_killed(filled, *command, call=call, when=when, at=2)
    # A torn line, as a power failure leaves it.
    with path.open("ab") as file:
        file.write(b'{"md":{},"unit":2,"bo')
        os.fsync(file.fileno())
    assert set(SENT[:200]) <= set(in_file(path))
    assert read_header(path).count is None
    assert igq(filled, "load", str(path), "TO").returncode == 1
    assert not igq_killed(filled, *command, "--resume", call=call, when=when, at=9)
    assert (in_file(path), on(filled, "FROM")) == (SENT, [])
    assert igq(filled, "load", str(path), "FROM").returncode == 0
    assert on(filled, "FROM") == SENT


@pytest.mark.invariant(1, 3, 8)
@pytest.mark.parametrize(("call", "when"), STEPS)
def test_a_killed_load_goes_on(filled: TestGroup, tmp_path: Path, call: str, when: str) -> None:
    path = tmp_path / "f"
    assert igq(filled, "unload", "FROM", str(path)).returncode == 0
    command = ("load", str(path), "TO", "-m", "QM1")
    assert igq_killed(filled, *command, call=call, when=when, at=2)
    assert not igq_killed(filled, *command, call=call, when=when, at=9)
    assert on(filled, "TO") == SENT
