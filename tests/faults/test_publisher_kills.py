"""A publisher that is killed at each script leaves all copies of a publication or none; what is retained fits them."""

from __future__ import annotations

import os

import pytest

from recovery.resolution import recover
from sharedq.api import QueueManagerConnection
from sharedq.members.process import Process
from sharedq.mqi.constants import PutOption
from sharedq.session.connection import Connection
from tests.mqi.topics.scene import PROVIDED, bodies, open_input
from tests.support.injection import Injection
from tests.support.members import TestGroup

SCRIPTS = ("admin/match", "structure/put", "admin/decide", "structure/commit")


@pytest.mark.slow
@pytest.mark.invariant(3, 8)
@pytest.mark.rule("mqi/topics", "A publisher that dies leaves all copies of a publication, or none.")
@pytest.mark.parametrize("fault", ["killed before", "killed after"])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("script", SCRIPTS)
def test_all_or_none(group: TestGroup, monkeypatch: pytest.MonkeyPatch, script: str, times: int, fault: str) -> None:
    subscriber = group.connect()
    queues = []
    for structure in ("APPL1", "APPL2"):
        group.define_structure(structure)
        for number in range(2):
            group.define_shared(f"Q{structure}{number}", structure)
            queues.append(open_input(subscriber, f"Q{structure}{number}"))
            subscriber.subscribe("a/#", queue=queues[-1], options=PROVIDED)
    token = publish_and_die(group, monkeypatch, script, times, fault)
    group.group.client().zadd(group.group.keys.leases, {token: 1})
    assert recover(group.group, group.connect().connection, token).is_resolved
    found = [bodies(queue) for queue in queues]
    assert all(each == found[0] for each in found)
    assert found[0] == [b"%d" % number for number in range(1, len(found[0]) + 1)]
    assert bodies(subscriber.subscribe("a/b")) == found[0][-1:]


def publish_and_die(group: TestGroup, monkeypatch: pytest.MonkeyPatch, script: str, times: int, fault: str) -> str:
    """Publish until the fault; returns the program's token."""
    told, tells = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            process = Process.register(group.group, "QM1")
            os.write(tells, process.token.encode())
            connection = QueueManagerConnection(Connection(group.group, process, is_internal=True))
            with connection.open_topic("a/b") as topic:
                topic.publish(b"1", options=PutOption.RETAIN)
                topic.publish(b"2", options=PutOption.RETAIN)
                if times == 1:
                    Injection(script, fault).arm(monkeypatch)
                else:
                    Injection(script, "none", then=lambda: Injection(script, fault).arm(monkeypatch)).arm(monkeypatch)
                topic.publish(b"3", options=PutOption.RETAIN)
                topic.publish(b"4", options=PutOption.RETAIN)
        finally:
            os._exit(0)
    os.close(tells)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    token = os.read(told, 100).decode()
    os.close(told)
    return token
