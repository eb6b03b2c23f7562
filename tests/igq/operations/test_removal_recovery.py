"""`igq group remove` and a structure that is lost: what RECOVER CFSTRUCT brings back for it is not lost over it.

Of a removal and a recovery one is first; the other one is refused, and can be repeated.
"""

from __future__ import annotations

from functools import partial

import pytest

from igq.agent.queues.transmit_part import TransmitPart
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.restoration import recover
from sharedq.admin.member_removal import RemovalRefusedError, remove_member
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.objects.store.failures import failures
from sharedq.objects.store.structures import holder_field
from tests.support.backups import lose, mqsc
from tests.support.members import TestGroup
from tests.support.removals import (
    EACH,
    EACH_REFUSED,
    attempts,
    gone,
    interrupted,
    killed_after,
    outcome,
    parts,
    send_on_its_way,
    start,
    stop,
    traces,
)

#: Scripts of a recovery that change something, if one message is to be restored.
RECOVERY = (
    "admin/restore_begin",
    "structure/restore_begin",
    "structure/restore",
    "structure/restore_end",
    "admin/structure_state",
    "structure/set_partition",
)
HAS_FAILED = "structure APPL1 has failed, and what it had for QM2 may come back: RECOVER CFSTRUCT(APPL1)"
SENT = [b"on its way"]


@pytest.fixture
def sent(down: TestGroup) -> TestGroup:
    """A message for QM2 is on its part in APPL1, and in the backup."""
    send_on_its_way(down)
    backup(down.group, "APPL1")
    return down


@pytest.fixture
def taken(sent: TestGroup) -> TestGroup:
    """The message is in the backup, and QM2 has got it since."""
    assert received(sent) == SENT
    return sent


def remove(group: TestGroup) -> str:
    return outcome(lambda: remove_member(group.group, "QM2"))


def received(group: TestGroup) -> list[bytes]:
    """Start QM2, take the messages for it from all its parts, as its agent does, and stop it."""
    membership, found = start(group), list[bytes]()
    group.repository("QM2").make_transmit_parts("QM2")
    connection = group.connect("QM2")
    for part in parts(group):
        queue = TransmitPart(connection.connection, part)
        while taken := queue.take():
            found += [message.body for message in taken]
            connection.commit()
    assert connection.disconnect() == MQRC.NONE
    stop(group, membership)
    return found


def recovered(group: TestGroup) -> str:
    """The reasons against it."""
    try:
        recover(group.group, "APPL1")
    except BackupError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("is_known", [False, True])
def test_while_a_structure_has_failed_nothing_is_removed(sent: TestGroup, is_known: bool) -> None:
    lose(sent)
    if is_known:
        assert "MQRC_CF_STRUC_FAILED" in outcome(lambda: sent.connect("QM1").put1("SHARED", b"x"))
    for _ in range(2):
        assert remove(sent).startswith(HAS_FAILED)

    assert recovered(sent) == ""
    assert "has messages (1)" in remove(sent)
    assert received(sent) == SENT


@pytest.mark.parametrize("scripts", EACH_REFUSED)
def test_lost_before_this_script_what_was_sent_comes_back(sent: TestGroup, scripts: int) -> None:
    """The removal is refused, whether it meets the messages or the loss."""

    def fail() -> str:
        lose(sent)
        return ""

    refusal, _ = interrupted(sent, scripts, fail)

    assert "for QM2 has messages" in refusal or refusal.startswith(HAS_FAILED)
    assert remove(sent).startswith(HAS_FAILED)
    assert recovered(sent) == ""
    assert received(sent) == SENT


@pytest.mark.parametrize("scripts", EACH)
def test_lost_and_recovered_before_this_script_of_a_removal(taken: TestGroup, scripts: int) -> None:
    def fail() -> str:
        lose(taken)
        return recovered(taken)

    refusal, other = interrupted(taken, scripts, fail)

    if scripts == 1:
        assert ("has messages (1)" in refusal, other) == (True, "")
        assert received(taken) == SENT
        return
    assert "queue manager QM2 is being removed" in other
    assert (refusal == "") == gone(taken)
    assert refusal == "" or refusal.startswith(HAS_FAILED)
    # No removal is under way now, so it works. Messages that a removed member had got before do not come again.
    assert recovered(taken) == ""
    assert received(taken) == ([] if refusal == "" else SENT)


