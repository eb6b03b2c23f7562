"""The DISPLAY commands: what they read, and the records that they show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from igq.agent.queues.tags import ServingHandle, serving_handles
from igq.mqsc import messages
from igq.mqsc.actions.connections import connection_record, open_options
from igq.mqsc.actions.in_doubt import display_in_doubt
from igq.mqsc.language.attribute_values import find_parameter, read_choice
from igq.mqsc.language.parameters import AREAS, keywords
from igq.mqsc.language.parser import Command
from igq.mqsc.records import DisplayRequest, Shown, found_or_nothing, read_request, shown, shown_attributes, two_columns
from igq.operations.command_service import state_of
from igq.operations.queue_figures import FIGURES, figures_of
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import MAX_COUNT
from sharedq.objects.commands.display import LeftOut
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.names import is_generic, matches
from sharedq.objects.definitions.queues import QUEUE_KINDS, QueueLocal
from sharedq.objects.repository import DisplayedQueue, OpenHandle, Repository
from sharedq.objects.store.connections import connections_of, facts_of_owners, told_connections
from sharedq.objects.store.structures import Away
from sharedq.reading.activity import QueueActivity, read_activity
from sharedq.redis.keys import qmgr_of

_DISPOSITIONS = ("LIVE", "ALL", "QMGR", "COPY", "GROUP", "PRIVATE", "SHARED")
#: Attributes of queues whose value, or the beginning of it and an asterisk, DISPLAY QUEUE takes.
_GENERIC = ("CFSTRUCT", "CLUSTER", "CLUSNL", "STGCLASS")
#: The name that DISPLAY GROUP gives to each state of a member.
_MEMBER_STATUS = {
    "STARTING": "PENDING",
    "RUNNING": "ACTIVE",
    "QUIESCING": "ACTIVE",
    "STOPPED": "INACTIVE",
    "FAILED": "FAILED",
}


def display_queue(command: Command, repository: Repository) -> list[str]:
    """DISPLAY QUEUE, QLOCAL, QALIAS, QREMOTE, QMODEL."""
    kinds: tuple[str, ...] = (command.object_type,)
    if command.object_type == "QUEUE":
        kind = read_choice(command, "TYPE", ("ALL", "QUEUE", *QUEUE_KINDS), "ALL")
        kinds = () if kind in ("ALL", "QUEUE") else (kind,)
    disposition = read_choice(command, "QSGDISP", _DISPOSITIONS, "LIVE")
    options = {"TYPE", "QSGDISP", "CMDSCOPE"} if command.object_type == "QUEUE" else {"QSGDISP", "CMDSCOPE"}
    chosen_by = {each: find_parameter(command, each) for each in _GENERIC}
    patterns = {
        each: found.value for each, found in chosen_by.items() if found is not None and found.values is not None
    }
    options |= set(patterns)
    known = {keyword for kind in QUEUE_KINDS.values() for keyword in by_keyword(kind)} | {*keywords("QUEUE"), "QTYPE"}
    request = read_request(command, options, known, all_by_default=not is_generic(command.name))
    lines, serving = [], serving_handles(repository.group)
    queues, left_out = repository.display_queues_and_left_out(command.name, kinds, disposition)
    for queue in queues:
        record = list(_queue_record(queue, serving))
        shown_as = {each.keywords[0]: str(each.value) for each in record}
        if request.where(record) and all(matches(text, shown_as.get(each, "")) for each, text in patterns.items()):
            lines += [
                messages.details(command),
                *two_columns(request.select(record, always=2)),
            ]
    in_structures = patterns.get("CFSTRUCT", "*")
    return _found(lines, command, repository, [each for each in left_out if matches(in_structures, each.structure)])


#: The figures of DISPLAY QSTATUS that MONITOR asks for.
_MONITORED = ("LGETDATE", "LGETTIME", "LPUTDATE", "LPUTTIME", "MONQ", "MSGAGE", "QTIME")


def display_qmgr(command: Command, repository: Repository) -> list[str]:
    """DISPLAY QMGR."""
    known = (*by_keyword(QueueManagerAttributes), *keywords("QMGR"))
    areas = [each for each in command.parameters if each.keyword in AREAS]
    for each in areas:
        if each.values is not None:
            raise command.error(each, f"{each.keyword} without a value")
    request = read_request(command, ("CMDSCOPE", *AREAS), known, all_by_default=not areas)
    if request.keywords is not None:
        wanted = (keyword for each in areas for keyword in AREAS[each.keyword].keywords)
        request = replace(request, keywords=(*request.keywords, *wanted))
    attributes = repository.qmgr_attributes(repository.qmgr or "")
    record = shown_attributes(attributes)
    record += [shown("QMID", attributes.identifier(repository.group.name)), shown("VERSION", attributes.version)]
    # IBM reserves CPILEVEL. ADVCAP is a licence, which nobody needs here.
    record += [shown("ADVCAP", "DISABLED"), shown("CPILEVEL", 100)]
    record.sort(key=lambda each: each.keywords[0] != "QMNAME")
    return [messages.details(command), *two_columns(request.select(record, always=1))]


def display_structure(command: Command, repository: Repository) -> list[str]:
    """DISPLAY CFSTRUCT."""
    request = read_request(command, (), by_keyword(CFStruct), all_by_default=not is_generic(command.name))
    lines = []
    for structure in repository.structures():
        record = shown_attributes(structure)
        record.sort(key=lambda each: each.keywords[0] != "CFSTRUCT")
        if matches(command.name, structure.name) and request.where(record):
            lines += [
                messages.details(command),
                *two_columns(request.select(record, always=1)),
            ]
    return _found(lines, command)


def display_queue_status(command: Command, repository: Repository) -> list[str]:
    """DISPLAY QSTATUS: counts of each queue, or its open handles."""
    kind = read_choice(command, "TYPE", ("QUEUE", "HANDLE"), "QUEUE")
    is_by_queue = kind == "QUEUE"
    known = [keyword for keyword in keywords("QSTATUS", kind) if keyword != "TYPE"]
    open_type = read_choice(command, "OPENTYPE", ("ALL", "INPUT", "OUTPUT"), "ALL")
    request = _with_monitor(command, known, is_by_queue=is_by_queue)
    queues, left_out = repository.display_queues_and_left_out(command.name, (QueueLocal.kind,))
    if not queues:
        return _found([], command, repository, left_out)
    lines, serving = [], serving_handles(repository.group)
    owners = {} if is_by_queue else facts_of_owners(repository.group)
    monitoring = repository.qmgr_attributes(repository.qmgr or "").monitoring
    monitored = [queue for queue in queues if _is_monitored(queue, monitoring)] if is_by_queue else []
    ages, activities = repository.oldest_ages_ms(monitored), _activities(repository.group, monitored)
    for queue in queues:
        if is_by_queue:
            is_known = _is_monitored(queue, monitoring)
            activity = activities.get((queue.structure, queue.name), QueueActivity()) if is_known else QueueActivity()
            records = [list(_status_record(queue, serving, monitoring, ages.get(queue), activity))]
        else:
            handles = [*repository.queue_handles(queue), *(each.handle for each in serving if each.is_of(queue))]
            records = [list(_handle_record(queue, each, owners)) for each in handles if _is_open_for(each, open_type)]
        for record in records:
            if request.where(record):
                lines += [
                    messages.details(command),
                    *two_columns(request.select(record, always=2)),
                ]
    lines = lines or [messages.NOTHING_FOUND.format("handle" if kind == "HANDLE" else command.object_type)]
    return [*lines, *messages.left_out(left_out)]


def _with_monitor(command: Command, known: list[str], *, is_by_queue: bool) -> DisplayRequest:
    """Read what DISPLAY QSTATUS asks for. MONITOR asks for every figure that is gathered by MONQ."""
    asked = find_parameter(command, "MONITOR") if is_by_queue else None
    if asked is not None and asked.values is not None:
        raise command.error(asked, "MONITOR without a value")
    options = ("TYPE", "OPENTYPE", "CMDSCOPE", *(("MONITOR",) if is_by_queue else ()))
    request = read_request(command, options, known, all_by_default=asked is None)
    if asked is None or request.keywords is None:
        return request
    return replace(request, keywords=(*request.keywords, *_MONITORED))


def reset_queue_counts(command: Command, repository: Repository) -> list[str]:
    """RESET QSTATS: show the counts of each queue since they were reset, and reset them."""
    command.check_keywords(("CMDSCOPE",))
    if repository.qmgr_attributes(repository.qmgr or "").performance_event != "ENABLED":
        detail = "PERFMEV(DISABLED): nothing is counted; ALTER QMGR PERFMEV(ENABLED) begins it"
        raise error_for(MQRC.FUNCTION_NOT_SUPPORTED, "", command.name, detail)
    queues, left_out = repository.display_queues_and_left_out(command.name, (QueueLocal.kind,))
    lines = []
    for queue, counts in repository.reset_counts(queues).items():
        record = [
            shown("QSTATS", queue.name),
            shown("QSGDISP", queue.definition.disposition),
            shown("RESETINT", counts.seconds),
            shown("HIQDEPTH", counts.highest_depth),
            shown("MSGSIN", counts.puts),
            shown("MSGSOUT", counts.gets),
        ]
        lines += [messages.details(command), *two_columns(record)]
    return _found(lines, command, repository, left_out)


def display_group(command: Command, repository: Repository) -> list[str]:
    """DISPLAY GROUP: the members and their states."""
    read_request(command, ("OBSMSGS", "CMDSCOPE"), (), all_by_default=True)
    group = repository.group
    lines = [messages.details(command)]
    for number, member in enumerate(group.members(), 1):
        status, attributes = _MEMBER_STATUS.get(member.state, "UNKNOWN"), repository.qmgr_attributes(member.name)
        lines += two_columns(
            [
                shown("QMNAME", member.name),
                shown("QMSTATUS", status),
                shown("HOST", member.host),
                shown("PID", "" if member.state == "STOPPED" else member.pid),
                shown("QSGNAME", group.name),
                shown("IGQ", attributes.igq),
                shown("QMNUM", number),
                shown("CPF", ""),
                shown("CMDLEVEL", attributes.command_level),
                # Redis has the part of Db2: a member that runs is connected to it.
                shown("DB2NAME", ""),
                shown("DB2STAT", status),
            ]
        )
    return lines


def display_qmgr_status(command: Command, repository: Repository) -> list[str]:
    """DISPLAY QMSTATUS: the state of the manager, and how many connections of programs it has."""
    request = read_request(command, ("CMDSCOPE",), keywords("QMSTATUS"), all_by_default=True)
    group, qmgr = repository.group, repository.qmgr or ""
    member = group.member(qmgr)
    record = [
        shown("QMNAME", qmgr),
        shown("STATUS", member.state if member else "RUNNING"),
        shown("CHINIT", "STOPPED"),
        shown("CMDSERV", state_of(member) if member else "RUNNING"),
        shown("CONNS", sum(not each.is_own for each in told_connections(group, qmgr))),
        shown("HOSTNAME", member.host if member else ""),
        shown("QSGNAME", group.name),
    ]
    return [messages.details(command), *two_columns(request.select(record, always=1))]


def display_thread(command: Command, repository: Repository) -> list[str]:
    """DISPLAY THREAD: the manager's connections by application name, or the units of work in doubt. No regions."""
    kind = read_choice(command, "TYPE", ("ACTIVE", "INDOUBT", "REGIONS", "*"), "ACTIVE")
    options = ("TYPE", "CMDSCOPE", *(("QMNAME",) if kind == "INDOUBT" else ()))
    command.check_keywords(options)
    if kind == "INDOUBT":
        return display_in_doubt(command, repository)
    lines, away = [], Away()
    for connection in connections_of(repository.group, repository.qmgr or "", away):
        if kind in ("ACTIVE", "*") and matches(command.name or "*", connection.appl_name):
            lines += two_columns([shown("THREAD", connection.appl_name), *connection_record(connection)])
    if not lines:
        return [messages.NO_CONNECTIONS.format("active" if kind == "*" else kind)]
    return [messages.THREADS, *lines, *messages.away(away, messages.WORK_AND_HANDLES)]


