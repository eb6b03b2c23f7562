"""Requests that no program would write: each gets an answer with a reason, and none takes anything down.

FUZZ_REQUESTS sets how many there are.
"""

from __future__ import annotations

import os
import random
import struct

import pytest

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import MQRCCF, FilterOperator, PCFCommand, PCFControl, PCFType
from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFBF, MQCFGR, MQCFIF, MQCFIN, MQCFSF
from tests.support.pcf import Asked, descriptor, request

pytestmark = pytest.mark.share

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "1500"))
#: Numbers that a program might read where it expects a length, a count or a type.
NUMBERS = (0, 1, -1, 2, 3, 4, 15, 16, 17, 19, 20, 24, 36, 64, 255, 4096, 2**31 - 1, -(2**31), 1009, 2016, 3229)


def corpus() -> list[bytes]:
    """Requests of every kind, and of every structure."""
    found = [request(command) for command in PCFCommand]
    found += [request(command, {Char.Q_NAME: "F.*"}) for command in PCFCommand]
    found += [
        request(PCFCommand.CREATE_Q, {Char.Q_NAME: "F.A", Int.Q_TYPE: kind, Param.REPLACE: 1}) for kind in (1, 2, 3, 6)
    ]
    found += [
        request(PCFCommand.CHANGE_Q, {Char.Q_NAME: "F.A", Int.Q_TYPE: 1, Char.Q_DESC: "text", Int.MAX_Q_DEPTH: 9}),
        request(
            PCFCommand.INQUIRE_Q,
            {Char.Q_NAME: "F.*", Param.Q_ATTRS: [Char.Q_DESC, Int.MAX_Q_DEPTH]},
            MQCFIF(Int.MAX_Q_DEPTH, FilterOperator.LESS, 5),
        ),
        request(PCFCommand.INQUIRE_Q, {Char.Q_NAME: "F.*"}, MQCFSF(Char.Q_DESC, FilterOperator.LIKE, b"a*")),
        request(PCFCommand.INQUIRE_Q, {Char.Q_NAME: "F.*"}, MQCFBF(Param.CONN_TAG, FilterOperator.EQUAL, b"a")),
        request(PCFCommand.INQUIRE_Q, {Char.Q_NAME: "F.*"}, MQCFGR(8001, (MQCFIN(1, 2), MQCFGR(8002)))),
        request(PCFCommand.INQUIRE_CONNECTION, {Param.GENERIC_CONNECTION_ID: b""}),
        request(PCFCommand.INQUIRE_Q_STATUS, {Char.Q_NAME: "F.*", Param.Q_STATUS_TYPE: Param.Q_HANDLE}),
        request(PCFCommand.INQUIRE_Q_MGR, {Param.COMMAND_SCOPE: "*"}, kind=PCFType.COMMAND),
        request(PCFCommand.SET_AUTH_REC, {Param.AUTH_PROFILE_NAME: "F.*", Param.PRINCIPAL_ENTITY_NAMES: ["a", "b"]}),
    ]
    return found


def mutated(generator: random.Random, body: bytes, other: bytes) -> bytes:
    data = bytearray(body)
    for _ in range(generator.randint(1, 4)):
        place = generator.randrange(0, max(4, len(data)), 4)
        match generator.randrange(6):
            case 0 | 1:
                data[place : place + 4] = struct.pack("<i", generator.choice(NUMBERS))
            case 2:
                data[generator.randrange(max(1, len(data))) : place] = b""
            case 3:
                data[place:place] = generator.randbytes(generator.randint(1, 24))
            case 4:
                data = data[: generator.randint(0, len(data))]
            case _:
                data[place:] = other[generator.randrange(0, len(other), 4) :]
        data = data or bytearray(1)
    return bytes(data)


@pytest.mark.slow
def test_every_request_is_answered(asked: Asked) -> None:
    generator, requests = random.Random(38), corpus()
    unexpected: list[bytes] = []
    for number in range(REQUESTS):
        body = mutated(generator, generator.choice(requests), generator.choice(requests))
        encoding, ccsid = generator.choice([(0x222, 1208)] * 8 + [(785, 500), (0x222, 99_999), (0x999, 1208)])
        form = generator.choice([b"MQADMIN "] * 9 + [b"MQSTR   "])
        done = asked.processor.process(descriptor(encoding=encoding, coded_char_set_id=ccsid, format=form), body)
        replies = [read(each) for each in done.replies]
        assert replies, number
        assert replies[-1].header.control == PCFControl.LAST
        if any(each.header.reason == MQRCCF.UNEXPECTED_ERROR for each in replies):
            unexpected.append(body)
    assert unexpected == []
