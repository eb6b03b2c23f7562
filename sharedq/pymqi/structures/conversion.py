"""Between pymqi's structures and the native ones, by way of IBM's layouts.

Fields that a structure's version does not have are neither read nor written, as a queue manager treats a C structure.
"""

from __future__ import annotations

import ctypes
from typing import TypeVar

from sharedq.mqi import wire
from sharedq.mqi.character_sets import CharacterSet, character_set
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQOD
from sharedq.mqi.wire import StructureLayout
from sharedq.pymqi import CMQC
from sharedq.pymqi.boundary import checked_call
from sharedq.pymqi.errors import MQMIError, fail
from sharedq.pymqi.structures.descriptors import OD
from sharedq.pymqi.structures.options import MQOpts
from sharedq.pymqi.text import ensure_bytes

T = TypeVar("T")


def to_native(layout: StructureLayout[T], structure: MQOpts) -> T:
    """The native structure.

    Raises:
        MQMIError: StrucId or Version is not one that IBM has.
        PYIFError: a member has the wrong type.
    """
    try:
        return layout.unpack(structure.pack())
    except MQIError as error:
        raise MQMIError(error.comp_code, error.reason) from error


def return_to(structure: MQOpts, layout: StructureLayout[T], native: T) -> None:
    """Set the members from what a call left in the native structure."""
    returned = layout.pack(native)
    structure.unpack(returned + structure.pack()[len(returned) :])


@checked_call
def make_q_desc(qDescOrString: str | bytes | OD) -> OD:  # noqa: N803 - pymqi's name
    """An object descriptor: the one given, or one for the queue of that name."""
    if isinstance(qDescOrString, str | bytes):
        return OD(ObjectName=ensure_bytes(qDescOrString))
    return qDescOrString


makeQDesc = make_q_desc  # noqa: N816


def object_descriptor(od: OD) -> MQOD:
    """The native descriptor of the object to open.

    Raises:
        MQMIError: 2154 a distribution list, which a queue manager that does not have these must refuse.
    """
    native = to_native(wire.OD, od)
    if native.version >= CMQC.MQOD_VERSION_2 and native.recs_present:
        fail(CMQC.MQRC_RECS_PRESENT_ERROR)
    if native.version >= CMQC.MQOD_VERSION_4:
        native.selection_string = _selection_string(od)
    return native


def _selection_string(od: OD) -> str:
    """The selection string that an MQCHARV of the structure points to."""
    length, pointer = od.SelectionStringVSLength, od.SelectionStringVSPtr
    if not length or (not pointer and length == CMQC.MQVS_NULL_TERMINATED):
        return ""
    if not pointer or od.SelectionStringVSOffset or not -1 <= length <= CMQC.MQ_SELECTOR_LENGTH:
        fail(CMQC.MQRC_SELECTION_STRING_ERROR)
    data = ctypes.string_at(pointer, length) if length > 0 else ctypes.string_at(pointer)
    found = character_set(od.SelectionStringVSCCSID, CMQC.MQENC_NATIVE, is_source=True)
    try:
        return found.text(data) if isinstance(found, CharacterSet) else data.decode()
    except UnicodeError:
        fail(CMQC.MQRC_SELECTION_STRING_ERROR)
