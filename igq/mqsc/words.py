"""The verbs and objects of MQSC with their shortest abbreviations. Pure data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the language. Any prefix of at least ``shortest`` letters means the same."""

    name: str
    shortest: int
    operand: Literal["required", "optional", "none"] = "required"

    def is_meant_by(self, text: str) -> bool:
        """Whether *text*, in upper case, is this word or an allowed abbreviation."""
        return len(text) >= self.shortest and self.name.startswith(text)


VERBS = (
    Word("ALTER", 3),
    Word("BACKUP", 3),
    Word("CLEAR", 3),
    Word("DEFINE", 3),
    Word("DELETE", 3),
    Word("DISPLAY", 3),
    Word("MOVE", 3),
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
    Word("QLOCAL", 2),
    Word("QREMOTE", 2),
    Word("QALIAS", 2),
    Word("QMODEL", 2),
    Word("QMGR", 4, "none"),
    Word("QUEUE", 1),
    Word("QSTATUS", 2),
    Word("QSTATS", 6),
    Word("CFSTRUCT", 5),
    Word("CFSTATUS", 5),
    Word("GROUP", 5, "none"),
    Word("CONN", 4, "optional"),
    Word("THREAD", 3, "optional"),
    Word("INDOUBT", 3),
    Word("AUTHREC", 4, "none"),
)

#: The objects that a verb takes.
TAKES = {
    "ALTER": ("QLOCAL", "QREMOTE", "QALIAS", "QMODEL", "QMGR", "CFSTRUCT"),
    "BACKUP": ("CFSTRUCT",),
    "CLEAR": ("QLOCAL",),
    "DEFINE": ("QLOCAL", "QREMOTE", "QALIAS", "QMODEL", "CFSTRUCT"),
    "DELETE": ("QLOCAL", "QREMOTE", "QALIAS", "QMODEL", "CFSTRUCT", "AUTHREC"),
    "DISPLAY": (
        *("QUEUE", "QLOCAL", "QREMOTE", "QALIAS", "QMODEL"),
        *("QMGR", "QSTATUS", "CFSTRUCT", "GROUP", "CONN", "THREAD", "AUTHREC", "CFSTATUS"),
    ),
    "MOVE": ("QLOCAL",),
    "RECOVER": ("CFSTRUCT",),
    "REFRESH": ("QMGR",),
    "RESET": ("QSTATS",),
    "RESOLVE": ("INDOUBT",),
    "SET": ("AUTHREC",),
    "START": ("QMGR",),
    "STOP": ("QMGR", "CONN"),
    "END": (),
}


#: IBM MQ commands that igq does not have: verbs, and objects of verbs that it has.
OTHER_VERBS = (
    *(Word("ARCHIVE", 3), Word("PING", 4), Word("PURGE", 3)),
    *(Word("RESUME", 4), Word("RVERIFY", 3), Word("SUSPEND", 3)),
)
OTHER_OBJECTS = (
    *(Word("APSTATUS", 3), Word("ARCHIVE", 3), Word("AUTHINFO", 5), Word("AUTHSERV", 5), Word("BSDS", 4)),
    *(Word("BUFFPOOL", 4), Word("CHANNEL", 4), Word("CHINIT", 4), Word("CHL", 3), Word("CHLAUTH", 4)),
    *(Word("CHSTATUS", 3), Word("CLUSQMGR", 5), Word("CLUSTER", 5), Word("CMDSERV", 4), Word("COMMINFO", 5)),
    *(Word("ENTAUTH", 4), Word("INDOUBT", 3), Word("LISTENER", 3), Word("LOG", 3), Word("LSSTATUS", 3)),
    *(Word("MAXSMSGS", 4), Word("NAMELIST", 2), Word("NL", 2), Word("POLICY", 3), Word("PROCESS", 3)),
    *(Word("PSID", 4), Word("PUBSUB", 3), Word("QCLUSTER", 2), Word("QMSTATUS", 3), Word("QSTATS", 6)),
    *(Word("SBSTATUS", 2), Word("SECURITY", 3), Word("SERVICE", 5), Word("SMDS", 4), Word("SMDSCONN", 5)),
    *(Word("STGCLASS", 3), Word("SUB", 3), Word("SVSTATUS", 3), Word("SYSTEM", 3), Word("TCLUSTER", 2)),
    *(Word("TOPIC", 3), Word("TPIPE", 3), Word("TPSTATUS", 3), Word("TRACE", 3), Word("USAGE", 3)),
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


def perhaps(text: str, known: Iterable[str]) -> str:
    """Return ``, perhaps WORD`` if *text* is like one of *known*, else nothing, to end a list of expectations."""
    words = sorted(known)
    # A single known word is already named as the expected one.
    near = get_close_matches(text, words, n=1) if len(words) > 1 else []
    return f", perhaps {near[0]}" if near else ""