def _found(
    lines: list[str], command: Command, queues: Repository | None = None, left_out: Sequence[LeftOut] = ()
) -> list[str]:
    """Return the answer. If no object has the name, that is an error; a pattern or filter may match nothing.

    Args:
        queues: given if the name is a queue's, which may exist in a structure that has failed.
        left_out: queues that exist and cannot be shown.
    """
    if not lines and queues is not None and not is_generic(command.name) and find_parameter(command, "WHERE") is None:
        queues.lookup(command.name)
    return [*found_or_nothing(lines, command), *messages.left_out(left_out)]


def _figures(queue: DisplayedQueue, serving: list[ServingHandle], *keywords: str) -> Iterator[Shown]:
    for name, value in figures_of(queue, serving).items():
        keyword = FIGURES[name][0]
        if keyword in keywords:
            yield shown(keyword, value if keyword != "UNCOM" else "YES" if value else "NO")


def _queue_record(queue: DisplayedQueue, serving: list[ServingHandle]) -> Iterator[Shown]:
    yield shown("QUEUE", queue.name)
    yield Shown(("TYPE", "QTYPE"), queue.definition.kind, f"TYPE({queue.definition.kind})")
    yield from (each for each in shown_attributes(queue.definition) if each.keywords[0] != "QUEUE")
    if queue.state is not None:
        yield from _figures(queue, serving, "CURDEPTH", "IPPROCS", "OPPROCS")
        # There are no page sets, and no IMS bridge.
        yield shown("PSID", "")
        yield shown("TPIPE", "")


