"""Objects of the whole group: templates and copies, the transmit queue, structures, attributes."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from sharedq import MQIError
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.objects.definitions.managers import CFStruct
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal
from sharedq.objects.store.directory import Directory, Entry
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.parts import own_part
from sharedq.objects.system import define_system_objects
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored


def refused(reason: MQRC) -> Any:
    return pytest.raises(MQIError, match=f"MQRC_{reason.name} ")


def definition_of(group: TestGroup, name: str, qmgr: str) -> Any:
    located = group.repository(qmgr).lookup(name)
    return None if located is None else located.definition


def versions(group: TestGroup, structure: str) -> dict[str, str]:
    stored: Any = group.group.client().hgetall(group.group.structure(structure).versions)
    return {field.decode(): value.decode() for field, value in stored.items()}


def partition(group: TestGroup, qmgr: str) -> tuple[int, Any]:
    key = group.group.structure(f"@{qmgr}").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue
    stored: Any = group.group.client().hmget(key, "ver", "def")
    version, text = stored
    return (0, None) if version is None else (int(version), QueueLocal.from_json(text))


# -- templates and copies ------------------------------------------------------------------------------------


def test_a_group_object_gives_each_running_member_a_copy_at_once(group: TestGroup) -> None:
    group.add_member("QM2")
    group.repository("QM1").define(QueueLocal(name="LOCAL", disposition="GROUP", max_depth=5))
    group.repository("QM1").define(QueueAlias(name="ALIAS", disposition="GROUP", target="LOCAL"))

    for qmgr in ("QM1", "QM2"):
        copy = definition_of(group, "LOCAL", qmgr)
        assert (copy.disposition, copy.max_depth) == ("COPY", 5)
        assert definition_of(group, "ALIAS", qmgr).target == "LOCAL"
    group.connect("QM2").put1("ALIAS", b"to the copy of QM2")
    assert group.repository("QM2").queue_status("LOCAL").depth == 1
    assert group.repository("QM1").queue_status("LOCAL").depth == 0


def test_other_members_get_their_copy_when_they_start(group: TestGroup) -> None:
    group.repository("QM1").define(QueueLocal(name="LOCAL", disposition="GROUP"))

    group.add_member("QM2")

    assert definition_of(group, "LOCAL", "QM2").disposition == "COPY"


def test_altering_the_group_object_alters_its_copies(group: TestGroup) -> None:
    group.add_member("QM2")
    repository = group.repository("QM1")
    repository.define(QueueLocal(name="LOCAL", disposition="GROUP"))
    repository.alter("QLOCAL", "LOCAL", {"max_depth": 3}, "GROUP")

    assert definition_of(group, "LOCAL", "QM2").max_depth == 3


def test_a_members_own_object_is_not_replaced_by_a_copy(group: TestGroup) -> None:
    group.define_private("QM1", "LOCAL", max_depth=1)
    group.repository("QM1").define(QueueLocal(name="LOCAL", disposition="GROUP", max_depth=5))

    own = definition_of(group, "LOCAL", "QM1")
    assert (own.disposition, own.max_depth) == ("QMGR", 1)


def test_deleting_the_group_object_deletes_copies_that_are_not_in_use(group: TestGroup) -> None:
    group.add_member("QM2")
    repository = group.repository("QM1")
    repository.define(QueueLocal(name="LOCAL", disposition="GROUP"))
    group.connect("QM2").put1("LOCAL", b"keeps the copy of QM2")

    repository.delete("QLOCAL", "LOCAL", disposition="GROUP")

    assert definition_of(group, "LOCAL", "QM1") is None
    assert definition_of(group, "LOCAL", "QM2").disposition == "COPY"
    group.repository("QM2").clear("LOCAL")
    group.repository("QM2").materialize_group_objects("QM2")
    assert definition_of(group, "LOCAL", "QM2") is None


def test_a_restart_touches_no_copy_that_is_up_to_date(group: TestGroup) -> None:
    group.repository("QM1").define(QueueAlias(name="ALIAS", disposition="GROUP", target="A"))
    before = group.repository("QM1").locate("ALIAS")

    group.repository("QM1").materialize_group_objects("QM1")

    assert group.repository("QM1").locate("ALIAS") == before


def test_a_group_object_and_a_shared_queue_cannot_have_one_name(group: TestGroup) -> None:
    group.define_shared("SHARED")
    with refused(MQRC.OBJECT_NOT_UNIQUE):
        group.repository("QM1").define(QueueLocal(name="SHARED", disposition="GROUP"))


def test_a_copy_can_be_defined_again_by_hand(group: TestGroup) -> None:
    repository = group.repository("QM1")
    repository.define(QueueLocal(name="LOCAL", disposition="GROUP", max_depth=5))
    repository.delete("QLOCAL", "LOCAL", disposition="COPY")

    repository.define(QueueLocal(name="LOCAL", disposition="COPY"))

    assert definition_of(group, "LOCAL", "QM1").max_depth == 5
    with refused(MQRC.UNKNOWN_OBJECT_NAME):
        repository.define(QueueLocal(name="OTHER", disposition="COPY"))


# -- the transmit queue ---------------------------------------------------------------------------


def test_every_manager_has_its_part_of_the_shared_transmission_queue(group: TestGroup) -> None:
    group.add_member("QM2")

    assert partition(group, "QM1") == partition(group, "QM2")
    assert group.repository("QM1").transmit_part("QM2", None)
    assert not group.repository("QM1").transmit_part("QM3", None)


def test_an_alter_is_done_when_every_part_has_it(group: TestGroup) -> None:
    group.add_member("QM2")
    before, _ = partition(group, "QM1")
    group.repository("QM2").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 9})

    for qmgr in ("QM1", "QM2"):
        version, definition = partition(group, qmgr)
        assert version > before
        assert definition.max_depth == 9


def test_a_part_never_goes_back_to_an_older_definition(group: TestGroup) -> None:
    repository = group.repository("QM1")
    stale = repository.locate(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert stale is not None
    assert stale.definition is not None
    repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 9})

    # A slower command, which read the definition before.
    key = group.group.structure("@QM1").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue
    reply = group.group.call("structure/set_partition", [key], [stale.version, stale.definition.to_json()])

    assert reply == [0, 0]
    assert partition(group, "QM1")[1].max_depth == 9


def test_deleting_it_is_all_or_nothing(group: TestGroup) -> None:
    group.add_member("QM2")
    repository = group.repository("QM1")
    queue = group.connect("QM2").open(SYSTEM_QSG_TRANSMIT_QUEUE, OpenOption.INPUT_SHARED)
    with refused(MQRC.OBJECT_IN_USE):
        repository.delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)
    assert partition(group, "QM1")[1] is not None
    queue.close()

    repository.delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)

    assert [partition(group, qmgr)[1] for qmgr in ("QM1", "QM2")] == [None, None]
    assert repository.locate(SYSTEM_QSG_TRANSMIT_QUEUE) is None


def test_a_purge_that_is_refused_has_destroyed_nothing(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is opened after the first look, when others have been closed already."""
    group.add_member("QM2")
    group.add_member("QM3")
    connection = group.connect("QM1")
    connection.put1("T", b"x", qmgr_name="QM2")
    handles = []
    monkeypatch.setattr(
        "sharedq.objects.commands.changes.check_idle",
        lambda *_, **__: handles.append(connection.open("Z", OpenOption.OUTPUT, qmgr_name="QM3")),
    )
    with refused(MQRC.OBJECT_IN_USE):
        group.repository("QM1").delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, purge=True)
    assert len(on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")) == 1
    connection.put1("T", b"y", qmgr_name="QM2")
    assert len(on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")) == 2

    handles[0].close()
    monkeypatch.undo()
    group.repository("QM1").delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, purge=True)
    assert stored(group, "@QM2") == 0


@pytest.mark.parametrize("is_first", [True, False], ids=["written before the delete", "written in the middle of it"])
def test_an_alter_that_a_delete_overtakes_brings_no_part_back(
    group: TestGroup, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.add_member("QM2")
    repository, finder = group.repository("QM1"), Finder(group.group, "QM1", lambda: datetime.now(UTC))
    entry = finder.directory.read("S", SYSTEM_QSG_TRANSMIT_QUEUE)
    assert entry is not None
    assert entry.definition is not None
    altered = replace(entry, definition=entry.definition.with_changes({"max_depth": 5}))
    written = [finder.directory.write(altered, "alter")] if is_first else []
    if not is_first:
        remove = Directory.remove

        def altered_before(self: Directory, known: Entry) -> tuple[bool, int]:
            if not written:
                written.append(finder.directory.write(altered, "alter"))
                assert written[0] is not None
                finder.set_partitions(written[0], [own_part("QM1")])
            return remove(self, known)

        monkeypatch.setattr(Directory, "remove", altered_before)
    repository.delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)

    assert written[0] is not None
    finder.set_partitions(written[0], [own_part("QM1"), own_part("QM2")])

    assert repository.locate(SYSTEM_QSG_TRANSMIT_QUEUE) is None
    assert [partition(group, qmgr)[1] for qmgr in ("QM1", "QM2")] == [None, None]
    repository.define(entry.definition)
    assert repository.transmit_part("QM2", None)


@pytest.mark.parametrize("how", ["DELETE", "DEFINE"])
def test_an_interrupted_purge_is_completed_by_a_repetition_or_a_define(group: TestGroup, how: str) -> None:
    group.add_member("QM2")
    repository, finder = group.repository("QM1"), Finder(group.group, "QM1", lambda: datetime.now(UTC))
    entry = finder.directory.read("S", SYSTEM_QSG_TRANSMIT_QUEUE)
    assert entry is not None
    assert entry.definition is not None
    group.connect("QM1").put1("T", b"x", qmgr_name="QM2")
    for structure in ("@QM1", "@QM2"):
        finder.queues.remove(structure, entry.name, "purge", closed_at=entry.version)
    finder.directory.remove(entry)
    assert stored(group, "@QM2") == 1
    if how == "DELETE":
        with refused(MQRC.UNKNOWN_OBJECT_NAME):
            repository.delete("QLOCAL", entry.name, purge=True)
    else:
        repository.define(entry.definition)
    assert stored(group, "@QM2") == 0


def test_defined_again_it_is_newer_than_it_ever_was(group: TestGroup) -> None:
    repository = group.repository("QM1")
    before, definition = partition(group, "QM1")
    repository.delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)
    repository.define(definition)

    assert partition(group, "QM1")[0] > before


