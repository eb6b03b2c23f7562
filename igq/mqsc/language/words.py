"""The commands: verbs and objects of MQSC with their shortest abbreviations, and their numbers in PCF. Pure data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants.pcf import PCFCommand
from sharedq.mqi.constants.pcf import PCFParameter as Param


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the language. Any prefix of at least ``shortest`` letters means the same.

    Attributes:
        named_by: the parameter of PCF that names the object; 0 for none.
        shows: the parameter of PCF that lists the attributes to show; 0 for none.
        synonym: another word that means the same; empty for none.
    """

    name: str
    shortest: int
    operand: Literal["required", "optional", "none"] = "required"
    named_by: int = 0
    shows: int = 0
    synonym: str = ""

    def is_meant_by(self, text: str) -> bool:
        """Whether *text*, in upper case, is this word, its synonym or an allowed abbreviation."""
        return text == self.synonym or (len(text) >= self.shortest and self.name.startswith(text))


@dataclass(frozen=True, slots=True)
class CommandWords:
    """The commands of a verb for some objects, in MQSC and in PCF.

    Attributes:
        number: MQCMD_*; None for what PCF asks in another way.
        like: the command of PCF that takes the attributes from another object, and the parameter that names the new
            one.
        names: the command of PCF that asks for names only, and the parameter that lists them.
        named_by: the parameter of PCF that names the object, where the object's own does not.
    """

    verb: str
    objects: tuple[str, ...]
    number: PCFCommand | None = None
    like: tuple[PCFCommand, Param] | None = None
    names: tuple[PCFCommand, Param] | None = None
    named_by: int = 0


VERBS = (
    Word("ALTER", 3),
    Word("BACKUP", 3),
    Word("CLEAR", 3),
    Word("DEFINE", 3),
    Word("DELETE", 3),
    Word("DISPLAY", 3),
    Word("MOVE", 3),
    Word("PING", 4),
    Word("RECOVER", 3),
    Word("REFRESH", 3),
    Word("RESET", 5),
    Word("RESOLVE", 3),
    Word("SET", 3),
    Word("START", 3),
    Word("STOP", 4),
    Word("END", 3),
)

OBJECTS = (
    Word("QLOCAL", 2, named_by=Char.Q_NAME, shows=Param.Q_ATTRS),
    Word("QREMOTE", 2, named_by=Char.Q_NAME, shows=Param.Q_ATTRS),
    Word("QALIAS", 2, named_by=Char.Q_NAME, shows=Param.Q_ATTRS),
    Word("QMODEL", 2, named_by=Char.Q_NAME, shows=Param.Q_ATTRS),
    Word("QMGR", 4, "none", shows=Param.Q_MGR_ATTRS),
    Word("QUEUE", 1, named_by=Char.Q_NAME, shows=Param.Q_ATTRS),
    Word("QSTATUS", 2, named_by=Char.Q_NAME, shows=Param.Q_STATUS_ATTRS),
    Word("QSTATS", 6, named_by=Char.Q_NAME),
    Word("CFSTRUCT", 5, named_by=Char.CF_STRUC_NAME, shows=Param.CF_STRUC_ATTRS),
    Word("CFSTATUS", 5, named_by=Char.CF_STRUC_NAME),
    Word("SMDS", 4, named_by=Param.CF_SMDS, shows=Param.SMDS_ATTRS),
    Word("SMDSCONN", 5, named_by=Param.CF_SMDSCONN, shows=Param.SMDS_ATTRS),
    Word("GROUP", 5, "none"),
    Word("CONN", 4, "optional", named_by=Param.CONNECTION_ID, shows=Param.CONNECTION_ATTRS),
    Word("THREAD", 3, "optional"),
    Word("INDOUBT", 3, named_by=Param.APPL_TAG),
    Word("AUTHREC", 4, "none", shows=Param.AUTH_PROFILE_ATTRS),
    Word("QMSTATUS", 3, "none", shows=Param.Q_MGR_STATUS_ATTRS),
    Word("TOPIC", 3, named_by=Char.TOPIC_NAME, shows=Param.TOPIC_ATTRS),
    Word("SUB", 3, "optional", named_by=Param.SUB_NAME, shows=Param.SUB_ATTRS),
    Word("TPSTATUS", 3, named_by=Char.TOPIC_STRING, shows=Param.TOPIC_STATUS_ATTRS),
    Word("SBSTATUS", 2, "optional", named_by=Param.SUB_NAME, shows=Param.SUB_STATUS_ATTRS),
    Word("PUBSUB", 3, "none", shows=Param.PUBSUB_STATUS_ATTRS),
    Word("TOPICSTR", 6, named_by=Char.TOPIC_STRING),
    Word("PROCESS", 3, named_by=Char.PROCESS_NAME, shows=Param.PROCESS_ATTRS),
    Word("CMDSERV", 4, "none", synonym="CS"),
    Word("NAMELIST", 2, named_by=Char.NAMELIST_NAME, shows=Param.NAMELIST_ATTRS, synonym="NL"),
    Word("CHANNEL", 4, named_by=Param.CHANNEL_NAME, shows=Param.CHANNEL_ATTRS, synonym="CHL"),
    Word("LISTENER", 3, named_by=Param.LISTENER_NAME, shows=Param.LISTENER_ATTRS, synonym="LSTR"),
    Word("CHSTATUS", 3, named_by=Param.CHANNEL_NAME),
    Word("LSSTATUS", 3, named_by=Param.LISTENER_NAME, shows=Param.LISTENER_STATUS_ATTRS),
)

