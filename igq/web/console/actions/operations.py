"""Plans for managers, structures, units of work, connections, channels, topics and subscriptions."""

from __future__ import annotations

from functools import partial

from igq.errors import CommandError
from igq.mqsc.language.writing import command, parameter
from igq.web.access.gate import Refused
from igq.web.console.actions import attributes
from igq.web.console.actions.action import Asked, FormField, Plan, by_command, commanded
from igq.web.console.actions.places import manager_for, opened, running_managers
from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import Repository
from sharedq.settings.values import Settings

_TOPIC_FIRST = ("TOPICSTR", "DESCR", "PUB", "SUB", "DURSUB", "DEFPSIST", "DEFPRTY")


def _agent(word: str, question: str, _: Settings, asked: Asked) -> Plan:
    qmgr = asked.text("qmgr")
    changes = [parameter("IGQ", word)]
    return commanded(qmgr, command("ALTER", "QMGR", parameters=changes), question.format(qmgr=qmgr))


_AGENT_STOPS = (
    "ALTER QMGR IGQ(DISABLED): the IGQ agent of {qmgr} gets no more messages; those for {qmgr} need another "
    "transmission queue"
)


def _quiesce(_: Settings, asked: Asked) -> Plan:
    return commanded(asked.text("qmgr"), command("STOP", "QMGR", parameters=[parameter("MODE", "QUIESCE")]))


def _structure(verb: str, settings: Settings, asked: Asked) -> Plan:
    with opened(settings) as group:
        qmgr = manager_for(group, asked)
    parameters = [parameter("TYPE", "NORMAL")] if verb == "RECOVER" else []
    return commanded(qmgr, command(verb, "CFSTRUCT", asked.text("structure"), parameters))


def _resolve(how: str, settings: Settings, asked: Asked) -> Plan:
    """RESOLVE INDOUBT for one unit of work, at the manager that may give it."""
    nid = asked.text("nid")
    with opened(settings) as group:
        unit = next((each for each in prepared_units(group) if each.nid == nid), None)
        if unit is None:
            raise Refused(404, "this unit of work is no longer in doubt")
        running = running_managers(group)
        if not running:
            raise CommandError("no queue manager of the group is running")
        # A unit of the group can be resolved anywhere, one of a manager that is down with QMNAME.
        at = unit.qmgr if unit.qmgr in running else running[0]
        owner = at if unit.qmgr == group.name else unit.qmgr
    parameters = [parameter("ACTION", how), parameter("NID", nid)]
    if owner != at:
        parameters.append(parameter("QMNAME", owner))
    return commanded(at, command("RESOLVE", "INDOUBT", "*", parameters))


def _stop_connection(_: Settings, asked: Asked) -> Plan:
    return commanded(asked.text("qmgr"), command("STOP", "CONN", asked.text("connection")))


def _named(verb: str, kind: str, settings: Settings, asked: Asked) -> Plan:
    """A command about one object, at a manager that the form names: START or STOP of a channel, for example."""
    with opened(settings) as group:
        qmgr = manager_for(group, asked)
    return commanded(qmgr, command(verb, kind, asked.text("name")))


def _at_manager(settings: Settings, _: Asked) -> list[FormField]:
    with opened(settings) as group:
        return [FormField("qmgr", "At manager", choices=tuple(running_managers(group)))]


def _define_topic_form(_: Settings, _asked: Asked) -> list[FormField]:
    fields = attributes.attribute_fields(Topic, _TOPIC_FIRST, None)
    return [FormField("name", "Name", "1 to 48 of A-Z a-z 0-9 . / _ %.", is_required=True), *fields]


def _define_topic(settings: Settings, asked: Asked) -> Plan:
    with opened(settings) as group:
        qmgr = manager_for(group, asked)
    return commanded(
        qmgr, command("DEFINE", Topic.kind, asked.text("name"), attributes.given(Topic, asked.attributes()))
    )


def _topic(settings: Settings, asked: Asked) -> tuple[str, Topic]:
    with opened(settings) as group:
        qmgr, name = manager_for(group, asked), asked.text("name")
        known = Repository(group, qmgr).topics.tree().by_name.get(name)
    if known is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", name, "no such topic")
    return qmgr, known


def _alter_topic_form(settings: Settings, asked: Asked) -> list[FormField]:
    return attributes.attribute_fields(Topic, _TOPIC_FIRST, _topic(settings, asked)[1], ("TOPICSTR",))


def _alter_topic(settings: Settings, asked: Asked) -> Plan:
    qmgr, known = _topic(settings, asked)
    changes = attributes.changed(known, asked.attributes(), ("TOPICSTR",))
    if not changes:
        raise Refused(400, "nothing is changed yet")
    return commanded(qmgr, command("ALTER", Topic.kind, known.name, changes))


def _clear_retained(settings: Settings, asked: Asked) -> Plan:
    qmgr, known = _topic(settings, asked)
    if not known.topic_string:
        raise Refused(400, "the root of the tree has no publication")
    return commanded(qmgr, command("CLEAR", "TOPICSTR", known.topic_string, [parameter("CLRTYPE", "RETAINED")]))


def _delete_subscription(settings: Settings, asked: Asked) -> Plan:
    # A subscription of a program may have no name; its number is unique.
    with opened(settings) as group:
        qmgr = manager_for(group, asked)
    return commanded(qmgr, command("DELETE", "SUB", parameters=[parameter("SUBID", asked.text("number"))]))


ACTIONS = (
    by_command("start-agent", "Start agent", "manager", "ALTER", partial(_agent, "ENABLED", "")),
    by_command(
        "stop-agent", "Stop agent", "manager", "ALTER", partial(_agent, "DISABLED", _AGENT_STOPS), is_dangerous=True
    ),
    by_command("quiesce", "Quiesce", "manager", "STOP", _quiesce, is_dangerous=True),
    by_command("backup", "Back up", "structure", "BACKUP", partial(_structure, "BACKUP")),
    by_command("recover", "Recover", "structure", "RECOVER", partial(_structure, "RECOVER"), is_dangerous=True),
    by_command("commit", "Commit", "unit", "RESOLVE", partial(_resolve, "COMMIT"), is_dangerous=True),
    by_command("backout", "Back out", "unit", "RESOLVE", partial(_resolve, "BACKOUT"), is_dangerous=True),
    by_command("stop-connection", "Stop", "connection", "STOP", _stop_connection, is_dangerous=True),
    by_command("start-channel", "Start", "channel", "START", partial(_named, "START", "CHANNEL"), form=_at_manager),
    by_command(
        "stop-channel",
        "Stop",
        "channel",
        "STOP",
        partial(_named, "STOP", "CHANNEL"),
        form=_at_manager,
        is_dangerous=True,
    ),
    by_command("start-listener", "Start", "listener", "START", partial(_named, "START", "LISTENER"), form=_at_manager),
    by_command(
        "stop-listener",
        "Stop",
        "listener",
        "STOP",
        partial(_named, "STOP", "LISTENER"),
        form=_at_manager,
        is_dangerous=True,
    ),
    by_command("define-topic", "Define a topic", "topics", "DEFINE", _define_topic, form=_define_topic_form),
    by_command("alter-topic", "Alter", "topic", "ALTER", _alter_topic, form=_alter_topic_form),
    by_command("clear-retained", "Clear retained", "topic", "CLEAR", _clear_retained, is_dangerous=True),
    by_command("delete-topic", "Delete", "topic", "DELETE", partial(_named, "DELETE", Topic.kind), is_dangerous=True),
    by_command("delete-subscription", "Delete", "subscription", "DELETE", _delete_subscription, is_dangerous=True),
)
