"""The walk through the tree of subscriptions to those that a publication matches, in as many calls as it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final

from sharedq.logical.topic_strings import levels_of
from sharedq.redis.keys import AdminKeys
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.objects import match_call

#: Levels, and places, that one call goes on with, at most.
_LEVELS: Final = 500
_PLACES: Final = 250


class Changed(Exception):
    """The subscriptions changed between two calls of a walk."""


class Walk:
    """One walk. Its calls raise `Changed` if they find several versions.

    Args:
        known: the version of the subscriptions that the caller knows; "" for none.
        call: calls a script.

    Attributes:
        version, topics_version: of the subscriptions, and of the topics.
        found: the subscriptions as JSON, each with its holder.
    """

    def __init__(self, keys: AdminKeys, known: str, call: Callable[[ScriptCall], Reply]) -> None:
        self._keys, self._known, self._call = keys, known, call
        self.version = self.topics_version = ""
        self.found: list[tuple[bytes, bytes]] = []
        # Places whose subscriptions are not read yet, and how many of the first place are.
        self._unread: list[str] = []
        self._skip = 0

    def go(self, topic_string: str) -> None:
        """Find the subscriptions to *topic_string*; nothing, if the version is the known one."""
        levels = levels_of(topic_string)
        # Places at this level, each with the nearest one above it for any levels; and those that are found at the next.
        here: dict[str, str] = {"": ""}
        after: dict[str, str] = {}
        while here or after:
            if not here:
                here, after, levels = after, {}, levels[1:]
            if not levels and len(here) > _PLACES:
                self._unread += here
                break
            given = dict(islice(here.items(), _PLACES))
            if len(given) == len(here) and not after:
                gone, here = self._step(levels[:_LEVELS], given, is_last=len(levels) <= _LEVELS)
                levels = levels[gone:]
            else:
                after |= self._step(levels[:1], given, is_last=False)[1]
                here = dict(islice(here.items(), len(given), None))
        while self._unread:
            self._step([], {}, is_last=True)

    def _step(self, levels: Sequence[str], places: Mapping[str, str], *, is_last: bool) -> tuple[int, dict[str, str]]:
        """Make one call. Returns how many levels it has gone, and the places that it has come to."""
        given = [] if places else self._unread[:_PLACES]
        reply = self._call(
            match_call(self._keys, self._known, levels, places, given, self._skip if given else 0, is_last=is_last)
        )
        topics, version, gone, reached, found, unread_from, skip, *pairs = reply
        if self.version and version.decode() != self.version:
            raise Changed
        self.topics_version, self.version = topics.decode(), version.decode()
        self.found += zip(pairs[::2], pairs[1::2], strict=True)
        names, left = [each.decode() for each in reached], [each.decode() for each in found]
        if is_last and not names:
            left, self._skip = (left[unread_from - 1 :], skip) if unread_from else ([], 0)
            self._unread = left + self._unread[len(given) :]
        else:
            self._unread += left
        return gone, dict(zip(names[::2], names[1::2], strict=True))
