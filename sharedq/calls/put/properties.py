"""MQPUT with message handles: which properties a message gets, and the MQRFH2 that carries them.

Source: IBM MQ reference, MQPMO: OriginalMsgHandle, NewMsgHandle, Action.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields
from typing import Final

from sharedq.mqi.arguments import refuse_other
from sharedq.mqi.constants import MQRC, MsgFlag, MsgType, PropertyCopy, PutAction, PutOption, Report
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD, MQPMO, copied
from sharedq.properties.folders import Property
from sharedq.properties.handle import MessageHandle
from sharedq.properties.headers import check_chain, properties_in, read_chain, with_properties, without_properties
from sharedq.properties.names import is_accessible, place_of

_FOR_OUTPUT_ONLY: Final = int(PutOption.MD_FOR_OUTPUT_ONLY)
#: The properties of the original message that a message related to it gets; all of them where it is not named.
_COPIED: Final = {
    PutAction.FORWARD: int(PropertyCopy.FORWARD),
    PutAction.REPLY: int(PropertyCopy.REPLY),
    PutAction.REPORT: int(PropertyCopy.REPORT),
}
_PASS_MSG_ID, _PASS_CORREL_ID = int(Report.PASS_MSG_ID), int(Report.PASS_CORREL_ID)
_SEGMENTED: Final = int(MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT | MsgFlag.SEGMENTATION_ALLOWED)
#: The fields that describe the data, which a call does not return: the program does not see the header.
_OF_DATA: Final = frozenset({"format", "encoding", "coded_char_set_id"})
_RETURNED: Final = tuple(field.name for field in fields(MQMD) if field.name not in _OF_DATA)


def put_with_properties(
    send: Callable[[MQMD, bytes], MQRC],
    name: str,
    md: MQMD,
    pmo: MQPMO,
    body: bytes,
    *,
    original: MessageHandle | None = None,
    new: MessageHandle | None = None,
) -> MQRC:
    """Put a message with the properties of message handles.

    Args:
        send: puts a message on the queue *name*, or publishes it to that topic string.
        pmo: ``action`` says what the message is to the original one.
        original, new: of these two the new one decides, where both have a property.

    Raises:
        MQIError: as for *send*; 2535 no such action, 2460 an action without the original; 2334, 2421 the message has
            an MQRFH2 that is not valid; 2443 it is to be segmented; 2442 a property that no get would return; 2499
            another thread uses a handle.
    """
    with ExitStack() as used:
        for each in (original, new):
            refuse_other(MessageHandle, MQRC.HMSG_ERROR, each, "MQPUT", name)
            if each is not None:
                used.enter_context(each.in_use("MQPUT"))
        return _put(send, name, md, pmo, body, original, new)


def _put(
    send: Callable[[MQMD, bytes], MQRC],
    name: str,
    md: MQMD,
    pmo: MQPMO,
    body: bytes,
    original: MessageHandle | None,
    new: MessageHandle | None,
) -> MQRC:
    try:
        action = PutAction(pmo.action)
    except ValueError:
        raise error_for(MQRC.ACTION_ERROR, "MQPUT", name, f"action {pmo.action}") from None
    if action != PutAction.NEW and original is None:
        raise error_for(MQRC.HMSG_ERROR, "MQPUT", name, f"{action.name} needs the original message")
    properties = _selected(action, original, new)
    for each in properties:
        # A handle without validation takes a name under which no program would find the property again.
        if not is_accessible(*place_of(each.name)):
            raise error_for(MQRC.PROPERTY_NAME_ERROR, "MQPUT", name, f"no get returns {each.name[:80]!r}")
    sent = copied(md)
    if int(pmo.options) & _FOR_OUTPUT_ONLY:
        sent = _composed(action, original, new)
    chain = read_chain(sent, body)
    check_chain(chain)
    named = {each.name for each in properties}
    if named and sent.msg_flags & _SEGMENTED:
        detail = "a message with properties is not put in segments"
        raise error_for(MQRC.SEGMENTATION_NOT_ALLOWED, "MQPUT", name, detail)
    properties += [each for each in properties_in(chain) if each.name not in named]
    if named:
        if chain.headers:
            body = without_properties(sent, body, chain)
        body = with_properties(sent, body, properties)
    warning = send(sent, body)
    for field in _RETURNED:
        setattr(md, field, getattr(sent, field))
    if new is not None:
        new.take(properties, md)
    return warning


def _selected(action: PutAction, original: MessageHandle | None, new: MessageHandle | None) -> list[Property]:
    own = [] if new is None else new.properties()
    named = {each.name for each in own}
    wanted = _COPIED.get(action, 0)
    there = [] if original is None else original.properties()
    copied = [each for each in there if not wanted or each.descriptor.copy_options & (wanted | PropertyCopy.ALL)]
    return [each for each in copied if each.name not in named] + own


def _composed(action: PutAction, original: MessageHandle | None, new: MessageHandle | None) -> MQMD:
    """The descriptor of a message whose program gives none."""
    source = original if new is None or (original is not None and action != PutAction.NEW) else new
    md = MQMD(version=2) if source is None else copied(source.md, version=2)
    if action in (PutAction.REPLY, PutAction.REPORT):
        report, msg_id = md.report, md.msg_id
        md.msg_type = int(MsgType.REPLY if action == PutAction.REPLY else MsgType.REPORT)
        if not report & _PASS_CORREL_ID:
            md.correl_id = msg_id
        if not report & _PASS_MSG_ID:
            md.msg_id = NULL_ID
        md.report, md.reply_to_q, md.reply_to_q_mgr = 0, b"", b""
    elif action == PutAction.NEW and source is not None:
        # The message that it was made for has these; this is another one.
        md.put_date, md.put_time = b"", b""
    return md
