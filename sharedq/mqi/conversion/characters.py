"""MQXCNVC: characters of one character set converted to another, into a buffer of a given length.

Source: IBM MQ reference, "MQXCNVC - Convert characters".
"""

from __future__ import annotations

from typing import Final

from sharedq.mqi.character_sets import UTF_16, CharacterSet, Representation
from sharedq.mqi.constants.options import ConversionOption
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.conversion.errors import ConversionError
from sharedq.mqi.conversion.fields import sets

_SOURCE: Final = int(ConversionOption.SOURCE_ENC_NORMAL | ConversionOption.SOURCE_ENC_REVERSED)
_TARGET: Final = int(ConversionOption.TARGET_ENC_NORMAL | ConversionOption.TARGET_ENC_REVERSED)
_FILL: Final = int(ConversionOption.FILL_TARGET_BUFFER)
_KNOWN: Final = int(ConversionOption.DEFAULT_CONVERSION) | _FILL | _SOURCE | _TARGET


def converted_characters(
    options: int, source_ccsid: int, data: bytes, target_ccsid: int, target_length: int
) -> tuple[bytes, MQRC]:
    """The contents of a target buffer of *target_length* bytes, and NONE, or 2120 if that is not all.

    Args:
        options: MQDCC_*. There are no default character sets, so that DEFAULT_CONVERSION has no effect.

    Raises:
        ConversionError: 2046; 2143 the data are no whole characters of two bytes; 2144 the target's length is negative,
            or nothing can fill it; 2111, 2112, 2115, 2116; 2150 the data are no text of their character set; 2119 the
            other one does not have their characters.
    """
    if options & ~_KNOWN or options & _SOURCE == _SOURCE or options & _TARGET == _TARGET:
        raise ConversionError(MQRC.OPTIONS_ERROR)
    if target_length < 0:
        raise ConversionError(MQRC.TARGET_LENGTH_ERROR)
    # The bits of an option are those of MQENC_INTEGER_*, further left.
    written, wanted = sets(
        Representation(source_ccsid, (options & _SOURCE) // int(ConversionOption.SOURCE_ENC_NORMAL)),
        Representation(target_ccsid, (options & _TARGET) // int(ConversionOption.TARGET_ENC_NORMAL)),
    )
    if source_ccsid in UTF_16 and len(data) % 2:
        raise ConversionError(MQRC.SOURCE_LENGTH_ERROR)
    try:
        text = written.text(data)
    except UnicodeError:
        raise ConversionError(MQRC.DBCS_ERROR) from None
    try:
        found = wanted.data(text)
        if not options & _FILL:
            return _fitted(wanted, found, target_length)
        return _filled(wanted, text, found, target_length)
    except UnicodeEncodeError:
        raise ConversionError(MQRC.NOT_CONVERTED) from None


def _fitted(wanted: CharacterSet, found: bytes, length: int) -> tuple[bytes, MQRC]:
    if len(found) <= length:
        return found, MQRC.NONE
    return wanted.cut(found, length), MQRC.CONVERTED_MSG_TOO_BIG


def _filled(wanted: CharacterSet, text: str, found: bytes, length: int) -> tuple[bytes, MQRC]:
    """Exactly *length* bytes: blanks are added, or blanks at the end and what follows the first null are left out."""
    blank = wanted.data(" ")
    if length % len(blank):
        raise ConversionError(MQRC.TARGET_LENGTH_ERROR)
    if len(found) > length:
        before, null, _ = text.partition("\0")
        found = wanted.data(before + null if null else text.rstrip(" "))
    fitted, reason = _fitted(wanted, found, length)
    return fitted + blank * ((length - len(fitted)) // len(blank)), reason
