"""Frames that break a rule end their own connection, with a clear error, and no other."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from igq.channels.frames import CLIENT_PREFACE, LENGTH_BEFORE_CONNECT, PREFACE_LENGTH, SERVER_PREFACE, Verb, packed
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

pytestmark = pytest.mark.share
Connect = Callable[[], RawClient]
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
BROKEN = [
    (struct.pack("<I", 3), "at least 8"),
    (struct.pack("<I", 0xFFFFFFFF), "at most"),
    (packed(1_000, 77), "no verb 77"),
    (packed(1, Verb.CMIT), "comes after"),
    (struct.pack("<IIHHI", 12, 1_000, Verb.GET, 0, 9), "a blob of 9 bytes"),
    (packed(1_000, Verb.ENDED), "the server's"),
]


@pytest.mark.parametrize(("data", "why"), BROKEN)
def test_it_ends_its_own_connection_only(connect: Connect, group: TestGroup, data: bytes, why: str) -> None:
    broken, other = connect(), connect()
    broken.put(broken.open("Q", BOTH), b"never", int(PutOption.SYNCPOINT))
    handle = other.open("Q", BOTH)
    broken.socket.sendall(data)
    reason, text = broken.has_ended()
    assert reason == MQRC.CONNECTION_BROKEN
    assert why in text
    until(lambda: stored(group) == 0, "the unit of work is backed out")
    assert other.put(handle, b"x").numbers == (0, 0)
    assert other.get(handle).blobs[2] == b"x"


def test_another_preface_is_answered_with_ours(channel: Path) -> None:
    client = RawClient(channel)
    client.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert client.exactly(PREFACE_LENGTH) == SERVER_PREFACE
    assert "preface" in client.has_ended()[1]
    client.close()


def test_before_the_connect_frames_are_short(channel: Path) -> None:
    client = RawClient(channel)
    client.socket.sendall(CLIENT_PREFACE + struct.pack("<I", LENGTH_BEFORE_CONNECT + 1))
    client.exactly(PREFACE_LENGTH)
    assert "at most" in client.has_ended()[1]
    client.close()


def test_a_call_before_the_connect_is_refused(channel: Path) -> None:
    client = RawClient(channel)
    client.greet()
    assert client.call(Verb.CMIT).numbers == (2, MQRC.HCONN_ERROR)
    client.close()


def test_a_large_message_comes_through(connect: Connect) -> None:
    client, body = connect(), bytes(range(256)) * 8192
    handle = client.open("Q", BOTH)
    assert client.put(handle, body).numbers == (0, 0)
    assert client.get(handle, room=len(body)).blobs[2] == body
