"""The trigger monitor: what it starts, and what it does with trigger messages that start nothing."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from igq.triggers.monitor import TriggerMonitor, character_form
from sharedq import pymqi
from sharedq.mqi import wire
from sharedq.mqi.constants import Format, GetOption, OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.headers import MQTM
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup
from tests.support.scenes import until

TRIGGER = MQTM(1, b"Q", b"PROC", b"data", 6, b"", b"", b"user data")


class Scene:
    """A monitor of INIT at QM1."""

    def __init__(self, group: TestGroup, told: Path) -> None:
        self.group, self.told, self.lines = group, told, list[str]()
        for name in ("INIT", "DLQ"):
            group.define_private("QM1", name)
        group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "DLQ"})
        self.putter = group.connect()

    def put(self, appl_id: str = "", env_data: str = "", appl_type: int = 6) -> None:
        values = (1, b"Q", b"PROC", b"data", appl_type, appl_id.encode(), env_data.encode(), b"user data")
        self.put_body(wire.TM.pack(MQTM(*values)))

    def put_body(self, body: bytes, format_: bytes = Format.TRIGGER) -> None:
        self.putter.put1("INIT", body, MQMD(format=format_))

    def serve(self) -> None:
        """Let the monitor serve what is there."""

        def is_done() -> bool:
            located = self.group.repository("QM1").queue_status("INIT")
            return located.depth == 0 and not located.uncommitted

        TriggerMonitor(self.group.connect(), "INIT", self.lines.append, is_done).run()

    def dead(self) -> int:
        """Take a dead letter; returns its reason."""
        with self.putter.open("DLQ", OpenOption.INPUT_SHARED) as dead:
            letter = dead.get(GetOption.NO_SYNCPOINT)
        header = wire.DLH.unpack(letter.body)
        assert header.dest_q_name.rstrip() == b"INIT"
        return header.reason

    def program(self, code: str) -> str:
        start = (
            "import json, os, sys; told = {name: os.environ[name] for name in os.environ if name[:8] == 'TRIGGER_'}; "
        )
        # Whole from the moment when it is there.
        half = str(self.told.with_suffix(".half"))
        tell = f"json.dump([sys.argv[1:], told], open({half!r}, 'w')); os.replace({half!r}, {str(self.told)!r}); "
        file = self.told.with_suffix(".py")
        file.write_text(start + tell + code)
        return f"{sys.executable} {shlex.quote(str(file))}"


@pytest.fixture
def scene(group: TestGroup, tmp_path: Path) -> Scene:
    return Scene(group, tmp_path / "told by the program")


def test_the_program_gets_the_trigger_message_and_the_words_of_envrdata(scene: Scene) -> None:
    scene.put(scene.program(""), "one 'two three' $HOME")
    scene.serve()
    arguments, environment = json.loads(scene.told.read_text())
    assert arguments[1:] == ["one", "two three", "$HOME"]
    assert len(arguments[0]) == 732
    trigger: Any = pymqi.TMC2()
    trigger.unpack(arguments[0].encode())
    names = ("StrucId", "Version", "QName", "ProcessName", "TriggerData", "UserData", "QMgrName")
    assert [getattr(trigger, name).strip() for name in names] == [
        *(b"TMC", b"2", b"Q", b"PROC", b"data", b"user data", b"QM1"),
    ]
    assert environment == {
        "TRIGGER_QMGR": "QM1",
        "TRIGGER_QUEUE": "Q",
        "TRIGGER_DATA": "data",
        "TRIGGER_USER_DATA": "user data",
    }
    first, second = scene.lines
    assert first == "INIT at QM1: waiting for trigger messages"
    assert second.startswith("Q: started ")
    with pytest.raises(NoMsgAvailable):
        scene.dead()


def test_the_monitor_does_not_wait_for_a_program_in_the_background(scene: Scene) -> None:
    """The first program ends only after the second one has begun."""
    flag = scene.told.with_suffix(".flag")
    wait = f"import pathlib, time\nwhile not pathlib.Path({str(flag)!r}).exists(): time.sleep(0.05)"
    scene.put(scene.program("\n" + wait), "&")
    scene.serve()
    flag.touch()
    until(scene.told.exists, "the program has begun")
    assert json.loads(scene.told.read_text())[0][1:] == []


@pytest.mark.parametrize(
    ("appl_id", "appl_type", "reason"),
    [
        ("/no/such/program", 6, 265),
        ("", 6, 265),
        ("'no end of the quote", 6, 265),
        (f"{sys.executable} -c 'raise SystemExit(3)'", 6, 265),
        ("CICS1", 1, 267),
    ],
)
def test_what_cannot_be_started_goes_to_the_dead_letter_queue(
    scene: Scene, appl_id: str, appl_type: int, reason: int
) -> None:
    scene.put(appl_id, appl_type=appl_type)
    scene.serve()
    assert scene.dead() == reason
    assert f"reason {reason} (" in scene.lines[-1]


@pytest.mark.parametrize(("body", "format_"), [(b"x", Format.TRIGGER), (b"x" * 684, Format.STRING)])
def test_what_is_no_trigger_message_goes_to_the_dead_letter_queue(scene: Scene, body: bytes, format_: bytes) -> None:
    scene.put_body(body, format_)
    scene.put(scene.program(""))
    scene.serve()
    assert scene.dead() == 266
    assert scene.told.exists()


def test_the_character_form_has_its_length_whatever_is_in_it() -> None:
    long = MQTM(1, b"Q" * 48, b"P" * 48, b"d" * 64, 6, b"a" * 256, b"e" * 128, b"u" * 128)
    assert len(character_form(long, "Q" * 48)) == len(character_form(TRIGGER, "")) == 732
