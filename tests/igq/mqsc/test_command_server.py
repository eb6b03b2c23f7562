"""START CMDSERV, STOP CMDSERV and DISPLAY CMDSERV, without a manager that does it."""

from __future__ import annotations

import io
import json

import pytest

from igq.mqsc.executor import run
from igq.mqsc.session import SessionRepository
from igq.operations.command_service import TOLD
from sharedq.mqi.constants.pcf import PCFCommand, PCFParameter
from sharedq.scripts.members import member_state_call
from tests.support.members import TestGroup
from tests.support.pcf import Asked, answer_of

pytestmark = pytest.mark.share


def mqsc(group: TestGroup, command: str) -> str:
    out = io.StringIO()
    run([command], SessionRepository(group.group, "QM1"), out, is_listed=False)
    return out.getvalue()


def tell(group: TestGroup, **changes: object) -> None:
    member = group.group.member("QM1")
    assert member is not None
    group.group.call(*member_state_call(group.group.keys, "QM1", member.incarnation, json.dumps(changes)))


def test_the_state_is_what_was_asked_for_and_what_the_manager_told(group: TestGroup) -> None:
    tell(group, state="RUNNING")
    for command, told, said, state in (
        ("STOP CMDSERV", "RUNNING", "CSQN005I", "STOPPING"),
        ("STOP CMDSERV", "STOPPED", "CSQN006I", "STOPPED"),
        ("START CMDSERV", "STOPPED", "CSQN001I", "STARTING"),
        ("START CMDSERV", "RUNNING", "CSQN002I", "RUNNING"),
    ):
        assert said in mqsc(group, command)
        tell(group, **{TOLD: told})
        assert f"Command server is {state}" in mqsc(group, "DISPLAY CS")
        assert f"CMDSERV({state})" in mqsc(group, "DISPLAY QMSTATUS")


def test_a_manager_that_starts_will_have_one(group: TestGroup) -> None:
    tell(group, state="STARTING")
    assert "CSQN011I" in mqsc(group, "DISPLAY CMDSERV")
    mqsc(group, "STOP CMDSERV")
    assert "CSQN012I" in mqsc(group, "DISPLAY CMDSERV")


@pytest.mark.parametrize("command", ["START CMDSERV", "STOP CMDSERV", "DISPLAY CMDSERV"])
def test_a_manager_that_does_not_run_is_not_asked(group: TestGroup, command: str) -> None:
    tell(group, state="STOPPED")
    assert "MQRC_Q_MGR_NOT_AVAILABLE (2059)" in mqsc(group, command)


@pytest.mark.parametrize("command", ["START CMDSERV(X)", "STOP CMDSERV MODE(FORCE)", "DISPLAY CMDSERV ALL"])
def test_it_takes_no_parameters(group: TestGroup, command: str) -> None:
    assert "CSQ9031E" in mqsc(group, command)


def test_pcf_has_the_same_commands(group: TestGroup) -> None:
    tell(group, state="RUNNING")
    for number, said in (
        (PCFCommand.INQUIRE_CMD_SERVER, "CSQN013I"),
        (PCFCommand.STOP_CMD_SERVER, "CSQN005I"),
        (PCFCommand.START_CMD_SERVER, "CSQN001I"),
    ):
        texts = [answer_of(each).get(PCFParameter.STRING_DATA, "") for each in Asked(group).messages(number)]
        assert any(said in text for text in texts), texts
