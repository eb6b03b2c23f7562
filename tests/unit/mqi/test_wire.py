"""Layouts: IBM's lengths and offsets, and a round trip without loss."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.mqi.headers import MQDLH, MQMDE, MQTM, MQXQH
from sharedq.mqi.structures import MQCNO, MQMD, MQPMO

LENGTHS: list[tuple[wire.StructureLayout[Any], dict[int, int]]] = [
    (wire.MD, {1: 324, 2: 364}),
    (wire.GMO, {1: 72, 2: 80, 3: 100, 4: 112}),
    (wire.PMO, {1: 128, 2: 160, 3: 184}),
    (wire.OD, {1: 168, 2: 208, 3: 344, 4: 424}),
    (wire.CNO, {1: 12, 2: 24, 3: 152, 4: 168, 5: 200}),
    (wire.DLH, {1: 172}),
    (wire.MDE, {2: 72}),
    (wire.TM, {1: 684}),
    (wire.SD, {1: 344}),
    (wire.SRO, {1: 16}),
    (wire.RFH2, {2: 36}),
    (wire.IMPO, {1: 64}),
    (wire.PD, {1: 24}),
]
VERSIONS = [(layout, version) for layout, lengths in LENGTHS for version in lengths]


Change = Callable[[bytes], bytes]


def changes() -> st.SearchStrategy[Change]:
    """Damage to a structure on its way: numbers of any size at any place, and any length."""
    numbers = st.one_of(st.sampled_from([0, -1, 1, 2, 3, 2**31 - 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1))
    written = st.lists(st.tuples(st.integers(0, 110), st.sampled_from("<>"), numbers), max_size=3)
    return st.tuples(written, st.one_of(st.none(), st.integers(0, 800))).map(lambda drawn: partial(_changed, *drawn))


def _changed(written: list[tuple[int, str, int]], length: int | None, data: bytes) -> bytes:
    changed = bytearray(data)
    for field, order, number in written:
        if field * 4 + 4 <= len(changed):
            struct.pack_into(f"{order}i", changed, field * 4, number)
    return bytes(changed if length is None else changed.ljust(length, b"\0")[:length])


def values_of(kind: str) -> st.SearchStrategy[int | bytes]:
    if kind == "i":
        return st.integers(-(2**31), 2**31 - 1)
    if kind == "q":
        return st.integers(-(2**63), 2**63 - 1)
    size = int(kind[1:])
    if kind == "c1":
        return st.sampled_from([b" ", b"G", b"L"])
    if kind[0] == "c":
        return st.binary(max_size=size).map(lambda value: value.rstrip(b" \0"))
    return st.binary(min_size=size, max_size=size)


def structures(layout: wire.StructureLayout[Any], version: int) -> st.SearchStrategy[Any]:
    """Structures with any value in every field that this version has."""
    named = {name: values_of(kind) for name, kind, *_ in list(layout.places(version))[2:] if name}
    if layout.length_field:
        named[layout.length_field] = st.just(layout.length(version))
    return st.fixed_dictionaries(named).map(lambda values: layout.structure(version=version, **values))


@pytest.mark.parametrize(("layout", "lengths"), LENGTHS)
def test_lengths_are_ibms(layout: wire.StructureLayout[Any], lengths: dict[int, int]) -> None:
    assert {version: layout.length(version) for version in lengths} == lengths
    assert len(layout.pack(layout.structure(version=max(lengths)))) == lengths[max(lengths)]


@given(st.data())
@pytest.mark.parametrize(("layout", "version"), VERSIONS)
def test_structures_survive_packing(layout: wire.StructureLayout[Any], version: int, data: st.DataObject) -> None:
    value = data.draw(structures(layout, version))

    packed = layout.pack(value)

    assert len(packed) == layout.length(version)
    assert layout.unpack(packed + b"data after it") == value


@given(structures(wire.MD, 1))
def test_transmission_header_carries_a_version_1_descriptor(md: MQMD) -> None:
    header = MQXQH(remote_q_name=b"DEPARTURES", remote_q_mgr_name=b"JFK", msg_desc=md)

    packed = wire.pack_xqh(header)

    assert len(packed) == wire.XQH_LENGTH == 428
    assert wire.unpack_xqh(packed) == header


@pytest.mark.parametrize("length", [-1, 0, 40, 71, 73, 76, 200, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("order", ["<", ">"])
def test_an_extension_of_another_length_is_refused(length: int, order: str) -> None:
    packed = bytearray(wire.MDE.pack(MQMDE()) if order == "<" else other_way_round(wire.MDE, 2, wire.MDE.pack(MQMDE())))
    struct.pack_into(f"{order}i", packed, 8, length)
    with pytest.raises(MQIError) as caught:
        wire.MDE.unpack(bytes(packed) + bytes(200), may_be_foreign=True)
    assert caught.value.reason == MQRC.MDE_ERROR


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [0, 2, -1, 3])
def test_a_descriptor_in_a_transmission_header_is_of_version_1(version: int, order: str) -> None:
    packed = bytearray(wire.pack_xqh(MQXQH()))
    struct.pack_into(f"{order}i", packed, 108, version)
    with pytest.raises(MQIError) as caught:
        wire.unpack_xqh(bytes(packed) + bytes(200))
    assert caught.value.reason == MQRC.MD_ERROR


READERS = [
    (wire.unpack_xqh, wire.pack_xqh(MQXQH()), {MQRC.XQH_ERROR, MQRC.MD_ERROR}),
    (partial(wire.MDE.unpack, may_be_foreign=True), wire.MDE.pack(MQMDE()), {MQRC.MDE_ERROR}),
    (partial(wire.DLH.unpack, may_be_foreign=True), wire.DLH.pack(MQDLH()), {MQRC.DLH_ERROR}),
    (partial(wire.TM.unpack, may_be_foreign=True), wire.TM.pack(MQTM()), {MQRC.TM_ERROR}),
    (partial(wire.MD.unpack, may_be_foreign=True), wire.MD.pack(MQMD()), {MQRC.MD_ERROR}),
]


@given(changes=changes())
@pytest.mark.parametrize(("read", "good", "reasons"), READERS)
def test_any_bytes_are_read_or_refused_with_the_reason_of_theirstructure(
    read: Callable[[bytes], Any], good: bytes, reasons: set[MQRC], changes: Change
) -> None:
    try:
        read(changes(good))
    except MQIError as error:
        assert error.reason in reasons  # noqa: PT017 - it may be read, too


def other_way_round(layout: wire.StructureLayout[Any], version: int, data: bytes) -> bytes:
    """The structure *data* as a big-endian machine writes it."""
    changed = bytearray(data)
    for _, kind, at, size in layout.places(version):
        if kind in "iqP":
            changed[at : at + size] = data[at : at + size][::-1]
    return bytes(changed)


@given(data=st.data())
@pytest.mark.parametrize(("layout", "version"), VERSIONS)
def test_structures_of_other_machines_are_read_where_that_is_asked_for(
    layout: wire.StructureLayout[Any], version: int, data: st.DataObject
) -> None:
    value = data.draw(structures(layout, version))
    there = other_way_round(layout, version, layout.pack(value))

    assert layout.unpack(there, may_be_foreign=True) == value
    assert layout.unpack(layout.pack(value), may_be_foreign=True) == value
    with pytest.raises(MQIError):
        layout.unpack(there)
    with pytest.raises(MQIError):
        layout.unpack(there[:-1], may_be_foreign=True)


@given(structures(wire.MD, 1))
def test_a_transmission_header_of_another_machine_is_read(md: MQMD) -> None:
    header = MQXQH(remote_q_name=b"DEPARTURES", remote_q_mgr_name=b"JFK", msg_desc=md)
    front, descriptor = wire.pack_xqh(header)[:104], wire.MD.pack(md)

    there = front[:4] + front[7:3:-1] + front[8:] + other_way_round(wire.MD, 1, descriptor)

    assert wire.unpack_xqh(there + b"data after it") == header


def test_fields_are_where_ibm_has_them() -> None:
    """Offsets within MQMD, MQCNO and MQPMO, counted in IBM's C declarations."""
    md = wire.MD.pack(MQMD(version=2, msg_id=b"m" * 24, correl_id=b"c" * 24, group_id=b"g" * 24, offset=7))
    cno = wire.CNO.pack(MQCNO(version=5, conn_tag=b"t" * 128, connection_id=b"i" * 24))
    pmo = wire.PMO.pack(MQPMO(version=3, pub_level=4))

    assert (md[:4], md[32:40], md[48:72], md[72:96], md[324:348]) == (
        b"MD  ",
        b" " * 8,
        b"m" * 24,
        b"c" * 24,
        b"g" * 24,
    )
    assert struct.unpack_from("<i", md, 352) == (7,)
    assert (cno[24:152], cno[164:188]) == (b"t" * 128, b"i" * 24)
    assert struct.unpack_from("<i", pmo, 180) == (4,)


