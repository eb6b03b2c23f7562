"""MQPUT of a topic: a publication goes to the queues of all matching subscriptions in one unit of work.

Under syncpoint that is the program's unit of work. Else it is one of this call: over the program's own connection, or,
where that has begun a unit of work, over a second one. So a publisher that dies leaves either all copies or none.

Source: IBM MQ reference, "MQPUT", "MQPMO", "MQSD"; "Delivery of publications", PMSGDLV and NPMSGDLV of "DEFINE TOPIC".
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sharedq.calls.handles.open import NEXT_MAY_TAKE_IT, find_queue
from sharedq.calls.handles.subscriptions import end_expired, topics_of
from sharedq.calls.handles.ways import common_key, for_length, places_for, put_on_any
from sharedq.calls.outgoing.descriptor import check_descriptor, check_properties, prepare_in_force
from sharedq.calls.outgoing.segments import copy_fields
from sharedq.calls.put.store import check_unit_room
from sharedq.calls.requests.put import put_call, undo_call
from sharedq.calls.routes.refresh import take_definition
from sharedq.calls.routes.resolution import path_to_topic
from sharedq.calls.topics.alias import as_put_through, check_alias
from sharedq.calls.topics.retained import retain
from sharedq.calls.unit.commit import backout, commit
from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.log import LibraryLogger
from sharedq.logical import NOTHING, PutPosition, put_position
from sharedq.messages.context import new_identifier
from sharedq.messages.dead_letter import dead_lettered
from sharedq.messages.record import encode_record, put_date_and_time
from sharedq.mqi.arguments import refuse_data, refuse_structure
from sharedq.mqi.constants import MQRC, MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_ID, PRIORITY_AS_Q_DEF
from sharedq.mqi.options import check_put_context, check_put_options
from sharedq.mqi.structures import MQMD, MQPMO, copied
from sharedq.objects.definitions.subscriptions import AS_PUBLISHED, NO_CORREL_ID, Subscription
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import Repository
from sharedq.objects.store.topics import Match, Matches
from sharedq.properties.publications import Publication
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.put import STALE
from sharedq.selectors.evaluation import Subject, evaluate
from sharedq.selectors.selector import selector_for
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.route import lowest_cap
from sharedq.session.topics import TopicHandle
from sharedq.session.unit_of_work import Savepoint

log = LibraryLogger(__name__)

_SYNCPOINT: Final = int(PutOption.SYNCPOINT)
_RETAIN, _WARN = int(PutOption.RETAIN), int(PutOption.WARN_IF_NO_SUBS_MATCHED)
_NOT_OWN = int(PutOption.NOT_OWN_SUBS)
_FAIL_IF_QUIESCING: Final = int(PutOption.FAIL_IF_QUIESCING)
_PASSES: Final = int(PutOption.PASS_IDENTITY_CONTEXT | PutOption.PASS_ALL_CONTEXT)
_SET_IDENTITY, _SET_ALL = int(PutOption.SET_IDENTITY_CONTEXT), int(PutOption.SET_ALL_CONTEXT)
_NO_CONTEXT: Final = int(PutOption.NO_CONTEXT)
_SUPPRESS_REPLYTO: Final = int(PutOption.SUPPRESS_REPLYTO)
_NEW_MSG_ID, _NEW_CORREL_ID = int(PutOption.NEW_MSG_ID), int(PutOption.NEW_CORREL_ID)
_OUTPUT: Final = int(OpenOption.OUTPUT)
_SEGMENTED: Final = int(MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT | MsgFlag.SEGMENTATION_ALLOWED)
#: A publication has not come to one destination, so no report says that it has.
_ARRIVAL: Final = int(Report.COA_WITH_FULL_DATA)
_AS_DEFINED: Final = 2
#: Of PubLevel and SubLevel.
_HIGHEST_LEVEL: Final = 9
#: How often the queue of a subscription is looked up for one publication, because its definitions change.
_TRIES: Final = 10
_APPL_NAME: Final = b"queue manager"


@dataclass(slots=True)
class _Copy:
    """A copy for one destination, and its fate.

    Attributes:
        handle, number: of the put, once it is stored.
        failure: why it could not be put.
    """

    queue: str
    qmgr: str
    md: MQMD
    body: bytes
    subscription: Subscription | None = None
    handle: Handle | None = None
    number: int = 0
    failure: MQIError | None = None
    tries: int = 0


@dataclass(slots=True)
class _Delivery:
    """A publication under way, in the unit of work of *unit*.

    Attributes:
        savepoints: how the unit of work stood in each structure before the first copy was stored there.
    """

    unit: Connection
    topic: Topic
    content: Publication
    options: int
    stored: list[_Copy] = field(default_factory=list)
    savepoints: dict[str, Savepoint] = field(default_factory=dict)


@dataclass(slots=True)
class _Planned:
    """A publication that nothing is put of yet, and the subscriptions that it goes to.

    Attributes:
        given: the descriptor of the program, which returns the fields.
        options: of the copies.
    """

    given: MQMD
    content: Publication
    known: Matches
    wanted: list[Subscription]
    options: int
    warning: MQRC


def publish(connection: Connection, handle: TopicHandle, md: MQMD, pmo: MQPMO, body: bytes) -> MQRC:
    """MQPUT of a topic; see `publish_many`."""
    return publish_many(connection, handle, ((md, body),), pmo)


def publish_many(
    connection: Connection, handle: TopicHandle, messages: Sequence[tuple[MQMD, bytes]], pmo: MQPMO
) -> MQRC:
    """MQPUT of a topic, of all messages or of none. Their descriptors return their identifiers.

    A wrong descriptor or wrong data is refused before anything is put: the delivery rules of the topic are about
    subscriptions that cannot take a publication.

    Returns:
        ``MQRC.NONE``, or the reason of a warning: 2550, no subscription has got it, and the program asked to be told;
        else that of a put to a queue.

    Raises:
        MQIError: 2051, the topic or the alias that was named inhibits them; 2041, such an alias leads elsewhere now;
            2502, a subscription that must get it cannot, and none has;
            2040, it is not open for output; 2443, a segment; 2024, MAXUMSGS; 2009, its fate is unknown; what a put to a
            queue refuses of a descriptor and its data.
    """
    options = int(pmo.options)
    for md, _ in messages:
        options = _check(connection, handle, md, options, pmo.pub_level)
    check_alias(connection, handle)
    in_unit = bool(options & _SYNCPOINT)
    flush_pending(connection)
    planned = [_planned(connection, handle, md, options, pmo.pub_level, body) for md, body in messages]
    if in_unit:
        check_unit_room(connection, sum(len(each.wanted) for each in planned))
    deliveries: list[_Delivery] = []
    if any(each.wanted for each in planned) or (planned and options & _RETAIN):
        unit = connection.apart() if connection.has_unit and not in_unit else connection
        deliveries = [_Delivery(unit, each.known.topic, each.content, each.options) for each in planned]
        _deliver_all(connection, planned, deliveries, is_retained=bool(options & _RETAIN), in_unit=in_unit)
    return _returned(connection, planned, deliveries, options)


def _planned(connection: Connection, handle: TopicHandle, md: MQMD, options: int, level: int, body: bytes) -> _Planned:
    known = connection.matcher.match(handle.topic_string, topics_of(connection.group), connection)
    if known.topic.publish == "DISABLED":
        raise error_for(MQRC.PUT_INHIBITED, "MQPUT", handle.topic_string, "PUB(DISABLED) of its topic")
    as_put = as_put_through(handle, known.topic)
    sent, warning = _completed(connection, handle.topic_string, as_put, md, options, body)
    content = Publication(handle.topic_string, sent, body)
    wanted = _wanted(connection, known.matches, options, level, content)
    return _Planned(md, content, known, wanted, _context_options(options), warning)


def _returned(
    connection: Connection, planned: Sequence[_Planned], deliveries: Sequence[_Delivery], options: int
) -> MQRC:
    """Return to the program what it is told of publications that are out, and the reason of a warning."""
    stored = [copy for publication in deliveries for copy in publication.stored]
    connection.delivered.add(each.subscription.number for each in stored if each.subscription)
    if stored and connection.delivered.is_due:
        connection.tell_delivered()
    is_delivered = all(publication.stored for publication in deliveries) if deliveries else not planned
    warning = MQRC.NO_SUBS_MATCHED if options & _WARN and not is_delivered else MQRC.NONE
    for each in planned:
        sent = each.content.md
        if not sent.put_date:
            sent.put_date, sent.put_time = put_date_and_time(int(time.time() * 1000))
        copy_fields(each.given, sent)
        warning = warning or each.warning
    return warning


def _check(connection: Connection, handle: TopicHandle, md: MQMD, options: int, level: int) -> int:
    """Refuse what no publication may ask for. Returns the options, with what they pass on already in *md*."""
    name = handle.topic_string
    refused = check_put_options(options)
    if refused:
        raise error_for(refused, "MQPUT", name)
    if not 0 <= level <= _HIGHEST_LEVEL:
        raise error_for(MQRC.PMO_ERROR, "MQPUT", name, f"PubLevel {level}")
    if options & (PutOption.LOGICAL_ORDER | _PASSES):
        raise error_for(MQRC.OPTIONS_ERROR, "MQPUT", name, "not for publications")
    refused = check_put_context(options, handle.options)
    if refused:
        raise error_for(refused, "MQPUT", name)
    connection.check()
    if handle.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQPUT", name, "it is closed")
    if not handle.options & _OUTPUT:
        raise error_for(MQRC.NOT_OPEN_FOR_OUTPUT, "MQPUT", name)
    if connection.is_quiescing and options & _FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQPUT", name)
    if md.msg_flags & _SEGMENTED:
        raise error_for(MQRC.SEGMENTATION_NOT_ALLOWED, "MQPUT", name)
    return options


def _completed(
    connection: Connection, name: str, topic: Topic, md: MQMD, options: int, body: bytes
) -> tuple[MQMD, MQRC]:
    """Return the descriptor of a publication, with what *md* leaves to the topic, and the reason of a warning.

    Raises:
        MQIError: no queue would take it.
    """
    refuse_structure(MQMD, MQRC.MD_ERROR, md, "MQPUT", name)
    refuse_data("MQPUT", name, body)
    check_properties(connection, name, md, body)
    given = copied(md, reply_to_q=b"", reply_to_q_mgr=b"") if options & _SUPPRESS_REPLYTO else md
    warning = check_descriptor(given, name, for_transmission=False)
    sent = copied(given, expiry=lowest_cap(md.expiry, topic.cap_expiry))
    if md.priority == PRIORITY_AS_Q_DEF:
        sent.priority = topic.def_priority
    if md.persistence == _AS_DEFINED:
        sent.persistence = int(topic.def_persistence == "YES")
    if options & _NEW_MSG_ID or md.msg_id == NULL_ID:
        sent.msg_id = new_identifier(connection.origin)
    if options & _NEW_CORREL_ID:
        sent.correl_id = new_identifier(connection.origin)
    # No segment was let pass, so it is in a group at most.
    position = put_position(NOTHING, options, md, len(body))
    if not isinstance(position, PutPosition):
        raise error_for(position, "MQPUT", name)
    sent.group_id = new_identifier(connection.origin) if position.group_id is None else position.group_id
    sent.msg_seq_number, sent.offset, sent.msg_flags = position.msg_seq_number, position.offset, position.msg_flags
    # Encoding refuses a value that does not fit into its field.
    encode_record(sent, b"", connection.origin, 0)
    return sent, warning


def _context_options(options: int) -> int:
    """Each copy has the identity that its subscription says, and the origin of the publication."""
    return options & (_SET_ALL | _NO_CONTEXT) or _SET_IDENTITY


def _wanted(
    connection: Connection, matches: Iterable[Match], options: int, level: int, content: Publication
) -> list[Subscription]:
    """Return the subscriptions that get a publication: those of the highest level that select it, up to its level."""
    now_ms, found = int(time.time() * 1000), list[Subscription]()
    for each in matches:
        if each.subscription.is_expired(now_ms):
            end_expired(connection.group, [each])
        elif each.holder == connection.token and options & _NOT_OWN:
            continue
        elif each.subscription.level <= level and is_selected(each.subscription, content):
            found.append(each.subscription)
    highest = max((each.level for each in found), default=0)
    return [each for each in found if each.level == highest and each.is_on_request == "NO"]


def is_selected(subscription: Subscription, content: Publication) -> bool:
    """Whether a publication fits the selection string of a subscription. A header that is not valid is data."""
    selector = selector_for(subscription.selector) if subscription.selector else None
    return selector is None or evaluate(selector.tree, Subject(content.md, content.properties)) is True


def _deliver_all(
    connection: Connection,
    planned: Sequence[_Planned],
    deliveries: Sequence[_Delivery],
    *,
    is_retained: bool,
    in_unit: bool,
) -> None:
    """Put all copies of all publications, or none."""
    unit = deliveries[0].unit
    try:
        for each, publication in zip(planned, deliveries, strict=True):
            _deliver(connection, publication, each.wanted)
        # After all copies, because a retained publication cannot be taken out of the unit of work again.
        for each, publication in zip(planned, deliveries, strict=True):
            if is_retained:
                _retain(publication, int(each.known.version))
    except MQIError:
        if not unit.is_ended and not in_unit:
            backout(unit)
        for publication in reversed(deliveries):
            if in_unit and not unit.is_ended:
                _undo(publication)
        raise
    if not in_unit:
        _commit(unit, deliveries[0])


def _deliver(connection: Connection, publication: _Delivery, wanted: Sequence[Subscription]) -> None:
    copies = [copy_for(each, publication.content) for each in wanted]
    _put_all(publication, copies)
    refused = [each for each in copies if each.failure is not None]
    if refused:
        _judge(connection, publication, refused)


def _retain(publication: _Delivery, version: int) -> None:
    unit = publication.unit
    try:
        retain(unit, publication.content.topic_string, version, publication.content.md, publication.content.body)
    except MQIError as error:
        # Perhaps a part of it is in the unit of work, which must not be committed.
        unit.put_failure = unit.put_failure or error
        raise


def _commit(unit: Connection, publication: _Delivery) -> None:
    try:
        if unit.has_unit:
            commit(unit)
    except MQIError as error:
        if error.reason == MQRC.BACKED_OUT:
            raise error_for(MQRC.PUBLICATION_FAILURE, "MQPUT", publication.content.topic_string, str(error)) from error
        if error.reason != MQRC.OUTCOME_MIXED:
            if not unit.is_ended:
                backout(unit)
            raise
        log.warning("publication_lost_in_part", topic=publication.content.topic_string, error=str(error))


def copy_for(subscription: Subscription, content: Publication) -> _Copy:
    """Return the copy of a publication for a subscription: each has a MsgId of its own."""
    written, md = content.written(subscription.properties, subscription.user_data), content.md
    copy = copied(md, msg_id=NULL_ID, report=md.report & ~_ARRIVAL)
    copy.encoding, copy.coded_char_set_id, copy.format = written.encoding, written.coded_char_set_id, written.format
    if subscription.destination_correl_id != NO_CORREL_ID:
        copy.correl_id = bytes.fromhex(subscription.destination_correl_id)
    if subscription.priority != AS_PUBLISHED:
        copy.priority = subscription.priority
    copy.user_identifier = subscription.user_id.encode()
    copy.accounting_token = bytes.fromhex(subscription.accounting_token)
    copy.appl_identity_data = subscription.identity_data.encode()
    return _Copy(subscription.destination, subscription.destination_q_mgr, copy, written.body, subscription)


def put_copies(connection: Connection, copies: Sequence[_Copy], topic_string: str) -> None:
    """Put copies in a unit of work of their own; each that cannot be put has its failure.

    A publication that its queue does not take goes to the dead-letter queue if the topic says so.

    Raises:
        MQIError: 2009; the unit of work cannot be committed.
    """
    unit = connection.apart() if connection.has_unit else connection
    publication = _Delivery(unit, Topic(name="X"), Publication(topic_string, MQMD(), b""), _SET_ALL)
    try:
        _put_all(publication, copies)
        refused = [each for each in copies if each.failure is not None]
        if refused and topics_of(connection.group).tree().at(topic_string).use_dead_letter_queue == "YES":
            for copy in refused:
                if _is_dead_lettered(connection, publication, copy):
                    copy.failure = None
    except MQIError:
        if not unit.is_ended:
            backout(unit)
        raise
    _commit(unit, publication)


def _put_all(publication: _Delivery, copies: Sequence[_Copy]) -> None:
    """Put copies, those of one structure in one write. One that meets other definitions is put again by these."""
    left = list(copies)
    while left:
        by_structure: dict[str, list[tuple[_Copy, ScriptCall]]] = {}
        for copy in left:
            call = _call(publication, copy)
            if call is not None and copy.handle is not None:
                by_structure.setdefault(copy.handle.structure.keys.name, []).append((copy, call))
        left = []
        for calls in by_structure.values():
            replies = _answers(publication.unit, [call for _, call in calls])
            left += [
                copy for (copy, _), reply in zip(calls, replies, strict=True) if _is_to_try(publication, copy, reply)
            ]


def _answers(unit: Connection, calls: Sequence[ScriptCall]) -> list[Reply]:
    """Call scripts of one structure. If Redis refuses them all, or it has failed, the reason is the answer to each."""
    try:
        return unit.call_many(calls)
    except MQIError as error:
        if unit.is_ended:
            raise
        return [[int(error.reason)]] * len(calls)


def _call(publication: _Delivery, copy: _Copy) -> ScriptCall | None:
    """Return the call that stores a copy. None: it cannot be put, and its failure says why."""
    unit = publication.unit
    messages = ((copied(copy.md), copy.body),)
    try:
        copy.handle = _destination(unit, copy)
        _, arguments, details = prepare_in_force(unit, copy.handle, messages, publication.options, [])
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        copy.tries += 1
        if _may_go_elsewhere(unit, copy, error.reason):
            return _call(publication, copy)
        _fail(unit, copy, error)
        return None
    return put_call(unit, copy.handle, arguments, details, True)


def _destination(unit: Connection, copy: _Copy) -> Handle:
    """Return a handle of the queue: kept from earlier publications, because it needs no close."""
    key = copy.queue, copy.qmgr
    handle = unit.destinations.get(key)
    if handle is None or handle.structure.has_failed or not unit.has_entered(handle.structure):
        handle = _found(unit, copy)
        unit.destinations[key] = handle
    if handle.puts.binding:
        places = places_for(unit, handle, copy.md, 0)
        return put_on_any(unit, handle, places, True, lambda way: way)
    return for_length(unit, handle, len(copy.body)) if handle.is_intra_group else handle


def _found(unit: Connection, copy: _Copy) -> Handle:
    try:
        return find_queue(unit, copy.queue.encode(), copy.qmgr.encode(), unit.qmgr_name)
    except MQIError as error:
        if error.reason == MQRC.ALIAS_BASE_Q_TYPE_ERROR and path_to_topic(unit, copy.queue, copy.qmgr):
            raise error_for(MQRC.ALIAS_TARGTYPE_CHANGED, "MQPUT", copy.queue, "it stands for a topic now") from error
        raise


def _may_go_elsewhere(unit: Connection, copy: _Copy, reason: int) -> bool:
    """Whether a copy that is refused may be put on another queue of an alias with SPREAD, or found anew there."""
    handle = unit.destinations.get((copy.queue, copy.qmgr))
    if handle is None or not handle.puts.binding or copy.tries >= _TRIES:
        return False
    if reason == MQRC.OBJECT_CHANGED:
        del unit.destinations[copy.queue, copy.qmgr]
        return True
    return reason in NEXT_MAY_TAKE_IT and common_key(handle, copy.md) is None


def _is_to_try(publication: _Delivery, copy: _Copy, reply: Reply) -> bool:
    """Take the reply to a put. Returns whether it is to be made again, by the definitions in force."""
    unit, handle = publication.unit, copy.handle
    assert handle is not None
    structure = handle.structure.keys.name
    if not reply[0]:
        copy.number = reply[1]
        if structure not in publication.savepoints:
            publication.savepoints[structure] = unit.unit.savepoint(structure)
        unit.unit.add(structure, handle.name, 1, is_put=True, has_members=bool(copy.md.msg_flags))
        publication.stored.append(copy)
        return False
    copy.tries += 1
    if _may_go_elsewhere(unit, copy, reply[0]):
        return True
    if reply[0] in (STALE, MQRC.OBJECT_CHANGED, MQRC.Q_DELETED) and copy.tries < _TRIES:
        if reply[0] == STALE and not handle.is_intra_group:
            take_definition(handle, reply, for_put=True)
        else:
            unit.destinations.pop((copy.queue, copy.qmgr), None)
        return True
    _fail(unit, copy, unit.error(reply[0], "MQPUT", copy.queue))
    return False


def _fail(unit: Connection, copy: _Copy, error: MQIError) -> None:
    copy.failure = error
    unit.destinations.pop((copy.queue, copy.qmgr), None)


def _judge(connection: Connection, publication: _Delivery, refused: Sequence[_Copy]) -> None:
    """Decide what becomes of copies that could not be put. Raises MQIError: 2502, one of them has to be delivered."""
    topics, topic = topics_of(connection.group), publication.topic
    rule = topic.persistent_delivery if publication.content.md.persistence else topic.non_persistent_delivery
    for copy in refused:
        subscription = copy.subscription
        assert subscription is not None
        # The subscription may have ended since the publication was matched: then its queue is gone, too.
        if topics.numbered(subscription.number) is None:
            connection.matcher.forget(publication.content.topic_string)
            continue
        if topic.use_dead_letter_queue == "YES" and _is_dead_lettered(connection, publication, copy):
            continue
        if rule == "ALL" or (rule == "ALLDUR" and subscription.is_durable):
            detail = f"{copy.queue} of subscription {subscription.name or subscription.number}: {copy.failure}"
            raise error_for(MQRC.PUBLICATION_FAILURE, "MQPUT", publication.content.topic_string, detail)
        log.warning("publication_not_delivered", queue=copy.queue, error=str(copy.failure))


def _is_dead_lettered(connection: Connection, publication: _Delivery, copy: _Copy) -> bool:
    unit, at = publication.unit, connection.qmgr_name
    queue = Repository(connection.group, at).qmgr_attributes(at).dead_letter_queue
    if not queue or copy.failure is None:
        return False
    date, now = put_date_and_time(int(time.time() * 1000))
    md = copied(copy.md, priority=max(copy.md.priority, 0))
    reason = copy.failure.reason
    letter, data = dead_lettered(md, copy.body, copy.queue.encode(), copy.qmgr.encode(), reason, _APPL_NAME, date, now)
    instead = _Copy(queue, "", letter, data)
    _put_all(replace(publication, options=_SET_IDENTITY, unit=unit), [instead])
    return instead.failure is None


def _undo(publication: _Delivery) -> None:
    """Take what was put out of the program's unit of work again, the latest first.

    Raises:
        MQIError: 2009, the group backs the unit of work out.
    """
    unit = publication.unit
    # The structure last that was the first: its savepoint has the number of messages before all of them.
    by_structure: dict[str, list[_Copy]] = {structure: [] for structure in reversed(publication.savepoints)}
    for copy in reversed(publication.stored):
        if copy.handle is not None and not copy.handle.structure.has_failed:
            by_structure[copy.handle.structure.keys.name].append(copy)
    for structure, copies in by_structure.items():
        if not copies:
            # The structure has failed, and its part is gone.
            continue
        calls = [undo_call(unit, copy.handle, copy.number) for copy in copies if copy.handle is not None]
        reason = next((reply[0] for reply in _answers(unit, calls) if reply[0]), MQRC.NONE)
        if reason:
            # A part of this publication is in the unit of work, which must not be committed.
            unit.put_failure = unit.put_failure or unit.error(reason, "MQPUT", publication.content.topic_string)
            return
        unit.unit.return_to(publication.savepoints[structure])
    publication.stored.clear()
