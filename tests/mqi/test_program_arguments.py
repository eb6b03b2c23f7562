"""Names of programs, ids and messages that a call does not accept."""

from __future__ import annotations

import json
import sys

import pytest

from sharedq.calls.handles.connect import connect_to
from sharedq.messages.context import appl_name_of, default_appl_name
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.mqi.xa import XAError
from tests.support.members import TestGroup


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("payroll", "payroll"),
        ("p" * 40, "p" * 28),
        # Whole characters, because the last one would be cut.
        ("p" * 27 + "é", "p" * 27),
        ("pay\udcffroll", "pay?roll"),
        ("\n\x1b[31m", "\n\x1b[31m"),
    ],
)
def test_a_program_may_have_any_name(
    group: TestGroup, name: str, known_as: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [f"/somewhere/{name}"])
    default_appl_name.cache_clear()
    monkeypatch.setattr("sharedq.session.connection.default_appl_name", default_appl_name)
    group.define_shared("Q")
    try:
        connection = group.connect("QM1")
        with connection.open("Q", OpenOption.OUTPUT | OpenOption.INPUT_SHARED) as queue:
            queue.put(b"x", MQMD())

            assert queue.get().md.put_appl_name.rstrip() == known_as.encode()
    finally:
        default_appl_name.cache_clear()
    assert appl_name_of(name) == known_as


def test_a_prepared_units_id_is_bytes(group: TestGroup) -> None:
    connection = group.connect("QM1")

    with pytest.raises(XAError, match=r"XAER_INVAL.*the id is str, must be bytes"):
        connection.prepare("text")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [b"x", b"xy", "x", (b"x",), None, 1])
def test_the_error_says_what_put_many_takes(group: TestGroup, given: object) -> None:
    group.define_shared("Q")
    with (
        group.connect("QM1").open("Q", OpenOption.OUTPUT) as queue,
        pytest.raises(MQIError, match=rf"2004.*a message to put is {type(given).__name__}, must be \(MQMD, bytes\)"),
    ):
        queue.put_many([given])  # type: ignore[list-item]


def test_the_error_for_a_stopped_manager_names_the_command_to_start_it(group: TestGroup) -> None:
    keys = group.group.keys
    changes: list[str | int] = ["QM1", 1, json.dumps({"state": "STOPPED"})]
    group.group.call("admin/member_state", [keys.members, keys.fence], changes)

    with pytest.raises(MQIError, match=r"MQRC_Q_MGR_NOT_AVAILABLE \(2059\), it is not running: igq qmgr start QM1$"):
        connect_to(group.group, "QM1")
