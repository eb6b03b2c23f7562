"""An alias with SPREAD whose queues are on different nodes of a Cluster, one of which dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.faults.test_cluster import BOTH, bodies, homes, spread_group
from tests.support.topologies import Cluster, until

NOWHERE = (MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE)


@pytest.mark.rule("mqi/spread", "While a node is away, messages that may go anywhere go to the queues on the others.")
def test_messages_go_on_to_the_other_nodes(tmp_path: Path) -> None:
    """Those that belong to the dead node are refused. Each acknowledged one is there afterwards, once."""
    cluster = Cluster(is_partial=True)
    group = spread_group(cluster, tmp_path)
    try:
        group.define("QM1", QueueAlias(name="ORDERS", target="SHARED", spread="PRIVATE"))
        sent: list[bytes] = []

        def put_all(bind: OpenOption, options: PutOption, tries: int) -> set[MQRC]:
            """Put, connect again after each broken connection, and return the reasons."""
            reasons, connection = set[MQRC](), group.connect()
            queue = connection.open("ORDERS", OpenOption.OUTPUT | bind)
            for number in range(tries):
                body = b"%d" % len(sent)
                try:
                    queue.put(body, MQMD(persistence=1, correl_id=b"%d" % number), options=options)
                    connection.commit()
                    sent.append(body)
                except MQIError as error:
                    reasons.add(error.reason)
                    if error.reason == MQRC.CONNECTION_BROKEN:
                        connection = group.connect()
                        queue = connection.open("ORDERS", OpenOption.OUTPUT | bind)
            return reasons

        assert put_all(OpenOption.BIND_ON_GROUP, PutOption.SYNCPOINT, 20) == set()
        node = homes(cluster, group.group.name)["APPL1"]
        node.kill()
        for options in (PutOption.SYNCPOINT, PutOption.NO_SYNCPOINT):
            before = len(sent)
            assert put_all(OpenOption.BIND_NOT_FIXED, options, 20) <= set(NOWHERE)
            assert len(sent) >= before + 18
            before = len(sent)
            assert put_all(OpenOption.BIND_ON_OPEN, options, 20) <= set(NOWHERE)
            assert len(sent) >= before + 18
            before = len(sent)
            reasons = put_all(OpenOption.BIND_ON_GROUP, options, 20)
            assert reasons <= set(NOWHERE)
            assert MQRC.CF_NOT_AVAILABLE in reasons
            assert before < len(sent) < before + 20
        node.start()
        until(cluster.is_up, "it is up")
        connection = group.connect()
        found = [body for name in ("SHARED", "PRIVATE") for body in bodies(connection.open(name, BOTH))]
        assert sorted(found, key=int) == sent
    finally:
        group.close()
        cluster.close()
