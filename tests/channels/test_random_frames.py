"""Random requests: each is answered, or ends its own connection with a reason; the server and other clients go on.

TESTS_FRAMES says how many are sent: a million in a long run.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable
from contextlib import suppress

import pytest

from igq.channels.frames import Verb, packed
from sharedq.mqi import structures, wire
from sharedq.mqi.constants import MQRC, OpenOption
from tests.support.accounts import account
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import until

FRAMES = int(os.environ.get("TESTS_FRAMES", "400"))
SEEDS = range(4)
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE)
#: Verbs that a program calls. The connect is made before.
CALLS = [verb for verb in Verb if verb not in (Verb.CONNX, Verb.CANCEL, Verb.HEARTBEAT, Verb.EVENT, Verb.ENDED)]
LAYOUTS = ("MD", "GMO", "PMO", "OD", "SD", "SRO", "STS", "CMHO", "DMHO", "SMPO", "IMPO", "PD", "DMPO", "BMHO", "MHBO")
VALID = [
    getattr(wire, name).pack(getattr(structures, f"MQ{name}")())
    for name in LAYOUTS
    if hasattr(wire, name) and hasattr(structures, f"MQ{name}")
]
VALID += [
    struct.pack("<4siiiqq128sii", b"CBD ", 1, 1, 0, 0, 1, b"", -1, 0),
    struct.pack("<4siiiq", b"CTLO", 1, 0, 0, 0),
    b"Q".ljust(48),
    b"some/topic",
    struct.pack("<3i", 3, 2016, 20),
    bytes(8),
    struct.pack("<q", 1),
]


def blob(chance: random.Random) -> bytes:
    """A valid structure, one that is changed somewhere, or any bytes."""
    kind = chance.random()
    if kind < 0.1:
        return chance.randbytes(chance.choice([0, 1, 4, 8, 40, 500]))
    data = bytearray(chance.choice(VALID))
    for _ in range(0 if kind < 0.5 else chance.randrange(1, 6)):
        if data:
            data[chance.randrange(len(data))] = chance.choice([0, 1, 2, 4, 8, 32, 128, 255, chance.randrange(256)])
    return bytes(data[: chance.randrange(len(data) + 1)] if kind > 0.95 else data)


def number(chance: random.Random) -> int:
    return chance.choice([0, 1, 2, 3, 4, -1, 8, 32, 100, 256, 65_536, 2**31 - 1, -(2**31), chance.randrange(1 << 16)])


def answered(client: RawClient, id_: int) -> bool:
    """Read until a request is answered; events are answered on the way. False: the server has ended the connection."""
    with suppress(BrokenPipeError):
        # A get may wait for ever.
        client.send(Verb.CANCEL, (id_,))
    while True:
        frame = client.receive()
        if frame.verb == Verb.ENDED:
            assert frame.numbers[0] != MQRC.UNEXPECTED_ERROR, frame
            return False
        if frame.verb == Verb.EVENT:
            client.socket.sendall(packed(frame.id, Verb.EVENT))
        elif frame.id == id_:
            assert frame.numbers[0] in (0, 1, 2), frame
            return True


@pytest.mark.timeout(300 + FRAMES // 200)
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.share if seed < 1 else ()) for seed in SEEDS])
def test_each_request_is_answered(group: TestGroup, connect: Callable[[], RawClient], seed: int) -> None:
    chance = random.Random(seed)
    other = connect()
    handle = other.open("Q", BOTH)
    client: RawClient | None = None
    for _ in range(FRAMES // len(SEEDS)):
        if client is None:
            client = connect()
            client.open("Q", BOTH)
        verb = chance.choice(CALLS)
        numbers = [number(chance) for _ in range(chance.randrange(6))]
        if chance.random() < 0.5:
            numbers[:1] = [1]
        with suppress(BrokenPipeError):
            client.send(verb, numbers, [blob(chance) for _ in range(chance.randrange(9))])
        if verb == Verb.PUT_ASYNC:
            continue
        if not answered(client, client.last_id) or verb == Verb.DISC:
            client.close()
            client = None
    if client is not None:
        client.close()
    while other.get(handle).numbers[0] != 2:
        pass
    assert other.put(handle, b"x").numbers == (0, 0)
    assert other.get(handle).blobs[2] == b"x"
    other.close()
    until(lambda: not account(group.group), "everything is accounted for")
