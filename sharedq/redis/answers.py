"""The meaning of an error of Redis for a call, a wait or a read, and how long each waits for a slot that moves.

Only this module decides the two.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

import redis
from redis.exceptions import AskError, MovedError, NoScriptError, TryAgainError

from sharedq.mqi.constants import MQRC

#: Redis' refusals of a write, and the reason that an MQ program gets for each.
REFUSALS = {
    "OOM": MQRC.STORAGE_MEDIUM_FULL,
    "MISCONF": MQRC.STORAGE_MEDIUM_FULL,
    "NOPERM": MQRC.NOT_AUTHORIZED,
    "WRONGPASS": MQRC.NOT_AUTHORIZED,
    # Another script has been running for too long.
    "BUSY": MQRC.UNEXPECTED_ERROR,
    # Protected mode.
    "DENIED": MQRC.NOT_AUTHORIZED,
}
#: Advice on some of these.
_ADVICE = {
    "DENIED": "Redis is in protected mode, and so takes nobody from another host: give it a password and put that into"
    " the URL, or set protected-mode no in a network that only igq reaches",
    "MISCONF": "Redis cannot write to its disk, which may be full",
}
#: Redis' errors for a command that it does not have: to a script, to one that asks for its rights, and to a client.
_UNKNOWN = re.compile(
    r"unknown (?:redis )?command called from script|invalid command passed to \w+\.acl_check_cmd"
    r"|unknown (?:sub)?command ['`]?(\w*)",
    re.IGNORECASE,
)
#: redis-py takes the first word off the errors for which it has a class.
_WORDS: tuple[tuple[type[redis.RedisError], str], ...] = (
    (redis.exceptions.OutOfMemoryError, "OOM"),
    (redis.exceptions.ReadOnlyError, "READONLY"),
    (redis.exceptions.NoPermissionError, "NOPERM"),
    (redis.exceptions.MasterDownError, "MASTERDOWN"),
    (redis.exceptions.ClusterDownError, "CLUSTERDOWN"),
)
#: The errors of Redis (7.2 and later, then 7.0) when it stops a script halfway, because the user has lost a right or
#: a slot of the Cluster was leaving.
_STOPPED = (
    "ACL failure in script",
    "The user executing the script can't",
    "Script attempted to access a non local key",
)
#: Redis' error for a long command before authentication.
_UNAUTHENTICATED = "unauthenticated"
#: Redis' errors when it has done nothing of a call, for a reason that passes: it does not know the script, or a slot of
#: the Cluster has moved (the first) or is about to.
UNDONE = (NoScriptError, MovedError, AskError, TryAgainError)


class Meaning(Enum):
    """The meaning of an error."""

    #: Nothing was done, for a reason that passes: send it again, maybe elsewhere.
    UNDONE = "undone"
    #: Nothing was done: no node of the Cluster serves this slot, or its node does not reach the others. Other slots may
    #: be served.
    NOT_SERVED = "not served"
    #: Nothing was done: `REFUSALS` has the reason.
    REFUSED = "refused"
    #: Nothing was done: Redis asks for a password.
    NO_PASSWORD = "no password"
    #: The server stopped a script in its middle.
    STOPPED = "stopped"
    #: The server is not the right one (any more, or yet): the connections to it are lost.
    LOST = "lost"
    #: Anything else: an error in a script or in its arguments.
    UNEXPECTED = "unexpected"


_MEANINGS = {
    **dict.fromkeys(REFUSALS, Meaning.REFUSED),
    "NOAUTH": Meaning.NO_PASSWORD,
    "CLUSTERDOWN": Meaning.NOT_SERVED,
    **dict.fromkeys(("READONLY", "LOADING", "MASTERDOWN", "UNBLOCKED", "NOREPLICAS"), Meaning.LOST),
}


_READERS = {
    Meaning.UNDONE: MQRC.CF_STRUC_IN_USE,
    Meaning.NOT_SERVED: MQRC.CF_NOT_AVAILABLE,
    Meaning.NO_PASSWORD: MQRC.NOT_AUTHORIZED,
    Meaning.UNEXPECTED: MQRC.UNEXPECTED_ERROR,
}


def word_of(error: redis.RedisError) -> str:
    """Return the first word of Redis' error."""
    known = next((word for kind, word in _WORDS if isinstance(error, kind)), None)
    return known or ("NOAUTH" if _UNAUTHENTICATED in str(error) else str(error).partition(" ")[0])


def reason_of(error: Exception) -> MQRC:
    """Return the reason that a reader gets for an error of Redis. A reader has changed nothing."""
    meaning = meaning_of(error) if isinstance(error, redis.RedisError) else Meaning.LOST
    if meaning is Meaning.REFUSED and isinstance(error, redis.RedisError):
        return REFUSALS[word_of(error)]
    return _READERS.get(meaning, MQRC.CONNECTION_BROKEN)


def is_withheld(reply: object) -> bool:
    """Whether this user may not use a command, or the server does not have it."""
    return isinstance(reply, redis.exceptions.NoPermissionError) or (
        isinstance(reply, redis.ResponseError) and _UNKNOWN.match(str(reply)) is not None
    )


def told(error: redis.RedisError, text: str = "") -> str:
    """Return an error of Redis for people: with advice, if an operator can do something about it.

    Args:
        text: the error, if it was made clearer.
    """
    text, word = text or str(error), word_of(error)
    if word == "DENIED":
        # Redis' own text has six hundred characters.
        return _ADVICE[word]
    if (unknown := _UNKNOWN.search(text)) is not None:
        command = f"the command {unknown[1].upper()}" if unknown[1] else "a command of a script"
        return f"{text}; Redis does not have {command}: undo its rename-command, igq needs each by its own name"
    return f"{_ADVICE[word]}: {text}" if word in _ADVICE else text


def meaning_of(error: redis.RedisError) -> Meaning:
    """Decide what an error of Redis means."""
    text, word = str(error), word_of(error)
    if any(words in text for words in _STOPPED):
        return Meaning.STOPPED
    if isinstance(error, UNDONE):
        return Meaning.UNDONE
    if isinstance(error, redis.AuthenticationError):
        return Meaning.NO_PASSWORD
    if word in _MEANINGS:
        return _MEANINGS[word]
    is_lost = isinstance(error, (redis.exceptions.ClusterError, redis.ConnectionError, redis.TimeoutError))
    return Meaning.LOST if is_lost else Meaning.UNEXPECTED


# -- patience -------------------------------------------------------------------------------------------------------

#: Seconds that a call waits for a slot to arrive at its new node. The keys of a structure are never separated: its
#: scripts run on the old node until the first key leaves, and on the new one when the last has come.
MOVE_LIMIT_S = 10.0
#: The same for a look at many structures: one that moves is left out.
LOOK_S = 0.5
#: The longest pause between two attempts, seconds.
PAUSE_MAX_S = 0.1


class _Patience(threading.local):
    limit_s = float("inf")


_patience = _Patience()


def move_limit_s() -> float:
    """Return how long a call of this thread waits for a slot, seconds."""
    return min(MOVE_LIMIT_S, _patience.limit_s)


def pause_s() -> float:
    """Return how long to wait until the next attempt, seconds."""
    return random.uniform(0, PAUSE_MAX_S)


@contextmanager
def little_patience(limit_s: float) -> Iterator[None]:
    """Within, this thread's calls wait no longer than *limit_s* for a slot that moves: other slots have work, too."""
    before, _patience.limit_s = _patience.limit_s, min(limit_s, _patience.limit_s)
    try:
        yield
    finally:
        _patience.limit_s = before
