"""MQGET and properties: in the message handle, in an MQRFH2 in front of the data, or not at all.

A message carries its properties in MQRFH2 headers, as they were put. This module decides which of them a program sees,
when the message has been got: by the option of the call, else by PROPCTL of the queue.

Source: IBM MQ reference, MQGMO: Options, "Property options"; PropertyControl; "MQRFH2 headers that are not valid".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, Format, GetOption
from sharedq.mqi.errors import MQIError
from sharedq.properties.folders import FolderError, Property, has_properties, is_compatible
from sharedq.properties.handle import MessageHandle
from sharedq.properties.headers import Chain, properties_in, read_chain, without_properties
from sharedq.session.handle import Handle

_IN_HANDLE: Final = int(GetOption.PROPERTIES_IN_HANDLE)
_NONE: Final = int(GetOption.NO_PROPERTIES)
_COMPATIBILITY: Final = int(GetOption.PROPERTIES_COMPATIBILITY)
_FORCE: Final = int(GetOption.PROPERTIES_FORCE_MQRFH2)
#: The options of which a call has one at most.
PROPERTY_OPTIONS: Final = _IN_HANDLE | _NONE | _COMPATIBILITY | _FORCE
#: The option that says what an attribute does; ALL, FORCE and V6COMPAT return the header that was put.
_BY_ATTRIBUTE: Final = {"COMPAT": _COMPATIBILITY, "NONE": _NONE}


def property_option(handle: Handle, options: int, properties: MessageHandle | None = None) -> int:
    """The option by which a get through this handle returns properties.

    Args:
        options: of the call.
        properties: the message handle that it gives.
    """
    chosen = options & PROPERTY_OPTIONS
    if chosen or handle.definition.facts.is_transmission:
        return chosen or _FORCE
    control = handle.definition.facts.property_control
    if properties is not None and control != "FORCE":
        return _IN_HANDLE
    return _BY_ATTRIBUTE.get(control, _FORCE)


def show_properties(handle: Handle, options: int, messages: Sequence[Message]) -> None:
    """Take out of messages that were got the properties that the program does not want in their data."""
    if not handle.gets.confirms_delivery:
        # A command that moves messages moves all of them.
        return
    chosen = property_option(handle, options)
    if chosen in (_NONE, _COMPATIBILITY):
        for message in messages:
            take_out(message, chosen)


def take_out(message: Message, chosen: int) -> list[Property]:
    """Take properties out of a message.

    Args:
        chosen: the option. With MQGMO_PROPERTIES_COMPATIBILITY nothing is taken out of a message of JMS, and with
            MQGMO_PROPERTIES_FORCE_MQRFH2 of none.

    Returns:
        The properties that it had. If an MQRFH2 of the message is not valid, there are none, and the MQRFH2 stays.
    """
    if chosen == _FORCE or not message.has_format(Format.RF_HEADER_2):
        return []
    md = message.md
    try:
        chain = read_chain(md, message.body)
        found = properties_in(chain)
    except MQIError:
        return []
    if chosen == _COMPATIBILITY and _is_compatible(chain):
        return []
    length = len(message.body)
    message.body = without_properties(md, message.body, chain)
    message.data_length += len(message.body) - length
    return found


def _is_compatible(chain: Chain) -> bool:
    """Whether the message has a property that MQPROP_COMPATIBILITY returns all of them for."""
    for header in chain.headers:
        for folder in header.folders:
            try:
                text = header.text(folder)
                if has_properties(text) and is_compatible(text):
                    return True
            except FolderError:
                continue
    return False


def cut_to(message: Message, max_length: int, *, is_accepted: bool) -> None:
    """Cut the data of a message to the buffer of its program, which reads 2079 or 2080 then."""
    if len(message.body) > max_length:
        message.data_length, message.body = len(message.body), message.body[:max_length]
        message.reason = MQRC.TRUNCATED_MSG_ACCEPTED if is_accepted else MQRC.TRUNCATED_MSG_FAILED
