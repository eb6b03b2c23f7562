"""What Redis' error means for the call, the wait or the read that got it. It is decided here, and nowhere else."""

from __future__ import annotations

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
}
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
    """What an error means."""

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
