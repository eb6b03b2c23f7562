"""MQXCNVC, as IBM documents its options, lengths and reasons."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedq import verbs
from sharedq.mqi.character_sets import CODECS
from sharedq.mqi.constants import MQCC, MQRC, ConversionOption
from tests.support.examples import examples

FILL = int(ConversionOption.FILL_TARGET_BUFFER)
DEFAULT = int(ConversionOption.DEFAULT_CONVERSION)
FROM_NORMAL, FROM_REVERSED = int(ConversionOption.SOURCE_ENC_NORMAL), int(ConversionOption.SOURCE_ENC_REVERSED)
TO_NORMAL, TO_REVERSED = int(ConversionOption.TARGET_ENC_NORMAL), int(ConversionOption.TARGET_ENC_REVERSED)
OK = (MQCC.OK, MQRC.NONE)
TOO_BIG = (MQCC.WARNING, MQRC.CONVERTED_MSG_TOO_BIG)


@pytest.mark.parametrize(
    ("options", "source_ccsid", "source", "target_ccsid", "length", "target", "codes"),
    [
        (0, 819, b"Z\xfcrich", 500, 100, b"\xe9\xdc\x99\x89\x83\x88", OK),
        (DEFAULT, 819, b"A", 500, 1, b"\xc1", OK),
        (0, 819, b"", 500, 0, b"", OK),
        (0, 819, b"\xfc\xfc", 1208, 4, b"\xc3\xbc\xc3\xbc", OK),
        (0, 819, b"\xfc\xfc", 1208, 3, b"\xc3\xbc", TOO_BIG),
        (0, 819, b"A ", 500, 1, b"\xc1", TOO_BIG),
        (FILL, 819, b"A", 500, 3, b"\xc1\x40\x40", OK),
        (FILL, 819, b"A  ", 500, 1, b"\xc1", OK),
        (FILL, 819, b"A\0xyz", 500, 2, b"\xc1\x00", OK),
        (FILL, 819, b"A\0xyz", 500, 1, b"\xc1", TOO_BIG),
        (FILL, 819, b"AB", 500, 1, b"\xc1", TOO_BIG),
        (FILL, 819, b"\xfc\xfc", 1208, 3, b"\xc3\xbc ", TOO_BIG),
        (FILL | TO_NORMAL, 819, b"A", 1200, 4, b"\0A\0 ", OK),
        (TO_NORMAL, 819, b"A", 1200, 9, b"\0A", OK),
        (TO_REVERSED, 819, b"A", 13488, 9, b"A\0", OK),
        (FROM_NORMAL | TO_REVERSED, 1200, b"\0A", 1200, 9, b"A\0", OK),
        (FROM_REVERSED, 17584, b"\xac\x20", 1140, 9, b"\x9f", OK),
    ],
)
@pytest.mark.rule(
    "mqi/conversion", "MQXCNVC converts characters, and fills the buffer if MQDCC_FILL_TARGET_BUFFER asks."
)
def test_characters_are_converted(
    options: int,
    source_ccsid: int,
    source: bytes,
    target_ccsid: int,
    length: int,
    target: bytes,
    codes: tuple[MQCC, MQRC],
) -> None:
    found = verbs.mqxcnvc(None, options, source_ccsid, source, target_ccsid, length)
    assert found == (target, len(target), *codes)


@pytest.mark.rule("mqi/conversion", "MQXCNVC fails with 2046, 2111, 2112, 2115, 2116, 2119, 2143, 2144 and 2150.")
@pytest.mark.parametrize(
    ("options", "source_ccsid", "source", "target_ccsid", "length", "reason"),
    [
        (4, 819, b"A", 500, 1, MQRC.OPTIONS_ERROR),
        (-1, 819, b"A", 500, 1, MQRC.OPTIONS_ERROR),
        (FROM_NORMAL | FROM_REVERSED, 819, b"A", 500, 1, MQRC.OPTIONS_ERROR),
        (TO_NORMAL | TO_REVERSED, 819, b"A", 500, 1, MQRC.OPTIONS_ERROR),
        (0, 7, b"A", 500, 1, MQRC.SOURCE_CCSID_ERROR),
        (0, 819, b"A", 7, 1, MQRC.TARGET_CCSID_ERROR),
        (TO_NORMAL, 1200, b"\0A", 500, 1, MQRC.SOURCE_INTEGER_ENC_ERROR),
        (FROM_NORMAL, 819, b"A", 1200, 1, MQRC.TARGET_INTEGER_ENC_ERROR),
        (FROM_NORMAL, 1200, b"\0A\0", 500, 1, MQRC.SOURCE_LENGTH_ERROR),
        (0, 819, b"A", 500, -1, MQRC.TARGET_LENGTH_ERROR),
        (FILL | TO_NORMAL, 819, b"A", 1200, 3, MQRC.TARGET_LENGTH_ERROR),
        (0, 1208, b"\xff", 500, 1, MQRC.DBCS_ERROR),
        (0, 943, b"\x93", 1208, 9, MQRC.DBCS_ERROR),
        (0, 1208, "日".encode(), 500, 9, MQRC.NOT_CONVERTED),
    ],
)
def test_a_call_that_fails(
    options: int, source_ccsid: int, source: bytes, target_ccsid: int, length: int, reason: MQRC
) -> None:
    found = verbs.mqxcnvc(None, options, source_ccsid, source, target_ccsid, length)
    assert found == (b"", 0, MQCC.FAILED, reason)


_CCSIDS = st.one_of(st.sampled_from([*CODECS, 1200]), st.integers(-5, 70_000))


@settings(max_examples=examples(500))
@given(st.integers(0, 0x3FF), _CCSIDS, st.binary(max_size=20), _CCSIDS, st.integers(-1, 30))
def test_any_call_keeps_to_its_buffer(options: int, source: int, data: bytes, target: int, length: int) -> None:
    found, told, comp_code, reason = verbs.mqxcnvc(None, options, source, data, target, length)
    assert told == len(found)
    assert (comp_code, reason) in (OK, TOO_BIG) or (comp_code == MQCC.FAILED and reason and not found)
    if comp_code != MQCC.FAILED:
        assert len(found) <= length
        assert not options & FILL or len(found) == length
