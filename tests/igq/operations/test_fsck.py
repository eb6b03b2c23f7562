"""``igq fsck`` as an operator runs it."""

from __future__ import annotations

import json

import pytest

from igq.cli.runner import run
from igq.errors import CommandError
from igq.operations.fsck import CANNOT_LOOK, as_values, check
from tests.recovery.test_account import GONE, key
from tests.support.members import TestGroup

pytestmark = pytest.mark.share


@pytest.fixture
def orphaned(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> TestGroup:
    """Q, with a handle without an owner. The environment has the settings."""
    group.define_shared("Q")
    group.group.client().hset(key(group, "h:Q"), f"{GONE}#1", "I {}")
    monkeypatch.setenv("IGQ_GROUP", group.group.name)
    monkeypatch.setenv("IGQ_REDIS_URL", str(group.settings.redis_url))
    # A row is one line if no width is set. pytest-xdist sets one.
    monkeypatch.delenv("COLUMNS", raising=False)
    return group


def test_a_user_of_redis_without_rights_is_told_so(group: TestGroup) -> None:
    url = str(group.settings.redis_url)
    client = group.group.client()
    client.acl_setuser("poor", enabled=True, passwords=["+pw"], keys=["*"], channels=["*"], categories=["+@all"])
    client.execute_command("ACL", "SETUSER", "poor", "-scan")
    as_poor = f"{url}{'&' if '?' in url else '?'}username=poor&password=pw"

    with pytest.raises(CommandError, match="2035") as caught:
        check(group.settings.model_copy(update={"redis_url": as_poor}))

    assert caught.value.status == CANNOT_LOOK


@pytest.mark.usefixtures("orphaned")
def test_findings_are_shown_repaired_and_gone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fsck"]) == 1
    shown = capsys.readouterr().out
    assert "handle without an owner" in shown
    assert GONE in shown
    assert run(["fsck", "--json"]) == 1
    assert {each["kind"] for each in json.loads(capsys.readouterr().out)["left"]} == {
        "handle without an owner",
        "wrong counter",
    }
    assert run(["fsck", "--repair"]) == 0
    assert "2 found, 0 left" in capsys.readouterr().out
    assert run(["fsck", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"found": [], "left": []}
    assert run(["fsck"]) == 0
    assert "Everything is accounted for." in capsys.readouterr().out


def test_a_repair_needs_a_manager(orphaned: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    client, members = orphaned.group.client(), orphaned.group.keys.members
    client.hset(members, "QM1", str(client.hget(members, "QM1").decode()).replace("RUNNING", "STOPPED"))  # type: ignore[union-attr]
    assert run(["fsck", "--repair"]) == CANNOT_LOOK
    assert "start one" in capsys.readouterr().err


def test_a_group_that_cannot_be_read(group: TestGroup) -> None:
    settings = group.settings.model_copy(update={"redis_url": "unix:///nowhere/redis.sock"})
    with pytest.raises(CommandError, match="cannot be read") as raised:
        check(settings)
    assert raised.value.status == CANNOT_LOOK


def test_bytes_of_programs_are_shown_escaped(orphaned: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    orphaned.group.client().zadd(key(orphaned, "i:Q"), {b"C" + 24 * b"\x1b" + 8 * b"[": 0})
    assert run(["fsck"]) == 1
    assert "\x1b" not in capsys.readouterr().out
    assert "\x1b" not in json.dumps(as_values(check(orphaned.settings)))


def test_a_group_that_never_was_is_not_called_sound(group: TestGroup) -> None:
    with pytest.raises(CommandError, match="there is no group NOPE") as refused:
        check(group.settings.model_copy(update={"group": "NOPE"}))
    assert refused.value.status == 2
