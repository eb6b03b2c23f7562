"""The handles of one client: the numbers that it knows, and the objects that they stand for."""

from __future__ import annotations

from typing import Final

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.session.handle import Handle
from sharedq.session.topics import SubscriptionHandle
from sharedq.verbs import AnyHandle

#: Handles of one client, at most. MAXHANDS limits queues before; this limits what exists in this process only.
HANDLES_MAX: Final = 65_536
#: MQHOUNUSABLE_HOBJ.
UNUSABLE: Final = -1
#: An MQHOBJ has 32 bits and a sign.
_NUMBER_MAX: Final = (1 << 31) - 1


class Handles:
    """Numbers of open objects and subscriptions. A number is used again only after all others."""

    def __init__(self) -> None:
        self._by_number: dict[int, AnyHandle | SubscriptionHandle] = {}
        self._last = 0

    def check_room(self) -> None:
        """Raises MQIError: 2017, there are too many handles."""
        if len(self._by_number) >= HANDLES_MAX:
            raise error_for(MQRC.HANDLE_NOT_AVAILABLE, "", "", f"{HANDLES_MAX} handles")

    def add(self, handle: AnyHandle | SubscriptionHandle | None) -> int:
        """Return a number for what a call has opened, or MQHOUNUSABLE_HOBJ if it has opened nothing."""
        if handle is None:
            return UNUSABLE
        self._last = self._last % _NUMBER_MAX + 1
        while self._last in self._by_number:
            self._last = self._last % _NUMBER_MAX + 1
        self._by_number[self._last] = handle
        return self._last

    def forget(self, number: int) -> None:
        self._by_number.pop(number, None)

    def any(self, number: int) -> AnyHandle | SubscriptionHandle:
        """The object or subscription of a number. Raises MQIError: 2019."""
        found = self._by_number.get(number)
        if found is None:
            raise error_for(MQRC.HOBJ_ERROR, "", "", f"handle {number}")
        return found

    def object(self, number: int) -> AnyHandle:
        """An open object. Raises MQIError: 2019."""
        found = self.any(number)
        if isinstance(found, SubscriptionHandle):
            raise error_for(MQRC.HOBJ_ERROR, "", "", f"handle {number} is a subscription")
        return found

    def queue(self, number: int) -> Handle:
        """An open queue. Raises MQIError: 2019."""
        found = self.any(number)
        if not isinstance(found, Handle):
            raise error_for(MQRC.HOBJ_ERROR, "", "", f"handle {number} is no queue")
        return found
