"""MQSUB and MQSUBRQ: making, resuming and altering subscriptions, and asking for what is retained.

A managed queue is made first, as one that goes with its maker, and opened. Then the subscription is registered, which
from that moment has its queue, whatever becomes of the program: the structure forgets the maker last. So recovery finds
each of them at every step (`recovery.structure`).

Source: IBM MQ reference, "MQSUB", "MQSUBRQ", "MQSD".
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from sharedq.calls.handles.open import close_handle, delete_temporary_queues, open_queue
from sharedq.calls.handles.subscriptions import close_subscription, delete_orphans, topics_of
from sharedq.calls.topics.open import check_authority, topic_string_of, user_of
from sharedq.calls.topics.publish import copy_for, is_selected, put_copies
from sharedq.calls.topics.retained import RetainedPublication, all_retained, retained_at
from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.logical.topic_strings import is_matched, literal_levels
from sharedq.members.group import Group
from sharedq.messages.context import new_identifier, user_identifier
from sharedq.mqi.arguments import refuse_structure
from sharedq.mqi.constants import MQRC, CloseOption, OpenOption, RequestOption, SubOption
from sharedq.mqi.errors import MQIError, UnknownObjectName, error_for
from sharedq.mqi.limits import MAX_EXPIRY, NULL_ACCOUNTING_TOKEN, NULL_ID, UNLIMITED_EXPIRY
from sharedq.mqi.options import told
from sharedq.mqi.structures import MQOD, MQSD, MQSRO
from sharedq.objects.definitions.base import has_controls, parse_definition
from sharedq.objects.definitions.queues import QueueModel
from sharedq.objects.definitions.subscriptions import MANAGED, Subscription, end_of
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import Repository
from sharedq.objects.store.authorities import RESUME, SUBSCRIBE
from sharedq.properties.publications import Publication
from sharedq.redis.keys import private_structure
from sharedq.selectors.parser import in_one_line
from sharedq.selectors.selector import selector_for
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.topics import SubscriptionHandle

_S: Final = SubOption
_KNOWN: Final = sum({int(option) for option in SubOption})
_ACCESS: Final = int(_S.CREATE | _S.RESUME | _S.ALTER)
#: Options that say how the call is made. They are not stored.
_OF_CALL: Final = int(
    _S.FAIL_IF_QUIESCING | _S.ALTERNATE_USER_AUTHORITY | _S.NO_MULTICAST | _S.NO_READ_AHEAD | _S.READ_AHEAD
)
#: Options of which one at most may be given.
_CHOICES: Final = (
    (_S.WILDCARD_CHAR, _S.WILDCARD_TOPIC),
    (_S.FIXED_USERID, _S.ANY_USERID),
    (_S.MANAGED, _S.GROUP_SUB),
    (_S.NO_READ_AHEAD, _S.READ_AHEAD),
)
_OPENED: Final = int(OpenOption.INPUT_SHARED | OpenOption.BROWSE | OpenOption.INQUIRE)
_RECEIVES: Final = int(
    OpenOption.INPUT_AS_Q_DEF | OpenOption.INPUT_SHARED | OpenOption.INPUT_EXCLUSIVE | OpenOption.BROWSE
)
#: Prefixes of the names of managed queues.
_DURABLE, _NON_DURABLE = f"{MANAGED}DURABLE.*", f"{MANAGED}NDURABLE.*"
#: A retained publication is published at PubLevel 1 again, so subscriptions of higher levels do not get it.
_LEVEL_OF_RETAINED: Final = 1
#: Bytes of SubName and SubUserData, at most.
_LONGEST_STRING: Final = 10_240
#: Retained publications that one unit of work brings, at most.
_TOGETHER: Final = 100


def subscribe(connection: Connection, sd: MQSD, queue: Handle | None = None) -> SubscriptionHandle:
    """MQSUB. *sd* returns the CorrelId of its publications and the whole topic string; with MQSO_RESUME what the
    subscription has, for an MQSO_ALTER.

    Args:
        queue: the destination, open for input or browsing, or for output to a remote queue; None for a managed one,
            or for that of a subscription that exists.

    Returns:
        The subscription. Its ``queue`` is the handle of a destination that this call opened.

    Raises:
        MQIError: 2019 no usable queue; 2035 the user may not; 2046 options; 2085, 2425 topic; 2428 there is none; 2429
            another connection has it open; 2431 the user data; 2432 it exists; 2434 it is another user's; 2436 not
            durable there; 2440 the name; 2459, 2504, 2519, 2551 the selection string; 2503 the topic inhibits
            subscriptions; 2509, 2510, 2512, 2524 what cannot be altered; 2522 its queue; 2523 it has expired; 2526 what
            is retained cannot be delivered; 2161 quiescing; 2017 MAXHANDS.
    """
    refuse_structure(MQSD, MQRC.SD_ERROR, sd, "MQSUB")
    options = _check_options(connection, sd, queue)
    flush_pending(connection)
    name = _text(sd.sub_name)
    known = topics_of(connection.group).named(name) if name else None
    if known is not None and known.is_expired(int(time.time() * 1000)):
        _end(connection, known, options)
        known = None
    if known is None and not options & _S.CREATE:
        raise error_for(MQRC.NO_SUBSCRIPTION, "MQSUB", name)
    if known is not None and not options & (_S.RESUME | _S.ALTER):
        raise error_for(MQRC.SUB_ALREADY_EXISTS, "MQSUB", name)
    if known is not None:
        _check_user(connection, sd, options, known.topic_string)
        return _resume(connection, sd, options, known, queue)
    topic_string = topic_string_of(connection.group, "MQSUB", sd.object_name, sd.object_string)
    _check_user(connection, sd, options & ~int(_S.RESUME), topic_string)
    return _create(connection, sd, options, name, topic_string, queue)


def _end(connection: Connection, known: Subscription, options: int) -> None:
    """Let a subscription end whose time has run out, so that another one may have its name. Raises MQIError: 2523."""
    if options & _S.CREATE:
        with suppress(MQIError):
            topics_of(connection.group).remove(known.number)
            delete_orphans(connection.group)
            return
    raise error_for(MQRC.INVALID_SUBSCRIPTION, "MQSUB", known.name, "its expiry has run out")


def _user(connection: Connection, sd: MQSD) -> str:
    return user_of(connection, sd.alternate_user_id, is_alternate=bool(int(sd.options) & _S.ALTERNATE_USER_AUTHORITY))


def subscribe_again(
    connection: Connection, lost: SubscriptionHandle, holder: str, queue: Handle | None
) -> SubscriptionHandle:
    """Make or open again, by *connection*, a subscription that a lost connection of the same program had open.

    A subscription that is not durable ends with the lost connection. The publications for its successor have the same
    CorrelId.

    Args:
        holder: the token of the lost connection.
        queue: the destination that the MQSUB was given.

    Raises:
        MQIError: as for `subscribe`.
    """
    topics, known = topics_of(connection.group), lost.subscription
    try:
        (topics.close if known.is_durable else topics.remove)(known.number, connection.token, connection, holder)
    except MQIError as error:
        # The subscription ended with the lost connection or by a command, or another handle has it open again.
        if error.reason not in (MQRC.NO_SUBSCRIPTION, MQRC.SUBSCRIPTION_IN_USE):
            raise
    asked = replace(lost.asked)
    options = int(asked.options) & ~_ACCESS
    if known.is_durable:
        asked.options = options | _S.RESUME
    else:
        asked.options = options | _S.CREATE | _S.SET_CORREL_ID | (_S.RESUME if known.name else 0)
        asked.sub_correl_id = bytes.fromhex(known.destination_correl_id)
    return subscribe(connection, asked, queue)


def _check_user(connection: Connection, sd: MQSD, options: int, topic_string: str) -> None:
    """Check the authority of the user. An authority to subscribe is one to resume, too. Raises MQIError: 2035."""
    is_resumed = options & _S.RESUME and not options & _S.ALTER
    wanted = (RESUME, SUBSCRIBE) if is_resumed else (SUBSCRIBE,)
    check_authority(connection.group, "MQSUB", topic_string, _user(connection, sd), wanted)


def _check_options(connection: Connection, sd: MQSD, queue: Handle | None) -> int:
    options, name = int(sd.options), _text(sd.sub_name)
    is_ambiguous = any(options & first and options & second for first, second in _CHOICES)
    if options & ~_KNOWN or not options & _ACCESS or is_ambiguous:
        raise error_for(MQRC.OPTIONS_ERROR, "MQSUB", name, told(SubOption(options)))
    if sd.version != 1:
        raise error_for(MQRC.SD_ERROR, "MQSUB", name, f"version {sd.version}")
    if connection.is_quiescing and options & _S.FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQSUB", name)
    if not name and options & (_S.DURABLE | _S.RESUME | _S.ALTER):
        raise error_for(MQRC.SUB_NAME_ERROR, "MQSUB", name, "it needs a name")
    if options & _S.GROUP_SUB:
        raise error_for(MQRC.OPTIONS_ERROR, "MQSUB", name, "MQSO_GROUP_SUB is not supported")
    _check_strings(sd, name)
    if options & _S.PUBLICATIONS_ON_REQUEST and sd.sub_level > _LEVEL_OF_RETAINED and options & (_S.CREATE | _S.ALTER):
        raise error_for(MQRC.OPTIONS_ERROR, "MQSUB", name, "publications on request come at SubLevel 0 and 1")
    if sd.selection_string and options & _S.ALTER:
        raise error_for(MQRC.SELECTOR_NOT_ALTERABLE, "MQSUB", name)
    if options & _S.MANAGED and queue is not None and not options & (_S.RESUME | _S.ALTER):
        raise error_for(MQRC.HOBJ_ERROR, "MQSUB", name, "a managed subscription has a queue of its own")
    if len(connection.handles) + len(connection.subscriptions) >= connection.max_handles:
        detail = f"MAXHANDS({connection.max_handles}) are open"
        raise error_for(MQRC.HANDLE_NOT_AVAILABLE, "MQSUB", name, detail)
    return options


def _check_strings(sd: MQSD, name: str) -> None:
    for text, reason in ((sd.sub_name, MQRC.SUB_NAME_ERROR), (sd.sub_user_data, MQRC.SUB_USER_DATA_ERROR)):
        if len(text) > _LONGEST_STRING:
            raise error_for(reason, "MQSUB", name[:48], f"{len(text)} bytes, at most {_LONGEST_STRING}")
        if has_controls(_text(text)):
            raise error_for(reason, "MQSUB", ascii(name[:48]), "control characters are not allowed")


def _create(
    connection: Connection, sd: MQSD, options: int, name: str, topic_string: str, queue: Handle | None
) -> SubscriptionHandle:
    topics = topics_of(connection.group)
    topic = check_topic(connection.group, topic_string, is_durable=bool(options & _S.DURABLE))
    selector = in_one_line(_text(sd.selection_string))
    selector_for(selector)
    if has_controls(selector):
        raise error_for(MQRC.SELECTOR_SYNTAX_ERROR, "MQSUB", name, "control characters are not allowed in its texts")
    number, asked = new_identifier(connection.origin), replace(sd)
    values: dict[str, Any] = {
        "name": name,
        "number": number.hex().upper(),
        "made_at": connection.qmgr_name,
        "topic_string": topic_string,
        "topic_object": _text(sd.object_name),
        "destination_correl_id": number.hex().upper(),
        "durable": "YES" if options & _S.DURABLE else "NO",
        "subscription_type": "API",
        "user_id": _user(connection, sd),
        "selector": selector,
        "level": sd.sub_level,
        "scheme": "CHAR" if options & _S.WILDCARD_CHAR else "TOPIC",
        "variable_user": "ANY" if options & _S.ANY_USERID else "FIXED",
        **_alterable(sd, options),
    }
    managed: Handle | None = None
    handle: SubscriptionHandle | None = None
    try:
        if options & _S.MANAGED:
            values["destination_class"] = "MANAGED"
            managed = _managed_queue(connection, topic, is_durable=bool(options & _S.DURABLE))
        given = _given(queue, name, is_durable=bool(options & _S.DURABLE)) if managed is None else managed
        values |= _destination(given)
        subscription = topics.create(_parsed(values), connection.token, connection)
        handle = SubscriptionHandle(connection.next_handle_number(), subscription, asked, managed, queue)
        connection.subscriptions[handle.number] = handle
        if managed is not None:
            _repository(connection).forget_made(managed.structure.keys.name, managed.name, connection.token)
        if not options & (_S.NEW_PUBLICATIONS_ONLY | _S.PUBLICATIONS_ON_REQUEST):
            _send_retained(connection, subscription, before=subscription.version)
    except MQIError:
        if not connection.is_ended:
            _take_back(connection, managed, handle)
        raise
    _answer(sd, subscription)
    return handle


def _take_back(connection: Connection, managed: Handle | None, handle: SubscriptionHandle | None) -> None:
    """Undo an MQSUB that has failed. The end of the connection undoes the rest."""
    if managed is not None:
        # Noted before the first call that may be refused, too.
        connection.temporary_queues.append((managed.structure, managed.name))
    if handle is not None:
        handle.has_failed = True
    if managed is not None and not managed.is_closed:
        close_handle(connection, managed)
    if handle is not None:
        close_subscription(connection, handle, CloseOption.REMOVE_SUB)
    delete_temporary_queues(connection)


def define_subscription(
    repository: Repository, subscription: Subscription, destination: Handle | None = None
) -> Subscription:
    """DEFINE SUB: make an administrative subscription, which nobody has open. Returns it with its number.

    Args:
        subscription: its name, and what the command says.
        destination: its managed queue.

    Raises:
        MQIError: 2432 the name is taken; 2085 there is no such topic or queue; 2425; 2436, 2503.
    """
    group, qmgr = repository.group, repository.qmgr or ""
    name, string = subscription.topic_object.encode(), subscription.topic_string.encode()
    topic_string = topic_string_of(group, "DEFINE SUB", name, string)
    check_topic(group, topic_string, is_durable=True)
    selector_for(subscription.selector)
    number = new_identifier(qmgr.encode()).hex().upper()
    given = {field: getattr(subscription, field) for field in subscription.model_fields_set}
    values: dict[str, Any] = {"destination_correl_id": number, "user_id": user_identifier().decode(errors="replace")}
    values |= given | {"number": number, "topic_string": topic_string, "made_at": qmgr}
    if destination is not None:
        values |= _destination(destination)
    elif subscription.destination_q_mgr in ("", qmgr, group.name):
        found = repository.locate(subscription.destination)
        if found is None:
            queue = subscription.destination
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", queue, f"there is no queue {queue}")
        values["destination_q_mgr"] = "" if found.disposition == "SHARED" else qmgr
    return repository.topics.create(_parsed(values))


def define_connected_subscription(connection: Connection, subscription: Subscription) -> None:
    """DEFINE SUB with DESTCLAS(MANAGED), which makes its queue, or where publications are retained, which then come.

    Raises:
        MQIError: as for `define_subscription`; 2526, what is retained cannot be delivered.
    """
    name, string = subscription.topic_object.encode(), subscription.topic_string.encode()
    topic_string = topic_string_of(connection.group, "DEFINE SUB", name, string)
    topic = check_topic(connection.group, topic_string, is_durable=True)
    selector_for(subscription.selector)
    repository = _repository(connection)
    managed = _managed_queue(connection, topic, is_durable=True) if subscription.is_managed else None
    made: Subscription | None = None
    try:
        made = define_subscription(repository, subscription, managed)
        if managed is not None:
            repository.forget_made(managed.structure.keys.name, managed.name, connection.token)
        if made.is_on_request == "NO":
            _send_retained(connection, made, before=made.version)
    except MQIError:
        if not connection.is_ended:
            if made is not None:
                repository.topics.remove(made.number)
            _take_back(connection, managed, None)
        raise
    if managed is not None:
        close_handle(connection, managed)


def check_topic(group: Group, topic_string: str, *, is_durable: bool) -> Topic:
    """Return the attributes in force there. Raises MQIError: 2436, 2503, they allow no such subscription."""
    topic = topics_of(group).tree().at(topic_string)
    if topic.subscribe == "DISABLED":
        raise error_for(MQRC.SUB_INHIBITED, "MQSUB", topic_string, "SUB(DISABLED) of its topic")
    if is_durable and topic.durable_subscriptions == "NO":
        raise error_for(MQRC.DURABILITY_NOT_ALLOWED, "MQSUB", topic_string, "DURSUB(NO) of its topic")
    return topic


def _resume(
    connection: Connection, sd: MQSD, options: int, known: Subscription, queue: Handle | None
) -> SubscriptionHandle:
    """MQSO_RESUME, or MQSO_ALTER, of a subscription that exists."""
    _check_unaltered(connection, sd, options, known)
    topics = topics_of(connection.group)
    subscription = topics.hold(known.number, connection.token, connection)
    opened: Handle | None = None
    try:
        changes = _changes_of_user(connection, sd, options, subscription)
        if options & _S.ALTER:
            changes |= _alterable(sd, options)
            if queue is not None and not subscription.is_managed:
                changes |= _destination(_given(queue, known.name, is_durable=subscription.is_durable))
            _parsed(subscription.model_dump() | changes)
        # A queue that cannot be opened leaves the subscription as it was.
        if queue is None:
            opened = _opened_destination(connection, subscription)
        if changes:
            subscription = topics.alter_subscription(known.number, changes, connection.token, connection)
    except (MQIError, ValueError):
        if not connection.is_ended:
            topics.close(known.number, connection.token, connection)
            if opened is not None:
                close_handle(connection, opened)
        raise
    handle = SubscriptionHandle(connection.next_handle_number(), subscription, replace(sd), opened, queue)
    connection.subscriptions[handle.number] = handle
    _answer(sd, subscription)
    if not options & _S.ALTER:
        _tell(sd, options, subscription)
    return handle


def _opened_destination(connection: Connection, subscription: Subscription) -> Handle:
    """Open the queue of a subscription that exists. Raises MQIError: 2522, it is not there; those of MQOPEN."""
    od = MQOD(object_name=subscription.destination.encode())
    od.object_q_mgr_name = subscription.destination_q_mgr.encode()
    try:
        return open_queue(connection, od, _OPENED)
    except UnknownObjectName as error:
        detail = f"there is no {subscription.destination}"
        raise error_for(MQRC.INVALID_DESTINATION, "MQSUB", subscription.name, detail) from error


def _changes_of_user(connection: Connection, sd: MQSD, options: int, known: Subscription) -> dict[str, Any]:
    """Return what a resumed or altered subscription changes: it becomes that of the user, who may fix it.

    Raises:
        MQIError: 2434, it is fixed, and another user's.
    """
    user = _user(connection, sd)
    if known.variable_user == "FIXED" and user != known.user_id:
        raise error_for(MQRC.IDENTITY_MISMATCH, "MQSUB", known.name, f"it is that of {known.user_id}")
    changes = {} if user == known.user_id else {"user_id": user}
    if options & _S.ALTER and options & (_S.FIXED_USERID | _S.ANY_USERID):
        changes["variable_user"] = "FIXED" if options & _S.FIXED_USERID else "ANY"
    return changes


def _check_unaltered(connection: Connection, sd: MQSD, options: int, known: Subscription) -> None:
    """Refuse an MQSUB that says of an existing subscription what cannot be changed of it."""
    if sd.object_name or sd.object_string:
        topic_string = topic_string_of(connection.group, "MQSUB", sd.object_name, sd.object_string)
        scheme = "CHAR" if options & _S.WILDCARD_CHAR else "TOPIC"
        if topic_string != known.topic_string:
            raise error_for(MQRC.TOPIC_NOT_ALTERABLE, "MQSUB", known.name, f"it is to {known.topic_string}")
        if scheme != known.scheme and literal_levels(topic_string, known.scheme) >= 0:
            raise error_for(MQRC.TOPIC_NOT_ALTERABLE, "MQSUB", known.name, f"WSCHEMA({known.scheme})")
    if not options & _S.ALTER:
        return
    if bool(options & _S.DURABLE) != known.is_durable:
        raise error_for(MQRC.DURABILITY_NOT_ALTERABLE, "MQSUB", known.name)
    if sd.sub_level != known.level:
        raise error_for(MQRC.SUBLEVEL_NOT_ALTERABLE, "MQSUB", known.name)
    if options & _S.MANAGED and not known.is_managed:
        raise error_for(MQRC.OPTIONS_ERROR, "MQSUB", known.name, "DESTCLAS(PROVIDED)")


def _alterable(sd: MQSD, options: int) -> dict[str, Any]:
    """Return the fields of a subscription that MQSO_ALTER changes, too."""
    values: dict[str, Any] = {
        "user_data": _text(sd.sub_user_data),
        "priority": sd.pub_priority,
        "is_on_request": "YES" if options & _S.PUBLICATIONS_ON_REQUEST else "NO",
        "scope": "QMGR" if options & _S.SCOPE_QMGR else "ALL",
        "expiry": min(max(sd.sub_expiry, UNLIMITED_EXPIRY), MAX_EXPIRY),
        "expires_ms": end_of(sd.sub_expiry),
    }
    if options & _S.SET_CORREL_ID:
        values["destination_correl_id"] = sd.sub_correl_id.ljust(len(NULL_ID), b"\0").hex().upper()
    if options & _S.SET_IDENTITY_CONTEXT:
        token = sd.pub_accounting_token.ljust(len(NULL_ACCOUNTING_TOKEN), b"\0")
        values["accounting_token"] = token.hex().upper()
        values["identity_data"] = _text(sd.pub_appl_identity_data)
    return values


def _parsed(values: dict[str, Any]) -> Subscription:
    """Return a subscription. Raises MQIError: 2424, a field of the descriptor is not valid."""
    try:
        return parse_definition(Subscription, values)
    except ValueError as error:
        raise error_for(MQRC.SD_ERROR, "MQSUB", str(values["name"]), str(error)) from error


def _managed_queue(connection: Connection, topic: Topic, *, is_durable: bool) -> Handle:
    """Make and open a queue, which goes with this connection until its subscription is registered."""
    name = topic.durable_model if is_durable else topic.non_durable_model
    repository = _repository(connection)
    located = repository.lookup(name)
    if located is None or not isinstance(located.definition, QueueModel):
        raise error_for(MQRC.INVALID_DESTINATION, "MQSUB", name, "there is no such model queue")
    if is_durable and located.definition.definition_type == "TEMPDYN":
        raise error_for(MQRC.INVALID_DESTINATION, "MQSUB", name, "DEFTYPE(TEMPDYN) for a durable subscription")
    connection.access(located.definition.structure or private_structure(connection.qmgr_name))
    made = repository.create_dynamic(located.definition, _DURABLE if is_durable else _NON_DURABLE)
    try:
        return open_queue(connection, MQOD(object_name=made.name.encode()), _OPENED)
    except MQIError:
        if not connection.is_ended:
            connection.temporary_queues.append((connection.access(made.structure), made.name))
            delete_temporary_queues(connection)
        raise


def _given(queue: Handle | None, name: str, *, is_durable: bool) -> Handle:
    if queue is None or queue.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQSUB", name, "no queue for its publications is open")
    is_remote = bool(queue.destination)
    if not queue.options & (int(OpenOption.OUTPUT) if is_remote else _RECEIVES):
        raise error_for(MQRC.HOBJ_ERROR, "MQSUB", name, "the queue is not open for input or browsing")
    if is_durable and (queue.is_temporary or queue.definition.facts.is_temporary):
        raise error_for(MQRC.INVALID_DESTINATION, "MQSUB", name, "a temporary dynamic queue")
    return queue


def _destination(queue: Handle) -> dict[str, str]:
    """Return where publications go: a shared queue has no manager, because each of them reaches it."""
    if queue.destination:
        return {"destination": queue.destination.decode(), "destination_q_mgr": queue.target_qmgr.decode()}
    is_private = queue.structure.keys.name.startswith(private_structure(""))
    return {"destination": queue.name, "destination_q_mgr": queue.opened_at if is_private else ""}


def request(connection: Connection, handle: SubscriptionHandle, sro: MQSRO | None = None) -> int:
    """MQSUBRQ: have the retained publications of a subscription sent to its queue. *sro* returns how many came.

    Raises:
        MQIError: 2019, it is closed; 2437, nothing is retained; 2438 the version; 2526; 2046, 2161.
    """
    sro = MQSRO() if sro is None else sro
    refuse_structure(MQSRO, MQRC.SRO_ERROR, sro, "MQSUBRQ")
    if sro.version != 1:
        raise error_for(MQRC.SRO_ERROR, "MQSUBRQ", handle.object_name, f"version {sro.version}")
    if handle.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQSUBRQ", handle.object_name)
    if int(sro.options) & ~int(RequestOption.FAIL_IF_QUIESCING):
        raise error_for(MQRC.OPTIONS_ERROR, "MQSUBRQ", handle.object_name, told(RequestOption(sro.options)))
    if connection.is_quiescing and int(sro.options) & RequestOption.FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQSUBRQ", handle.object_name)
    flush_pending(connection)
    sro.num_pubs = _send_retained(connection, handle.subscription)
    if not sro.num_pubs:
        raise error_for(MQRC.NO_RETAINED_MSG, "MQSUBRQ", handle.object_name)
    return sro.num_pubs


def _send_retained(connection: Connection, subscription: Subscription, before: int = 0) -> int:
    """Put what is retained for a subscription on its queue. Returns how many publications that were.

    Args:
        before: not what was matched with the subscriptions of this version, or of a later one: that has come, or comes,
            by itself. 0: everything.

    Raises:
        MQIError: 2526, one of them can be put neither there nor on the dead-letter queue.
    """
    if subscription.level > _LEVEL_OF_RETAINED:
        return 0
    found = [each for each in _retained_for(connection, subscription) if not before or each.version < before]
    contents = [Publication(each.topic_string, each.md, each.body, is_retained=True) for each in found]
    wanted = [each for each in contents if is_selected(subscription, each)]
    for first in range(0, len(wanted), _TOGETHER):
        some = wanted[first : first + _TOGETHER]
        copies = [copy_for(subscription, each) for each in some]
        put_copies(connection, copies, subscription.topic_string)
        for copy in copies:
            if copy.failure is not None:
                detail = f"{copy.queue}: {copy.failure}"
                raise error_for(MQRC.RETAINED_NOT_DELIVERED, "MQSUB", subscription.topic_string, detail)
        connection.delivered.add(subscription.number for _ in copies)
    if connection.delivered.is_due:
        connection.tell_delivered()
    return len(wanted)


def _retained_for(connection: Connection, subscription: Subscription) -> Sequence[RetainedPublication]:
    scheme, wanted = subscription.scheme, subscription.topic_string
    if literal_levels(wanted, scheme) < 0:
        one = retained_at(connection, wanted)
        return [] if one is None else [one]
    tree = topics_of(connection.group).tree()
    return [
        each
        for each in all_retained(connection)
        if is_matched(wanted, scheme, each.topic_string)
        and not subscription.is_blocked(tree.blocked_levels(each.topic_string))
    ]


def _answer(sd: MQSD, subscription: Subscription) -> None:
    sd.sub_correl_id = bytes.fromhex(subscription.destination_correl_id)
    sd.res_object_string = subscription.topic_string.encode()


def _tell(sd: MQSD, options: int, subscription: Subscription) -> None:
    """Return what a resumed subscription has. Options of the call stay; the next call must say what it does."""
    token, identity = bytes.fromhex(subscription.accounting_token), subscription.identity_data.encode()
    sd.sub_expiry, sd.sub_level, sd.pub_priority = subscription.expiry, subscription.level, subscription.priority
    sd.sub_user_data, sd.selection_string = subscription.user_data.encode(), subscription.selector.encode()
    sd.pub_accounting_token, sd.pub_appl_identity_data = token, identity
    stored = {
        _S.DURABLE: subscription.is_durable,
        _S.MANAGED: subscription.is_managed,
        _S.SET_CORREL_ID: subscription.destination_correl_id != subscription.number,
        _S.SET_IDENTITY_CONTEXT: token != NULL_ACCOUNTING_TOKEN or bool(identity),
        _S.PUBLICATIONS_ON_REQUEST: subscription.is_on_request == "YES",
        _S.SCOPE_QMGR: subscription.scope == "QMGR",
        _S.FIXED_USERID: subscription.variable_user == "FIXED",
        _S.ANY_USERID: subscription.variable_user == "ANY",
        _S.WILDCARD_CHAR: subscription.scheme == "CHAR",
        _S.WILDCARD_TOPIC: subscription.scheme == "TOPIC",
    }
    sd.options = options & _OF_CALL | sum(int(option) for option, is_set in stored.items() if is_set)


def _repository(connection: Connection) -> Repository:
    return Repository(connection.group, connection.qmgr_name, caller=connection.token)


def _text(name: bytes) -> str:
    return name.rstrip(b" \0").decode(errors="replace")
