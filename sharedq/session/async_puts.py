"""Puts that a program has asked for and that are not yet sent. Values."""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.messages.record import PutArguments
from sharedq.session.handle import Handle


@dataclass(slots=True)
class PendingPuts:
    """Messages of asynchronous puts through one handle that wait to be sent.

    Attributes:
        version: of the queue's definition that they were completed by, whatever the handle has learned since.
        details: the journal's lines about them; none where there is no journal.
        begun: for each message 1 where it is a put's first or only one, 0 where it is a later segment.
    """

    handle: Handle
    version: str
    arguments: list[PutArguments]
    details: list[str]
    begun: list[int]
