"""The doctor at a real group."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_group

from igq.cli.app import build_app
from igq.operations.doctor.visit import CANNOT_LOOK, TO_DO, Found, find, visit
from sharedq.mqi.constants import PutOption
from sharedq.objects.definitions.managers import CFStruct
from sharedq.settings.values import Settings
from tests.support.members import TestGroup


def told(found: list[Found], check: str) -> list[str]:
    return [each.finding.what for each in found if each.check == check]


def test_it_finds_what_an_operator_would(group: TestGroup) -> None:
    group.define_shared("ORDERS", max_depth=1)
    group.repository("QM1").define_structure(CFStruct(name="KEPT", cf_level=5, recover="YES"), replace=True)
    for qmgr in ("QM1", "QM2"):
        group.repository(qmgr).alter_qmgr(qmgr, {"dead_letter_queue": "SYSTEM.DEAD.LETTER.QUEUE"})
    connection = group.connect()
    connection.put1("ORDERS", b"x")
    connection.put1("SYSTEM.DEAD.LETTER.QUEUE", b"x")
    connection.put1("SYSTEM.DEFAULT.LOCAL.QUEUE", b"x", options=PutOption.SYNCPOINT)
    connection.prepare(b"xid")
    # Nothing explains this field.
    keys = group.group.structure("APPL1")
    group.group.client().hset(keys.messages, "nobody", "x")

    found = find(group.settings, is_quick=False)

    assert told(found, "depths") == ["queue ORDERS at APPL1 has 1 of MAXDEPTH(1) messages: puts fail with 2053"]
    assert told(found, "dead letters") == ["queue SYSTEM.DEAD.LETTER.QUEUE at QM1 has 1 dead letter"]
    assert told(found, "units in doubt") == ["queue manager QM1 has 1 unit of work in doubt: their messages are locked"]
    commands = get_group(build_app()).commands
    for each in found:
        for words in re.findall(r"igq ([a-z]+)(?: ([a-z]+))?", each.finding.todo):
            command = commands[words[0]]
            assert not isinstance(command, TyperGroup) or words[1] in command.commands, each.finding.todo
    backups = " ".join(told(found, "backups"))
    assert "structure KEPT has RECOVER(YES) and no backup in " in backups
    assert told(found, "orphans")
    assert not told(find(group.settings, is_quick=True), "orphans")


def test_it_reads_the_policy_and_the_limits_of_the_server(group: TestGroup) -> None:
    client = group.group.client()
    try:
        client.config_set("maxmemory-policy", "allkeys-lru")
        assert "maxmemory-policy allkeys-lru" in told(find(group.settings, is_quick=True), "durability")[0]
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.05))
        found = find(group.settings, is_quick=True)
        assert any("drops messages when its memory is full" in text for text in told(found, "durability"))
        assert told(found, "memory")
    finally:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 0)


def test_its_status_and_its_json_are_for_scripts(group: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "SYSTEM.DEAD.LETTER.QUEUE"})
    group.connect().put1("SYSTEM.DEAD.LETTER.QUEUE", b"x")

    assert visit(group.settings, is_json=True, is_quick=True) == TO_DO

    seen: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert seen["group"] == group.settings.group
    assert any(each["check"] == "dead letters" and "igq dlq" in each["todo"] for each in seen["findings"])


def test_a_group_that_cannot_be_read_is_one_finding(group: TestGroup, capsys: pytest.CaptureFixture[str]) -> None:
    away = Settings(redis_url="redis://127.0.0.1:1", group="G", data_dir=group.settings.data_dir)

    assert visit(away, is_json=True, is_quick=True) == CANNOT_LOOK

    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["what"].startswith("group G cannot be read: ")
