"""The errors that calls raise: ``MQMIError`` for all but MQCC_OK, ``PYIFError`` for a wrong use of these classes."""

from __future__ import annotations

import struct
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from sharedq.pymqi import CMQC, CMQCFC


def names_by_number(module: ModuleType, family: str) -> dict[int, str]:
    """The names of a family of constants, such as ``MQRC_``."""
    return {value: name for name, value in vars(module).items() if name.startswith(family)}


class Error(Exception):
    """The base of both."""


class MQMIError(Error):
    """A call ended with a warning or failed.

    Attributes:
        comp: completion code, MQCC_WARNING or MQCC_FAILED.
        reason: reason code, MQRC_*.
        message, original_length: from a get only: the data returned (cut), and the length of the whole message.
    """

    errStringDicts = (names_by_number(CMQC, "MQRC_"), names_by_number(CMQCFC, "MQRCCF_"))  # noqa: N815 - pymqi's name
    comp: int = CMQC.MQCC_OK
    reason: int = CMQC.MQRC_NONE

    def __init__(self, comp: int, reason: int, **kw: Any) -> None:
        self.comp, self.reason = int(comp), int(reason)
        super().__init__(self.comp, self.reason)
        for name, value in kw.items():
            setattr(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __str__(self) -> str:
        return f"MQI Error. Comp: {self.comp}, Reason {self.reason}: {self.errorAsString()}"

    def errorAsString(self) -> str:  # noqa: N802 - pymqi's name
        """``OK``, or ``WARNING: `` or ``FAILED: `` and the reason's name."""
        if self.comp == CMQC.MQCC_OK:
            return "OK"
        prefix = "WARNING: " if self.comp == CMQC.MQCC_WARNING else "FAILED: "
        for names in self.errStringDicts:
            if self.reason in names:
                return prefix + names[self.reason]
        return f"{prefix}Error code {self.reason} not defined"


class PYIFError(Error):
    """A call that makes no sense now: not connected, not open, open already; or a wrong argument. ``error`` says which.

    Wrong arguments are of derived classes, which are at the same time the exceptions of Python that pymqi raises.
    """

    def __init__(self, e: object) -> None:
        super().__init__(e)
        self.error = e

    def __str__(self) -> str:
        return f"PYMQI Error: {self.error}"


class WrongTypeError(PYIFError, TypeError):
    """An argument of a type that a call does not take. In pymqi it is a TypeError, or what comes of it later."""


class WrongValueError(PYIFError, ValueError):
    """An argument with a value that nothing can be made of. In pymqi it is a ValueError."""


class WrongMemberError(PYIFError, struct.error):
    """A value that a structure has no place for. In pymqi it is a struct.error."""


class UnknownMemberError(PYIFError, AttributeError):
    """A structure has no member of this name. In pymqi it is an AttributeError."""


def check(comp: int, reason: int) -> None:
    """Raise unless a call ended with MQCC_OK."""
    if comp != CMQC.MQCC_OK:
        raise MQMIError(comp, reason)


def fail(reason: int) -> NoReturn:
    """Raise MQCC_FAILED with *reason*."""
    raise MQMIError(CMQC.MQCC_FAILED, reason)