_QUEUES = ("QLOCAL", "QREMOTE", "QALIAS", "QMODEL")

#: Every command.
COMMANDS = (
    CommandWords("ALTER", _QUEUES, PCFCommand.CHANGE_Q),
    CommandWords("ALTER", ("QMGR",), PCFCommand.CHANGE_Q_MGR),
    CommandWords("ALTER", ("CFSTRUCT",), PCFCommand.CHANGE_CF_STRUC),
    CommandWords("ALTER", ("TOPIC",), PCFCommand.CHANGE_TOPIC),
    CommandWords("ALTER", ("SUB",), PCFCommand.CHANGE_SUBSCRIPTION),
    CommandWords("ALTER", ("PROCESS",), PCFCommand.CHANGE_PROCESS),
    CommandWords("ALTER", ("NAMELIST",), PCFCommand.CHANGE_NAMELIST),
    CommandWords("ALTER", ("CHANNEL",), PCFCommand.CHANGE_CHANNEL),
    CommandWords("ALTER", ("LISTENER",), PCFCommand.CHANGE_LISTENER),
    CommandWords("BACKUP", ("CFSTRUCT",), PCFCommand.BACKUP_CF_STRUC),
    CommandWords("CLEAR", ("QLOCAL",), PCFCommand.CLEAR_Q),
    CommandWords("CLEAR", ("TOPICSTR",), PCFCommand.CLEAR_TOPIC_STRING),
    CommandWords("DEFINE", _QUEUES, PCFCommand.CREATE_Q, like=(PCFCommand.COPY_Q, Param.TO_Q_NAME)),
    CommandWords(
        "DEFINE",
        ("CFSTRUCT",),
        PCFCommand.CREATE_CF_STRUC,
        like=(PCFCommand.COPY_CF_STRUC, Param.TO_CF_STRUC_NAME),
    ),
    CommandWords("DEFINE", ("TOPIC",), PCFCommand.CREATE_TOPIC, like=(PCFCommand.COPY_TOPIC, Param.TO_TOPIC_NAME)),
    CommandWords(
        "DEFINE", ("SUB",), PCFCommand.CREATE_SUBSCRIPTION, like=(PCFCommand.COPY_SUBSCRIPTION, Param.TO_SUB_NAME)
    ),
    CommandWords(
        "DEFINE",
        ("PROCESS",),
        PCFCommand.CREATE_PROCESS,
        like=(PCFCommand.COPY_PROCESS, Param.TO_PROCESS_NAME),
    ),
    CommandWords(
        "DEFINE",
        ("NAMELIST",),
        PCFCommand.CREATE_NAMELIST,
        like=(PCFCommand.COPY_NAMELIST, Param.TO_NAMELIST_NAME),
    ),
    CommandWords(
        "DEFINE",
        ("CHANNEL",),
        PCFCommand.CREATE_CHANNEL,
        like=(PCFCommand.COPY_CHANNEL, Param.TO_CHANNEL_NAME),
    ),
    CommandWords(
        "DEFINE",
        ("LISTENER",),
        PCFCommand.CREATE_LISTENER,
        like=(PCFCommand.COPY_LISTENER, Param.TO_LISTENER_NAME),
    ),
    CommandWords("DELETE", _QUEUES, PCFCommand.DELETE_Q),
    CommandWords("DELETE", ("CFSTRUCT",), PCFCommand.DELETE_CF_STRUC),
    CommandWords("DELETE", ("AUTHREC",), PCFCommand.DELETE_AUTH_REC),
    CommandWords("DELETE", ("TOPIC",), PCFCommand.DELETE_TOPIC),
    CommandWords("DELETE", ("SUB",), PCFCommand.DELETE_SUBSCRIPTION),
    CommandWords("DELETE", ("PROCESS",), PCFCommand.DELETE_PROCESS),
    CommandWords("DELETE", ("NAMELIST",), PCFCommand.DELETE_NAMELIST),
    CommandWords("DELETE", ("CHANNEL",), PCFCommand.DELETE_CHANNEL),
    CommandWords("DELETE", ("LISTENER",), PCFCommand.DELETE_LISTENER),
    CommandWords("DISPLAY", ("QUEUE",), PCFCommand.INQUIRE_Q, names=(PCFCommand.INQUIRE_Q_NAMES, Param.Q_NAMES)),
    CommandWords("DISPLAY", _QUEUES),
    CommandWords("DISPLAY", ("QMGR",), PCFCommand.INQUIRE_Q_MGR),
    CommandWords("DISPLAY", ("QSTATUS",), PCFCommand.INQUIRE_Q_STATUS),
    CommandWords(
        "DISPLAY",
        ("CFSTRUCT",),
        PCFCommand.INQUIRE_CF_STRUC,
        names=(PCFCommand.INQUIRE_CF_STRUC_NAMES, Param.CF_STRUC_NAMES),
    ),
    CommandWords("DISPLAY", ("GROUP",), PCFCommand.INQUIRE_QSG),
    CommandWords("DISPLAY", ("CONN",), PCFCommand.INQUIRE_CONNECTION),
    CommandWords("DISPLAY", ("THREAD",), PCFCommand.INQUIRE_THREAD),
    CommandWords("DISPLAY", ("AUTHREC",), PCFCommand.INQUIRE_AUTH_RECS),
    CommandWords("DISPLAY", ("CFSTATUS",), PCFCommand.INQUIRE_CF_STRUC_STATUS),
    CommandWords("DISPLAY", ("SMDS",), PCFCommand.INQUIRE_SMDS),
    CommandWords("DISPLAY", ("SMDSCONN",), PCFCommand.INQUIRE_SMDSCONN),
    CommandWords("DISPLAY", ("QMSTATUS",), PCFCommand.INQUIRE_Q_MGR_STATUS),
    CommandWords(
        "DISPLAY",
        ("TOPIC",),
        PCFCommand.INQUIRE_TOPIC,
        names=(PCFCommand.INQUIRE_TOPIC_NAMES, Param.TOPIC_NAMES),
    ),
    CommandWords("DISPLAY", ("SUB",), PCFCommand.INQUIRE_SUBSCRIPTION),
    CommandWords("DISPLAY", ("TPSTATUS",), PCFCommand.INQUIRE_TOPIC_STATUS),
    CommandWords("DISPLAY", ("PUBSUB",), PCFCommand.INQUIRE_PUBSUB_STATUS),
    CommandWords("DISPLAY", ("SBSTATUS",), PCFCommand.INQUIRE_SUB_STATUS),
    CommandWords(
        "DISPLAY",
        ("PROCESS",),
        PCFCommand.INQUIRE_PROCESS,
        names=(PCFCommand.INQUIRE_PROCESS_NAMES, Param.PROCESS_NAMES),
    ),
    CommandWords(
        "DISPLAY",
        ("NAMELIST",),
        PCFCommand.INQUIRE_NAMELIST,
        names=(PCFCommand.INQUIRE_NAMELIST_NAMES, Param.NAMELIST_NAMES),
    ),
    CommandWords(
        "DISPLAY",
        ("CHANNEL",),
        PCFCommand.INQUIRE_CHANNEL,
        names=(PCFCommand.INQUIRE_CHANNEL_NAMES, Param.CHANNEL_NAMES),
    ),
    CommandWords("DISPLAY", ("LISTENER",), PCFCommand.INQUIRE_LISTENER),
    CommandWords("DISPLAY", ("CHSTATUS",), PCFCommand.INQUIRE_CHANNEL_STATUS),
    CommandWords("DISPLAY", ("LSSTATUS",), PCFCommand.INQUIRE_LISTENER_STATUS),
    CommandWords("MOVE", ("QLOCAL",), PCFCommand.MOVE_Q, named_by=Param.FROM_Q_NAME),
    CommandWords("PING", ("QMGR",), PCFCommand.PING_Q_MGR),
    CommandWords("RECOVER", ("CFSTRUCT",), PCFCommand.RECOVER_CF_STRUC),
    CommandWords("REFRESH", ("QMGR",), PCFCommand.REFRESH_Q_MGR),
    CommandWords("RESET", ("QSTATS",), PCFCommand.RESET_Q_STATS),
    CommandWords("RESOLVE", ("INDOUBT",), PCFCommand.RESOLVE_INDOUBT),
    CommandWords("SET", ("AUTHREC",), PCFCommand.SET_AUTH_REC),
    CommandWords("DISPLAY", ("CMDSERV",), PCFCommand.INQUIRE_CMD_SERVER),
    CommandWords("START", ("QMGR",), PCFCommand.START_Q_MGR),
    CommandWords("START", ("CMDSERV",), PCFCommand.START_CMD_SERVER),
    CommandWords("START", ("CHANNEL",), PCFCommand.START_CHANNEL),
    CommandWords("START", ("LISTENER",), PCFCommand.START_CHANNEL_LISTENER),
    CommandWords("STOP", ("QMGR",), PCFCommand.STOP_Q_MGR),
    CommandWords("STOP", ("CONN",), PCFCommand.STOP_CONNECTION),
    CommandWords("STOP", ("CMDSERV",), PCFCommand.STOP_CMD_SERVER),
    CommandWords("STOP", ("CHANNEL",), PCFCommand.STOP_CHANNEL),
    CommandWords("STOP", ("LISTENER",), PCFCommand.STOP_CHANNEL_LISTENER),
)

