"""DEFINE, ALTER, DELETE and CLEAR of queues, and their effect on open handles."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.managers import CFStruct
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal, QueueModel, QueueRemote
from sharedq.objects.store.local_queues import QueueState
from tests.support.members import TestGroup
from tests.support.scenes import contents

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


def refused(reason: MQRC) -> Any:
    return pytest.raises(MQIError, match=f"MQRC_{reason.name} ")


def definition_of(group: TestGroup, name: str, qmgr: str = "QM1") -> Any:
    located = group.repository(qmgr).lookup(name)
    assert located is not None
    return located.definition


def test_a_shared_queue_is_defined_once_and_seen_by_every_manager(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_shared("ORDERS", max_depth=5)

    assert definition_of(group, "ORDERS", "QM2").max_depth == 5
    with refused(MQRC.OBJECT_ALREADY_EXISTS):
        group.repository("QM2").define(QueueLocal(name="ORDERS", disposition="SHARED", structure="APPL1"))


def test_a_private_queue_is_its_managers_alone(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_private("QM1", "MINE")
    group.define_private("QM2", "MINE", max_depth=2)

    assert definition_of(group, "MINE", "QM1").max_depth == 999_999_999
    assert definition_of(group, "MINE", "QM2").max_depth == 2


def test_a_name_is_shared_or_private_never_both(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_shared("SHARED.ONE")
    group.define_private("QM2", "PRIVATE.ONE")

    with refused(MQRC.OBJECT_NOT_UNIQUE):
        group.define_private("QM2", "SHARED.ONE")
    with refused(MQRC.OBJECT_NOT_UNIQUE):
        group.define_shared("PRIVATE.ONE")
    assert group.repository("QM1").lookup("PRIVATE.ONE") is None


def test_a_refused_define_leaves_nothing(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_private("QM2", "ORDERS")

    with refused(MQRC.OBJECT_NOT_UNIQUE):
        group.define_shared("ORDERS")

    assert group.group.client().exists(group.group.structure("APPL1").queue("ORDERS").queue) == 0


def test_replace_sets_all_attributes_and_keeps_messages_and_creation_date(group: TestGroup) -> None:
    group.define_shared("ORDERS", max_depth=5, description="first")
    created = definition_of(group, "ORDERS")
    group.connect().put1("ORDERS", b"kept")

    group.repository("QM1").define(
        QueueLocal(name="ORDERS", disposition="SHARED", structure="APPL1", max_depth=7), replace=True
    )

    replaced = definition_of(group, "ORDERS")
    assert (replaced.max_depth, replaced.description) == (7, "")
    assert (replaced.creation_date, replaced.creation_time) == (created.creation_date, created.creation_time)
    assert group.repository("QM1").queue_status("ORDERS").depth == 1


def test_like_takes_what_is_not_given_from_another_queue(group: TestGroup) -> None:
    group.define_private("QM1", "TEMPLATE", max_depth=5, msg_delivery_sequence="FIFO", description="old")
    group.repository("QM1").define(QueueLocal(name="NEW", description="new"), like="TEMPLATE")

    new = definition_of(group, "NEW")
    assert (new.max_depth, new.msg_delivery_sequence, new.description) == (5, "FIFO", "new")
    with refused(MQRC.UNKNOWN_OBJECT_NAME):
        group.repository("QM1").define(QueueLocal(name="OTHER"), like="NOWHERE")


def test_without_like_the_default_queue_is_the_template(group: TestGroup) -> None:
    group.repository("QM1").alter("QLOCAL", "SYSTEM.DEFAULT.LOCAL.QUEUE", {"max_msg_length": 1000})
    group.define_private("QM1", "NEW")

    assert definition_of(group, "NEW").max_msg_length == 1000
    assert definition_of(group, "NEW").description == ""


def test_a_name_that_is_another_kind_of_queue_is_not_replaced(group: TestGroup) -> None:
    group.define("QM1", QueueAlias(name="ORDERS", target="ELSEWHERE"))

    with refused(MQRC.Q_TYPE_ERROR):
        group.repository("QM1").define(QueueLocal(name="ORDERS"), replace=True)
    with refused(MQRC.Q_TYPE_ERROR):
        group.repository("QM1").delete("QLOCAL", "ORDERS")


@pytest.mark.parametrize("is_replace", [False, True])
def test_a_shared_queue_needs_a_structure_that_is_defined(group: TestGroup, is_replace: bool) -> None:
    nowhere = QueueLocal(name="ORDERS", disposition="SHARED", structure="NOWHERE")
    before = contents(group)
    with refused(MQRC.CF_STRUC_ERROR):
        group.repository("QM1").define(nowhere, replace=is_replace)
    assert group.repository("QM1").lookup("ORDERS") is None
    # The structure has no key either.
    assert contents(group) == before


def test_a_model_for_a_structure_that_is_not_defined_makes_no_queue(group: TestGroup) -> None:
    model = QueueModel(name="MODEL", definition_type="SHAREDYN", structure="NOWHERE")
    group.repository("QM1").define(model)
    before = contents(group)
    with refused(MQRC.CF_STRUC_ERROR):
        group.repository("QM1").create_dynamic(model, "DYNAMIC.*")
    assert contents(group) == before


def test_a_queue_stays_in_its_structure(group: TestGroup) -> None:
    group.repository("QM1").define_structure(CFStruct(name="APPL2"))
    group.define_shared("ORDERS")

    with refused(MQRC.CF_STRUC_ERROR):
        group.repository("QM1").alter("QLOCAL", "ORDERS", {"structure": "APPL2"})
    with refused(MQRC.OBJECT_ALREADY_EXISTS):
        group.repository("QM1").define(QueueLocal(name="ORDERS", disposition="SHARED", structure="APPL2"), replace=True)


def test_alter_changes_what_is_named_and_an_open_handle_goes_by_it_at_once(group: TestGroup) -> None:
    group.define_shared("ORDERS", description="kept")
    queue = group.connect().open("ORDERS", BOTH)
    queue.put(b"before")

    group.repository("QM1").alter("QLOCAL", "ORDERS", {"put": "DISABLED"})

    assert definition_of(group, "ORDERS").description == "kept"
    with refused(MQRC.PUT_INHIBITED):
        queue.put(b"after")
    group.repository("QM1").alter("QLOCAL", "ORDERS", {"put": "ENABLED", "max_depth": 1})
    with refused(MQRC.Q_FULL):
        queue.put(b"one too many")
    assert queue.get().body == b"before"


def test_inhibiting_gets_wakes_a_get_that_waits(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", OpenOption.INPUT_SHARED)
    outcome: list[MQRC] = []

    def wait_for_ever() -> None:
        try:
            queue.get(GetOption.WAIT, wait_ms=-1)
        except MQIError as error:
            outcome.append(error.reason)

    waiter = threading.Thread(target=wait_for_ever)
    waiter.start()
    while not group.repository("QM1").queue_status("ORDERS").waiters:
        # The question itself takes the time here: each round is a round trip.
        assert waiter.is_alive()
    group.repository("QM1").alter("QLOCAL", "ORDERS", {"get": "DISABLED"})
    waiter.join()

    assert outcome == [MQRC.GET_INHIBITED]


def test_index_type_changes_only_on_an_empty_closed_queue(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    repository, connection = group.repository("QM1"), group.connect()
    queue = connection.open("ORDERS", BOTH)

    with refused(MQRC.OBJECT_IN_USE):
        repository.alter("QLOCAL", "ORDERS", {"index_type": "MSGID"})
    queue.put(b"x")
    queue.close()
    with refused(MQRC.Q_NOT_EMPTY):
        repository.alter("QLOCAL", "ORDERS", {"index_type": "MSGID"})
    repository.clear("ORDERS")
    repository.alter("QLOCAL", "ORDERS", {"index_type": "MSGID"})

    assert definition_of(group, "ORDERS").index_type == "MSGID"


def test_delete_is_refused_while_open_not_empty_or_uncommitted(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    repository, connection = group.repository("QM1"), group.connect()
    queue = connection.open("ORDERS", BOTH)

    with refused(MQRC.OBJECT_IN_USE):
        repository.delete("QLOCAL", "ORDERS", purge=True)
    queue.put(b"x", options=PutOption.SYNCPOINT)
    queue.close()
    for purge in (False, True):
        with refused(MQRC.Q_NOT_EMPTY):
            repository.delete("QLOCAL", "ORDERS", purge=purge)
    with refused(MQRC.Q_NOT_EMPTY):
        repository.clear("ORDERS")
    connection.commit()
    with refused(MQRC.Q_NOT_EMPTY):
        repository.delete("QLOCAL", "ORDERS")
    repository.delete("QLOCAL", "ORDERS", purge=True)

    assert repository.lookup("ORDERS") is None
    with refused(MQRC.UNKNOWN_OBJECT_NAME):
        repository.delete("QLOCAL", "ORDERS")


def test_clear_and_purge_leave_no_body_index_or_expiry(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection, repository, client = group.connect(), group.repository("QM1"), group.group.client()
    keys = group.group.structure("APPL1")
    for end in (partial(repository.clear, "ORDERS"), partial(repository.delete, "QLOCAL", "ORDERS", purge=True)):
        with connection.open("ORDERS", OpenOption.OUTPUT) as queue:
            for number in range(450):
                queue.put(b"x", MQMD(correl_id=b"%024d" % number, expiry=36_000))
        end()
        assert client.hlen(keys.messages) == 0
        assert client.zcard(keys.expiry) == 0
        assert not client.exists(keys.queue("ORDERS").available, keys.queue("ORDERS").index)
        assert not client.keys(f"{keys.tag}:trash*")


def test_a_clear_that_was_cut_off_is_finished_when_a_manager_starts(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection, client = group.connect(), group.group.client()
    keys = group.group.structure("APPL1")
    queue_keys = keys.queue("ORDERS")
    connection.put1("ORDERS", b"x")
    # The first of the two scripts of a clear, and nothing after it.
    reply = group.group.call(
        "structure/delete_queue",
        [
            *(keys.sequence, queue_keys.queue, queue_keys.available, queue_keys.index, queue_keys.groups),
            *(queue_keys.waiters, queue_keys.handles, f"{keys.tag}:trash", f"{keys.tag}:trash:"),
            *(queue_keys.members, queue_keys.marks, keys.owners, keys.wake),
        ],
        ["ORDERS", "clear", "", "", ""],
    )
    assert reply[0] == 0
    assert client.hlen(keys.messages) == 1

    group.repository("QM1").prepare_manager("QM1")

    assert client.hlen(keys.messages) == 0
    assert not client.keys(f"{keys.tag}:trash*")


def test_a_define_interrupted_after_its_structure_can_be_repeated(group: TestGroup) -> None:
    group.define_shared("ORDERS", max_depth=5)
    group.group.client().hdel(group.group.keys.directory, "S ORDERS")
    assert group.repository("QM1").lookup("ORDERS") is None

    with refused(MQRC.OBJECT_ALREADY_EXISTS):
        group.define_shared("ORDERS", max_depth=5)

    assert definition_of(group, "ORDERS").max_depth == 5


def test_an_interrupted_delete_is_completed_by_a_repetition_or_a_define(group: TestGroup) -> None:
    client = group.group.client()
    delete = partial(group.repository("QM1").delete, "QLOCAL", "ORDERS")
    for repeat in (delete, partial(group.define_shared, "ORDERS")):
        group.repository("QM1").define(QueueLocal(name="ORDERS", disposition="SHARED", structure="APPL1"), replace=True)
        client.delete(group.group.structure("APPL1").queue("ORDERS").queue)
        repeat()
    assert definition_of(group, "ORDERS").name == "ORDERS"


def test_commands_at_the_same_time_lose_no_change(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    changes: list[dict[str, Any]] = [
        {"max_depth": 77},
        {"description": "both"},
        {"def_priority": 3},
        {"usage": "XMITQ"},
    ]
    threads = [
        threading.Thread(target=partial(group.repository("QM1").alter, "QLOCAL", "ORDERS", one)) for one in changes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    altered = definition_of(group, "ORDERS")
    assert (altered.max_depth, altered.description) == (77, "both")
    assert (altered.def_priority, altered.usage) == (3, "XMITQ")


@pytest.mark.parametrize("command", ["alter", "delete", "replace"])
def test_a_put_through_an_alias_that_changed_fails_with_object_changed(group: TestGroup, command: str) -> None:
    group.define_shared("OLD")
    group.define_shared("NEW")
    group.define("QM1", QueueAlias(name="ALIAS", target="OLD"))
    repository = group.repository("QM1")
    queue = group.connect().open("ALIAS", OpenOption.OUTPUT)
    queue.put(b"by the old route")

    if command == "alter":
        repository.alter("QALIAS", "ALIAS", {"target": "NEW"})
    elif command == "replace":
        repository.define(QueueAlias(name="ALIAS", target="NEW"), replace=True)
    else:
        repository.delete("QALIAS", "ALIAS")

    with refused(MQRC.OBJECT_CHANGED):
        queue.put(b"too late")
    assert repository.queue_status("OLD").depth == 1


@pytest.mark.rule("mqi/open", "A blank DynamicQName, or one with a misplaced asterisk, is 2011.")
def test_dynamic_queues_are_made_from_models_and_deleted_by_name(group: TestGroup) -> None:
    repository = group.repository("QM1")
    shared = QueueModel(name="M", definition_type="SHAREDYN", structure="APPL1", max_depth=9)
    private = QueueModel(name="P", definition_type="TEMPDYN")

    first = repository.create_dynamic(shared, "REPLY.*")
    second = repository.create_dynamic(shared, "REPLY.*")
    third = repository.create_dynamic(private, "MINE")

    assert first.name != second.name
    assert first.name.startswith("REPLY.")
    assert (first.structure, third.structure) == ("APPL1", "@QM1")
    assert definition_of(group, first.name).definition_type == "SHAREDYN"
    assert definition_of(group, first.name).max_depth == 9
    with refused(MQRC.OBJECT_ALREADY_EXISTS):
        repository.create_dynamic(private, "MINE")
    for name in ("NOT A NAME", "", "X" * 33 + "*", "X*Y"):
        with refused(MQRC.DYNAMIC_Q_NAME_ERROR):
            repository.create_dynamic(private, name)
    assert len(repository.create_dynamic(private, "X" * 32 + "*").name) == 48
    repository.delete("QLOCAL", first.name)
    assert repository.lookup(first.name) is None


def test_display_shows_what_is_meant_and_counts_it(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_shared("A.SHARED")
    group.define_private("QM1", "A.PRIVATE")
    group.define_private("QM2", "A.OTHERS")
    group.define("QM1", QueueRemote(name="A.REMOTE", remote_queue="X", remote_qmgr="QM2"))
    connection = group.connect()
    connection.put1("A.SHARED", b"x")
    connection.open("A.SHARED", BOTH).put(b"y", options=PutOption.SYNCPOINT)
    repository = group.repository("QM1")

    def names(*args: Any) -> list[str]:
        return [queue.name for queue in repository.display_queues(*args)]

    assert names("A.*") == ["A.PRIVATE", "A.REMOTE", "A.SHARED"]
    assert names("A.*", ("QLOCAL",)) == ["A.PRIVATE", "A.SHARED"]
    assert names("A.*", (), "SHARED") == ["A.SHARED"]
    assert names("A.*", (), "PRIVATE") == ["A.PRIVATE", "A.REMOTE"]
    assert names("A.SHARE") == []
    (shown,) = repository.display_queues("A.SHARED")
    assert shown.state == QueueState(available=1, uncommitted_puts=1, open_input=1, open_output=1, handles=1)
    assert (shown.state.depth, shown.state.uncommitted) == (2, 1)
    assert [each.name for each in repository.display_queues("A.O*", every_manager=True)] == ["A.OTHERS"]
    left = repository.display_queues("A.*", without=("A.SHARED", "A.REMOTE"))
    assert [each.name for each in left] == ["A.PRIVATE"]


def test_the_open_handles_of_a_queue_can_be_seen(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    connection.open("ORDERS", OpenOption.INPUT_EXCLUSIVE | OpenOption.OUTPUT)

    (queue,) = group.repository("QM1").display_queues("ORDERS")
    (handle,) = group.repository("QM1").queue_handles(queue)

    assert handle.owner.startswith(connection.connection.token)
    assert set(handle.mode) == {"X", "O"}