def _is_monitored(queue: DisplayedQueue, of_manager: str) -> bool:
    assert isinstance(queue.definition, QueueLocal)
    return queue.definition.monitoring_level(of_manager) != "OFF"


def _activities(group: Group, queues: Sequence[DisplayedQueue]) -> dict[tuple[str, str], QueueActivity]:
    """Return the latest activity of queues, by structure and name. A queue with parts has none of its own."""
    found: dict[tuple[str, str], QueueActivity] = {}
    for structure in {queue.structure for queue in queues if queue.structure}:
        found |= {(structure, name): each for name, each in read_activity(group, structure).queues.items()}
    return found


def _status_record(
    queue: DisplayedQueue,
    serving: list[ServingHandle],
    of_manager: str,
    age_ms: int | None,
    activity: QueueActivity,
) -> Iterator[Shown]:
    assert queue.state is not None
    assert isinstance(queue.definition, QueueLocal)
    yield shown("QUEUE", queue.name)
    yield shown("TYPE", "QUEUE")
    yield from _figures(queue, serving, "CURDEPTH", "IPPROCS", "OPPROCS", "UNCOM")
    level = queue.definition.monitoring_level(of_manager)
    yield shown("MONQ", level)
    yield shown("QSGDISP", queue.definition.disposition)
    # Of an empty queue it is 0; blank means that the queue is not monitored.
    is_known = level != "OFF" and (age_ms is not None or not queue.state.available)
    yield shown("MSGAGE", (age_ms or 0) // 1000 if is_known else "")
    short, long = (_microseconds(seconds) for seconds in (activity.short_s, activity.long_s))
    yield Shown(("QTIME",), f"{short},{long}", f"QTIME({short or ' '},{long or ' '})")
    for keyword, at_ms in (("LPUT", activity.last_put_ms), ("LGET", activity.last_get_ms)):
        moment = None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
        yield shown(f"{keyword}DATE", f"{moment:%Y-%m-%d}" if moment else "")
        yield shown(f"{keyword}TIME", f"{moment:%H.%M.%S}" if moment else "")


def _microseconds(seconds: float | None) -> str:
    return "" if seconds is None else str(min(max(1, int(seconds * 1e6)), MAX_COUNT))


def _handle_record(
    queue: DisplayedQueue, handle: OpenHandle, owners: Mapping[str, Mapping[str, Any]]
) -> Iterator[Shown]:
    detail = json.loads(handle.detail) if handle.detail else {}
    token = handle.owner.partition("#")[0]
    facts = owners.get(token, {})
    how = "EXCL" if "X" in handle.mode else "SHARED" if "I" in handle.mode else "NO"
    yield shown("QUEUE", queue.name)
    yield shown("TYPE", "HANDLE")
    yield shown("APPLDESC", "")
    yield shown("APPLTAG", str(detail.get("appl", "")))
    yield shown("APPLTYPE", "SYSTEM" if "own" in facts else "USER")
    yield shown("ASTATE", "NONE")
    yield shown("CHANNEL", str(facts.get("channel", "")))
    yield shown("CONNAME", str(facts.get("conname", "")))
    yield shown("CONN", token)
    yield shown("HSTATE", "INACTIVE")
    yield shown("OPENOPTS", open_options(handle.mode))
    yield shown("QMURID", "")
    yield shown("URID", "")
    yield shown("URTYPE", "QMGR")
    yield shown("USERID", str(facts.get("user", "")))
    yield shown("INPUT", how)
    for keyword, letter in (("BROWSE", "B"), ("INQUIRE", "Q"), ("OUTPUT", "O"), ("SET", "S")):
        yield shown(keyword, "YES" if letter in handle.mode else "NO")
    yield shown("PID", int(detail.get("pid", 0)))
    yield shown("QMNAME", qmgr_of(token))
    yield shown("QSGDISP", queue.definition.disposition)


def _is_open_for(handle: OpenHandle, open_type: str) -> bool:
    letters = {"ALL": "", "INPUT": "IXB", "OUTPUT": "O"}[open_type]
    return not letters or any(letter in handle.mode for letter in letters)