def test_every_field_of_the_descriptor_is_on_the_wire() -> None:
    assert [name for name, *_ in wire.MD.places(2)] == ["struc_id", *(field.name for field in fields(MQMD))]


@pytest.mark.parametrize(
    "layout", [layout for layout in vars(wire).values() if isinstance(layout, wire.StructureLayout)]
)
def test_a_version_ends_where_one_of_its_fields_or_its_padding_ends(layout: wire.StructureLayout[Any]) -> None:
    for version in layout.versions:
        *_, at, size = list(layout.places(version))[-1]
        assert 0 <= layout.length(version) - at - size < 8
    assert [field.kind for field in layout.fields] == [kind for _, kind, *_ in layout.places(max(layout.versions))]


def test_masks_with_the_top_bit_set_become_negative_as_in_c() -> None:
    assert wire.MD.unpack(wire.MD.pack(MQMD(report=0x8000_0001))).report == 0x8000_0001 - 2**32


@pytest.mark.parametrize(
    ("md", "told"),
    [
        (MQMD(report=2**32), "report=4294967296"),
        (MQMD(offset=-(2**31) - 1, version=2), "offset=-2147483649"),
        (MQMD(format=b"TOO LONG."), "format has 9 bytes"),
        (MQMD(msg_id=b"x" * 25), "msg_id has 25 bytes"),
        (MQMD(version=3), "version 3"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(md: MQMD, told: str) -> None:
    with pytest.raises(MQIError, match=told) as caught:
        wire.MD.pack(md)

    assert caught.value.reason == MQRC.MD_ERROR


@pytest.mark.parametrize("data", [b"", b"MD  \1\0", b"XX  " + bytes(400), b"MD  " + bytes(400)])
def test_bytes_that_are_no_descriptor_are_refused(data: bytes) -> None:
    with pytest.raises(MQIError) as caught:
        wire.MD.unpack(data)

    assert caught.value.reason == MQRC.MD_ERROR


def test_bytes_cut_short_are_refused() -> None:
    whole = wire.MD.pack(MQMD())

    with pytest.raises(MQIError, match="323 bytes, needs 324"):
        wire.MD.unpack(whole[:-1])