# -- attributes of managers ----------------------------------------------------------------------------------


def test_every_structure_learns_of_an_altered_igq(group: TestGroup) -> None:
    group.add_member("QM2")
    repository = group.repository("QM1")

    enabled = repository.alter_qmgr("QM1", {"igq": "ENABLED"})
    for structure in ("APPL1", "@QM1", "@QM2"):
        assert versions(group, structure)["IGQ QM1"] == enabled.igq_state == f"{enabled.igq_version}:E"
    disabled = repository.alter_qmgr("QM1", {"igq": "DISABLED"})
    for structure in ("APPL1", "@QM1", "@QM2"):
        assert versions(group, structure)["IGQ QM1"] == f"{disabled.igq_version}:D"
    assert disabled.igq_version > enabled.igq_version


def test_other_attributes_change_without_a_handle_noticing(group: TestGroup) -> None:
    repository = group.repository("QM1")
    before = versions(group, "APPL1")

    altered = repository.alter_qmgr("QM1", {"dead_letter_queue": "DEAD", "max_uncommitted_msgs": 5})

    assert versions(group, "APPL1") == before
    assert (altered.dead_letter_queue, altered.max_uncommitted_msgs, altered.qsg_name) == (
        *("DEAD", 5),
        group.group.name,
    )
    assert repository.qmgr_attributes("QM1") == altered


