"""The verbs and objects of MQSC and how far each may be shortened. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the language; any beginning of it of at least ``shortest`` letters means the same."""

    name: str
    shortest: int
    operand: Literal["required", "optional", "none"] = "required"

    def is_meant_by(self, text: str) -> bool:
        """Whether *text*, in upper case, is this word or a permitted abbreviation."""
        return len(text) >= self.shortest and self.name.startswith(text)


VERBS = (
    Word("ALTER", 3),
    Word("BACKUP", 3),
    Word("CLEAR", 3),
    Word("DEFINE", 3),
    Word("DELETE", 3),
    Word("DISPLAY", 3),
    Word("RECOVER", 3),
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
    Word("CFSTRUCT", 5),
    Word("CFSTATUS", 5),
    Word("GROUP", 5, "none"),
    Word("CONN", 4, "optional"),
    Word("THREAD", 3, "optional"),
    Word("INDOUBT", 3),
    Word("AUTHREC", 4, "none"),
)

#: Which objects a verb takes.
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
    "RECOVER": ("CFSTRUCT",),
    "RESOLVE": ("INDOUBT",),
    "SET": ("AUTHREC",),
    "START": ("QMGR",),
    "STOP": ("QMGR",),
    "END": (),
}


def find_verb(text: str) -> Word | None:
    """The verb that *text* means."""
    return next((word for word in VERBS if word.is_meant_by(text)), None)


def find_object(text: str, verb: str) -> Word | None:
    """The object that *text* means behind *verb*."""
    return next((word for word in OBJECTS if word.name in TAKES[verb] and word.is_meant_by(text)), None)