#: The objects that a verb takes.
TAKES = {
    verb.name: tuple(name for each in COMMANDS if each.verb == verb.name for name in each.objects) for verb in VERBS
}


#: IBM MQ commands that igq does not have: verbs, and objects of verbs that it has.
OTHER_VERBS = (
    *(Word("ARCHIVE", 3), Word("PURGE", 3)),
    *(Word("RESUME", 4), Word("RVERIFY", 3), Word("SUSPEND", 3)),
)
OTHER_OBJECTS = (
    *(Word("APSTATUS", 3), Word("ARCHIVE", 3), Word("AUTHINFO", 5), Word("AUTHSERV", 5), Word("BSDS", 4)),
    *(Word("BUFFPOOL", 4), Word("CHANNEL", 4), Word("CHINIT", 4), Word("CHL", 3), Word("CHLAUTH", 4)),
    *(Word("CHSTATUS", 3), Word("CLUSQMGR", 5), Word("CLUSTER", 5), Word("COMMINFO", 5)),
    *(Word("ENTAUTH", 4), Word("INDOUBT", 3), Word("LISTENER", 3), Word("LOG", 3), Word("LSSTATUS", 3)),
    *(Word("MAXSMSGS", 4), Word("POLICY", 3)),
    *(Word("PSID", 4), Word("QCLUSTER", 2), Word("QSTATS", 6)),
    *(Word("SECURITY", 3), Word("SERVICE", 5), Word("SMDS", 4), Word("SMDSCONN", 5)),
    *(Word("STGCLASS", 3), Word("SVSTATUS", 3), Word("SYSTEM", 3), Word("TCLUSTER", 2)),
    *(Word("TPIPE", 3), Word("TRACE", 3), Word("USAGE", 3)),
    *(Word("CONN", 4), Word("QMGR", 4), Word("AUTHREC", 4)),
)


