"""A member that is removed from its group, or not, and other processes in between."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from igq.errors import CommandError
from igq.manager.membership import Membership
from recovery.resolution import recover
from sharedq.admin.member_removal import RemovalRefusedError, remove_member
from sharedq.calls.handles.connect import disconnect
from sharedq.members.group import Group
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.local_queues import StoredQueue
from sharedq.objects.store.parts import Place, own_part, part_in
from sharedq.objects.system import define_system_objects
from sharedq.redis.link import Argument, Reply
from tests.support.members import TestGroup
from tests.support.scenes import contents

PUT, GET = OpenOption.OUTPUT, OpenOption.INPUT_SHARED
#: Scripts of a removal, and of one that is refused because its parts have messages.
SCRIPTS, SCRIPTS_REFUSED = 22, 36
EACH, EACH_REFUSED = range(1, SCRIPTS + 1), range(1, SCRIPTS_REFUSED + 1)


def start(group: TestGroup, qmgr: str = "QM2") -> Membership:
    """The steps of a manager's start, until it is open for business."""
    membership = Membership.join(group.group, qmgr, {"pid": os.getpid(), "host": "test"}, fail_to_wait)
    repository = group.repository(qmgr)
    repository.prepare_manager(qmgr, membership.incarnation, at_first={"igq": "ENABLED"})
    define_system_objects(repository, group.settings.default_structure)
    membership.tell(state="RUNNING")
    return membership


def fail_to_wait(seconds: float) -> None:
    raise AssertionError(f"nothing to wait for, but it waits {seconds} s")


def stop(group: TestGroup, membership: Membership) -> None:
    """Resolve its remaining work as a stop does. Then it is down."""
    if not membership.leave([]):
        connection = group.connect("QM1").connection
        assert recover(group.group, connection, membership.token, force=True, state="STOPPED").is_resolved
        disconnect(connection)


def traces(group: TestGroup, qmgr: str = "QM2") -> list[str]:
    """The places in Redis that name a manager: keys, and their contents."""
    found = []
    for key, held in contents(group).items():
        text = f"{key.decode()} {held!r}"
        if f"@{qmgr}" in key.decode() or qmgr in text:
            found.append(text)
    return found


def attempts(group: Group, act: Callable[[int, str], None], *, after: bool) -> None:
    """Let something happen before or after each script of this group object."""
    call, count = group.call, 0

    def hooked(name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        nonlocal count
        count += 1
        number = count
        if not after:
            act(number, name)
        reply = call(name, keys, args)
        if after:
            act(number, name)
        return reply

    group.call = hooked  # type: ignore[method-assign]


def killed_after(group: TestGroup, scripts: int) -> bool:
    """Remove QM2 in a process that is killed after this many scripts. Returns whether it got that far."""
    pid = os.fork()
    if pid == 0:
        try:

            def kill(number: int, _: str) -> None:
                if number == scripts:
                    os.kill(os.getpid(), signal.SIGKILL)

            attempts(group.group, kill, after=True)
            with suppress(RemovalRefusedError):
                remove_member(group.group, "QM2")
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def state_of(group: TestGroup) -> dict[bytes, object]:
    """Everything, except the numbers that attempts to remove a member use up."""
    held = contents(group)
    keys = group.group.keys
    numbers: Any = held[keys.group.encode()]
    held[keys.group.encode()] = {name: value for name, value in numbers.items() if not name.startswith(b"incarnation")}
    members: Any = held[keys.members.encode()]
    held[keys.members.encode()] = {name: json.loads(text) for name, text in members.items()}
    for key in [key for key in held if key.endswith(b":ver")]:
        versions: Any = held[key]
        kept = {name: value for name, value in versions.items() if not name.startswith(b"QMGR ")}
        held[key] = kept
        if not kept:
            del held[key]
    return held


def gone(group: TestGroup) -> bool:
    return [member.name for member in group.group.members()] == ["QM1"]


def send_on_its_way(group: TestGroup) -> None:
    """Put it on the part that a removal reaches last."""
    group.connect("QM1").put1("SHARED", b"on its way", MQMD(persistence=1), qmgr_name="QM2")


def outcome(act: Callable[[], object]) -> str:
    """The reason against it; empty if it was done."""
    try:
        act()
    except (CommandError, RemovalRefusedError, MQIError) as error:
        return str(error)
    return ""


def interrupted(group: TestGroup, scripts: int, act: Callable[[], str]) -> tuple[str, str]:
    """Remove QM2 while another process does something before that script. Returns the answer to each."""
    said: list[str] = []
    remover = Group(group.settings)

    def before(number: int, _: str) -> None:
        if number == scripts:
            said.append(act())

    attempts(remover, before, after=False)
    refusal = outcome(lambda: remove_member(remover, "QM2"))
    remover.leave()
    (other,) = said
    return refusal, other


def parts(group: TestGroup) -> dict[Place, StoredQueue]:
    """QM2's parts of the transmit queue."""
    places = [own_part("QM2"), part_in("APPL1", "QM2")]
    return Finder(group.group, "QM2", lambda: datetime.now(UTC)).queues.read_at(places)