@pytest.mark.parametrize("script", RECOVERY)
@pytest.mark.parametrize("is_for_qm2", [True, False])
def test_removed_before_this_script_of_a_recovery(down: TestGroup, script: str, is_for_qm2: bool) -> None:
    if is_for_qm2:
        send_on_its_way(down)
    backup(down.group, "APPL1")
    lose(down)
    recoverer, names, refusals = Group(down.settings), list[str](), list[str]()

    def before(_: int, name: str) -> None:
        if name == script and name not in names:
            refusals.append(remove(down))
        names.append(name)

    attempts(recoverer, before, after=False)
    recover(recoverer, "APPL1")
    recoverer.leave()

    # The first reads, the second tells the members.
    others = ("structure/queue_states", "admin/tell_news")
    assert [name for name in dict.fromkeys(names) if name not in others][: len(RECOVERY)] == [*RECOVERY]
    (refusal,) = refusals
    if script not in RECOVERY[RECOVERY.index("structure/restore_end") + 1 :]:
        assert refusal.startswith(HAS_FAILED)
    else:
        assert ("for QM2 has messages" in refusal) if is_for_qm2 else refusal == ""
    assert gone(down) == (refusal == "")
    # The present owner of that name finds the messages for it, and nothing else.
    assert received(down) == (SENT if is_for_qm2 else [])


@pytest.mark.parametrize("scripts", EACH)
def test_killed_after_this_script_and_lost_both_can_be_completed(taken: TestGroup, scripts: int) -> None:
    assert killed_after(taken, scripts)
    is_gone = gone(taken)
    lose(taken)

    said = recovered(taken)

    assert (said == "") == is_gone
    if not is_gone:
        assert "is being removed, repeat igq group remove QM2 first" in said
        refusal = remove(taken)
        assert refusal.startswith(HAS_FAILED) != gone(taken)
        assert recovered(taken) == ""
        assert received(taken) == ([] if refusal == "" else SENT)


@pytest.mark.parametrize("scripts", EACH_REFUSED)
def test_killed_while_it_is_refused_and_lost_what_was_sent_comes_back(sent: TestGroup, scripts: int) -> None:
    assert killed_after(sent, scripts)
    lose(sent)

    assert remove(sent).startswith(HAS_FAILED)
    assert recovered(sent) == ""
    assert received(sent) == SENT


def test_while_it_is_being_recovered(sent: TestGroup) -> None:
    """Also if a program took it for a usable structure."""
    lose(sent)
    remover = Group(sent.settings)
    keys = sent.group.structure("APPL1")

    def begin(_: int, name: str) -> None:
        if name == "structure/shut_queue":
            sent.group.client().hset(keys.versions, "RECOVER", "another")

    sent.group.client().incr(keys.sequence)
    attempts(remover, begin, after=False)
    with pytest.raises(RemovalRefusedError, match=r"^structure APPL1 has failed"):
        remove_member(remover, "QM2")
    remover.leave()
    member = sent.group.member("QM2")
    assert member is not None
    assert not member.is_leaving


def test_unused_deleted_and_empty_objects_are_no_obstacle(down: TestGroup) -> None:
    """Nothing in these can come back."""
    assert mqsc(down, "DEFINE CFSTRUCT(EMPTY)\nDEFINE CFSTRUCT(DELETED)\nDEFINE CFSTRUCT(CLEARED)\n")[0] == 0
    for name in ("DELETED", "CLEARED"):
        define = f"DEFINE QLOCAL({name}) QSGDISP(SHARED) CFSTRUCT({name})\n"
        assert mqsc(down, define)[0] == 0
        lose(down, name)
        assert "MQRC_CF_STRUC_FAILED" in outcome(partial(down.connect("QM1").put1, name, b"x"))
        assert mqsc(down, f"DELETE QLOCAL({name})\n")[0] == 0
        assert failures(down.group)[name].is_failed
    assert mqsc(down, "DELETE CFSTRUCT(DELETED)\n")[0] == 0

    assert remove(down) == ""
    # The place of the keys of a deleted structure is unknown.
    assert [each for each in traces(down) if "}:q:" in each.split()[0] and ":DELETED}" not in each] == []
    for name in ("EMPTY", "CLEARED"):
        versions = down.group.structure(name).versions
        assert not down.group.client().hexists(versions, holder_field("QM2"))


def test_its_own_structure_that_is_lost_is_no_obstacle(down: TestGroup) -> None:
    """There can be no backup of it."""
    lose(down, "@QM2")

    assert remove(down) == ""
    assert gone(down)


def test_a_missing_part_is_made_only_when_it_is_opened(down: TestGroup) -> None:
    """A recovery that reaches it late does this."""
    keys = down.group.structure("APPL1")
    (part,) = [place.queue for place in parts(down) if place.structure == "APPL1"]
    down.group.client().delete(keys.queue(part).queue)
    start_parts = down.repository("QM1").make_transmit_parts

    def make() -> str:
        start_parts("QM2")
        return ""

    killed_after(down, 4)
    make()
    is_shut = down.group.client().hexists(keys.queue(part).queue, "shut")
    assert is_shut != any(place.structure == "APPL1" for place in parts(down))
    assert remove(down) == ""
    start(down)
    assert "APPL1" in {place.structure for place in down.repository("QM2").make_transmit_parts("QM2")}