def supported() -> list[str]:
    """List the commands, a line for each verb: ``CLEAR QLOCAL``."""
    return [f"{verb} {', '.join(objects)}".rstrip() for verb, objects in TAKES.items()]


def find_unsupported(verb_text: str, object_text: str) -> str:
    """Return the IBM MQ command that is meant, if igq does not have it. Empty if IBM MQ has no such command."""
    verb = find_verb(verb_text) or next((word for word in OTHER_VERBS if word.is_meant_by(verb_text)), None)
    if verb is None:
        return ""
    if verb in VERBS:
        meant = next((word for word in OTHER_OBJECTS if word.is_meant_by(object_text)), None)
        return f"{verb.name} {meant.name}" if meant else ""
    return f"{verb.name} {object_text}".rstrip()


def find_verb(text: str) -> Word | None:
    """Return the verb that *text* means."""
    return next((word for word in VERBS if word.is_meant_by(text)), None)


def find_object(text: str, verb: str) -> Word | None:
    """Return the object that *text* means after *verb*."""
    return next((word for word in OBJECTS if word.name in TAKES[verb] and word.is_meant_by(text)), None)


def words_of(text: str) -> CommandWords | None:
    """Return the command that *text* begins with; None if there is no such command."""
    verb_text, object_text = (*re.findall(r"\w+", text.upper())[:2], "", "")[:2]
    verb = find_verb(verb_text)
    named = None if verb is None else find_object(object_text, verb.name)
    if verb is None or named is None:
        return None
    return next((each for each in COMMANDS if each.verb == verb.name and named.name in each.objects), None)


def perhaps(text: str, known: Iterable[str]) -> str:
    """Return ``, perhaps WORD`` if *text* is like one of *known*, else nothing, to end a list of expectations."""
    words = sorted(known)
    # A single known word is already named as the expected one.
    near = get_close_matches(text, words, n=1) if len(words) > 1 else []
    return f", perhaps {near[0]}" if near else ""