def test_an_announcement_that_was_cut_off_is_made_by_repeating_the_command(group: TestGroup) -> None:
    repository = group.repository("QM1")
    enabled = repository.alter_qmgr("QM1", {"igq": "ENABLED"})
    group.group.client().hdel(group.group.structure("APPL1").versions, "IGQ QM1")

    repository.alter_qmgr("QM1", {"igq": "ENABLED"})

    assert versions(group, "APPL1")["IGQ QM1"] == enabled.igq_state


# -- structures ----------------------------------------------------------------------------------------------


def test_a_structure_gets_its_own_number_permanently(group: TestGroup) -> None:
    repository = group.repository("QM1")
    repository.define_structure(CFStruct(name="APPL2"))
    first = group.group.structure_number("APPL2")
    repository.define_structure(CFStruct(name="APPL2", recover="YES"), replace=True)
    assert group.group.structure_number("APPL2") == first
    repository.delete_structure("APPL2")
    repository.define_structure(CFStruct(name="APPL2"))

    numbers = [group.group.structure_number(name) for name in group.group.structure_names()]
    assert group.group.structure_number("APPL2") > first
    assert len(set(numbers)) == len(numbers)


def test_structures_are_defined_altered_listed_and_deleted(group: TestGroup) -> None:
    repository = group.repository("QM1")
    repository.define_structure(CFStruct(name="APPL2", description="two"))
    with refused(MQRC.OBJECT_ALREADY_EXISTS):
        repository.define_structure(CFStruct(name="APPL2"))
    repository.alter_structure("APPL2", {"cf_level": 3})
    assert [(each.name, each.cf_level) for each in repository.structures()] == [("APPL1", 5), ("APPL2", 3)]
    repository.delete_structure("APPL2")

    assert [each.name for each in repository.structures()] == ["APPL1"]
    for call in (
        partial(repository.delete_structure, "APPL2"),
        partial(repository.alter_structure, "APPL2", {"cf_level": 3}),
        partial(repository.delete_structure, "@QM1"),
    ):
        with refused(MQRC.CF_STRUC_ERROR):
            call()


