"""The common part of put and get: optional arguments, text as a message, structures in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sharedq.mqi import wire
from sharedq.mqi.constants import MQCC
from sharedq.mqi.structures import MQMD, MQPMO
from sharedq.pymqi import CMQC
from sharedq.pymqi.boundary import checked_call, ensure_bytes
from sharedq.pymqi.errors import WrongTypeError, check
from sharedq.pymqi.structures.descriptors import MD, PMO, return_to, to_native
from sharedq.pymqi.structures.options import MQOpts
from sharedq.verbs import Outcome


@checked_call
def common_q_args(*opts: MQOpts | None) -> tuple[MD, Any]:
    """The message descriptor (a new one if there is none) and the put or get options (None if there are none).

    Raises:
        TypeError: more than two arguments.
    """
    if len(opts) > 2:
        raise TypeError(f"at most a message descriptor and options, not {len(opts)} arguments")
    descriptor: Any
    descriptor, options = (*opts, None, None)[:2]
    return MD() if descriptor is None else descriptor, options


commonQArgs = common_q_args  # noqa: N816


def message_bytes(msg: object, descriptor: MD, encoding: str, ccsid: int) -> bytes:
    """A message's data. Text is encoded, and the descriptor then says so.

    Raises:
        WrongTypeError: neither text nor bytes.
    """
    if isinstance(msg, str):
        descriptor.CodedCharSetId, descriptor.Format = ccsid, CMQC.MQFMT_STRING
        encoded: bytes = ensure_bytes(msg, encoding)
        return encoded
    if isinstance(msg, bytes):
        return msg
    raise WrongTypeError(f"a message is bytes or text, not {type(msg)}")


def put_message(
    call: Callable[[MQMD, MQPMO, bytes], Outcome], descriptor: MD, options: PMO | None, body: bytes
) -> None:
    """Make an MQPUT or MQPUT1 *call*; the structures return what it left in them.

    Raises:
        MQMIError: the call failed, or put the message with a warning.
    """
    options = PMO() if options is None else options
    md, pmo = to_native(wire.MD, descriptor), to_native(wire.PMO, options)
    comp, reason = call(md, pmo, body)
    if comp != MQCC.FAILED:
        return_to(descriptor, wire.MD, md)
        return_to(options, wire.PMO, pmo)
    check(comp, reason)
