"""The answers of a resource manager to an external coordinator: X/Open's names and numbers, as in ``xa.h``. Pure."""

from __future__ import annotations

from enum import IntEnum


class XAReturn(IntEnum):
    """Return codes of the XA interface that have a meaning here."""

    #: It was committed, but not by this coordinator; or the coordinator committed it and forgot.
    XA_HEURCOM = 7
    #: The same for a back-out; or all of it was lost with its structures, even if it was committed.
    XA_HEURRB = 6
    #: It was committed, except a part that was lost with its structure.
    XA_HEURMIX = 5
    XA_OK = 0
    #: There is no such external id.
    XAER_NOTA = -4
    XAER_INVAL = -5
    #: The call does not fit what went before.
    XAER_PROTO = -6
    #: The external id was used already.
    XAER_DUPID = -8


class XAError(Exception):
    """A call of an external coordinator could not be done, or (XA_HEURMIX, XA_HEURRB) not as it was asked for.

    Attributes:
        xid: the external id.
        detail: the one fact that explains it.
    """

    def __init__(self, code: XAReturn, xid: bytes, detail: str) -> None:
        super().__init__(code, xid, detail)
        self.code, self.xid, self.detail = code, xid, detail

    def __str__(self) -> str:
        return f"{self.code.name} ({self.code:d}), {self.xid!r}: {self.detail}"