def test_a_structure_with_queues_is_not_deleted(group: TestGroup) -> None:
    repository = group.repository("QM1")
    repository.define_structure(CFStruct(name="APPL2"))
    group.define_shared("ORDERS", structure="APPL2")
    group.repository("QM1").define(QueueLocal(name="ORDERS", disposition="SHARED", structure="APPL2"), replace=True)
    with refused(MQRC.CF_STRUC_IN_USE):
        repository.delete_structure("APPL2")
    repository.delete("QLOCAL", "ORDERS")

    repository.delete_structure("APPL2")


def test_the_values_kept_in_lua_are_json(group: TestGroup) -> None:
    client, keys = group.group.client(), group.group.keys
    for key in (keys.structures, keys.qmgr, keys.directory):
        for text in client.hvals(key):
            assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize("moment", range(10))
def test_a_manager_starting_during_the_transmit_queues_define_has_a_part(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Managers that start together. Without its part a manager could not be reached."""
    first, second = group.repository("QM1"), group.repository("QM2")
    first.delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)
    call, calls, prepared = group.group.call, itertools.count(), []

    def meanwhile(*arguments: Any) -> Any:
        if next(calls) == moment:
            prepared.append("QM2")
            second.prepare_manager("QM2")
        return call(*arguments)

    monkeypatch.setattr(group.group, "call", meanwhile)
    define_system_objects(first, group.settings.default_structure)
    monkeypatch.undo()
    assert prepared
    define_system_objects(second, group.settings.default_structure)

    assert first.transmit_part("QM1", None)
    assert first.transmit_part("QM2", None)
