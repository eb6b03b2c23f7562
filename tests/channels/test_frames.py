"""Frames: what comes out of bytes that a client sends, in whatever pieces, and what is refused."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from igq.channels.frames import (
    BLOBS_MAX,
    CLIENT_PREFACE,
    LENGTH_BEFORE_CONNECT,
    NUMBERS_MAX,
    SERVER_IDS,
    Frame,
    FrameError,
    FrameReader,
    Verb,
    packed,
)

pytestmark = pytest.mark.share
Request = tuple[int, tuple[int, ...], tuple[bytes, ...]]
REQUESTS = st.tuples(
    st.sampled_from(list(Verb)).map(int),
    st.lists(st.integers(-(1 << 31), (1 << 31) - 1), max_size=NUMBERS_MAX).map(tuple),
    st.lists(st.binary(max_size=60), max_size=BLOBS_MAX).map(tuple),
)


def frames_of(data: bytes, cuts: list[int]) -> list[Frame]:
    """The frames that a reader makes of these bytes, cut at these places. Raises FrameError."""
    reader, found, at = FrameReader(), list[Frame](), 0
    for cut in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        reader.feed(data[at:cut])
        at = cut
        while reader.has_preface() and (frame := reader.next()) is not None:
            found.append(frame)
    return found


@given(st.lists(REQUESTS, max_size=5), st.lists(st.integers(0, 3000), max_size=5))
def test_frames_come_out_as_they_went_in(requests: list[Request], cuts: list[int]) -> None:
    sent = [Frame(number, *request) for number, request in enumerate(requests, 1)]
    assert frames_of(CLIENT_PREFACE + b"".join([packed(*frame) for frame in sent]), cuts) == sent


@given(REQUESTS, st.integers(0, 3000))
def test_a_frame_that_is_cut_off_never_comes_out(request_: Request, cut: int) -> None:
    whole = packed(1, *request_)
    assert frames_of(CLIENT_PREFACE + whole[: min(cut, len(whole) - 1)], []) == []


def test_after_the_last_id_the_ids_of_requests_begin_again() -> None:
    last = SERVER_IDS - 1
    sent = [Frame(number, int(Verb.CMIT), (), ()) for number in (1, last - 1, last, 1, 2, last, 7)]
    data = CLIENT_PREFACE + b"".join([packed(*frame) for frame in sent])
    assert frames_of(data, []) == sent
    for refused in (0, 7):
        with pytest.raises(FrameError, match=f"request {refused} comes after request"):
            frames_of(data + packed(refused, Verb.CMIT), [])


@given(st.binary(max_size=200))
def test_random_bytes_are_frames_or_are_refused(data: bytes) -> None:
    found = list[Frame]()
    with suppress(FrameError):
        found = frames_of(CLIENT_PREFACE + data, [])
    assert all(len(frame.blobs) <= BLOBS_MAX for frame in found)


@given(REQUESTS, st.integers(0, 200), st.binary(min_size=1, max_size=4))
def test_a_changed_frame_is_a_frame_or_is_refused(request_: Request, place: int, change: bytes) -> None:
    data = bytearray(packed(1, *request_))
    at = place % len(data)
    data[at : at + len(change)] = change
    with suppress(FrameError):
        frames_of(CLIENT_PREFACE + bytes(data), [])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (struct.pack("<I", 7), "at least 8"),
        (struct.pack("<I", LENGTH_BEFORE_CONNECT + 1), "at most"),
        (packed(1, 99), "no verb 99"),
        (packed(0, Verb.GET), "comes after"),
        (packed(2, Verb.GET) + packed(2, Verb.GET), "comes after"),
        (packed(1 << 31, Verb.GET), "id of the server"),
        (struct.pack("<IIHHI", 12, 1, Verb.GET, 2, 0), "do not fit"),
        (struct.pack("<IIHH", 8, 1, Verb.GET, NUMBERS_MAX + 1), "17 numbers"),
        (struct.pack("<IIHHI", 12, 1, Verb.GET, 0, 1), "a blob of 1 bytes"),
        (struct.pack("<IIHHH", 10, 1, Verb.GET, 0, 0), "are no blob"),
        (packed(1, Verb.GET, (), [b""] * (BLOBS_MAX + 1)), "more than 16 blobs"),
    ],
)
def test_a_frame_that_breaks_a_rule_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(FrameError, match=why):
        frames_of(CLIENT_PREFACE + data, [])


@pytest.mark.parametrize("preface", [b"IGQX\1\0\0\0", b"IGQC\2\0\0\0", b"GET / HTTP/1.1\r\n", b"X"])
def test_another_preface_is_refused(preface: bytes) -> None:
    with pytest.raises(FrameError, match="preface"):
        frames_of(preface, [])
