"""A finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How bad it is, the worst first."""

    #: Something does not work, or messages can be lost now.
    ERROR = 1
    #: Something will go wrong some day, or already does for somebody.
    WARNING = 2
    #: The operator may mean things to be so.
    NOTE = 3

    @property
    def word(self) -> str:
        """As it is shown."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class Diagnosis:
    """One thing that an operator should know.

    Attributes:
        what: one line.
        todo: what to do about it, one line.
    """

    severity: Severity
    what: str
    todo: str


def error(what: str, todo: str) -> Diagnosis:
    """A finding that something does not work."""
    return Diagnosis(Severity.ERROR, what, todo)


def warning(what: str, todo: str) -> Diagnosis:
    """A finding that something will go wrong."""
    return Diagnosis(Severity.WARNING, what, todo)


def note(what: str, todo: str) -> Diagnosis:
    """A finding that may be meant so."""
    return Diagnosis(Severity.NOTE, what, todo)
