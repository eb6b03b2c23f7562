"""Each error of Redis has one meaning, for calls, waits and readers."""

from __future__ import annotations

import re

import pytest
import redis
from redis.exceptions import AskError, MovedError, NoScriptError, TryAgainError

from sharedq.mqi.constants import MQRC
from sharedq.redis.answers import Meaning, meaning_of, reason_of, told

CASES = [
    (MovedError("1 127.0.0.1:1"), Meaning.UNDONE, MQRC.CF_STRUC_IN_USE),
    (AskError("1 127.0.0.1:1"), Meaning.UNDONE, MQRC.CF_STRUC_IN_USE),
    (TryAgainError("x"), Meaning.UNDONE, MQRC.CF_STRUC_IN_USE),
    (NoScriptError("x"), Meaning.UNDONE, MQRC.CF_STRUC_IN_USE),
    (redis.exceptions.ClusterDownError("Hash slot not served"), Meaning.NOT_SERVED, MQRC.CF_NOT_AVAILABLE),
    (redis.exceptions.ClusterDownError("The cluster is down"), Meaning.NOT_SERVED, MQRC.CF_NOT_AVAILABLE),
    (redis.exceptions.BusyLoadingError("x"), Meaning.LOST, MQRC.CONNECTION_BROKEN),
    (redis.exceptions.ReadOnlyError("x"), Meaning.LOST, MQRC.CONNECTION_BROKEN),
    (redis.exceptions.MasterDownError("x"), Meaning.LOST, MQRC.CONNECTION_BROKEN),
    (redis.ResponseError("NOREPLICAS Not enough good replicas"), Meaning.LOST, MQRC.CONNECTION_BROKEN),
    (redis.ResponseError("UNBLOCKED force unblock"), Meaning.LOST, MQRC.CONNECTION_BROKEN),
    (redis.ConnectionError("refused"), Meaning.LOST, MQRC.CONNECTION_BROKEN),
    (redis.TimeoutError("silent"), Meaning.LOST, MQRC.CONNECTION_BROKEN),
    (redis.exceptions.OutOfMemoryError("x"), Meaning.REFUSED, MQRC.STORAGE_MEDIUM_FULL),
    (redis.exceptions.NoPermissionError("x"), Meaning.REFUSED, MQRC.NOT_AUTHORIZED),
    (redis.ResponseError("NOAUTH x"), Meaning.NO_PASSWORD, MQRC.NOT_AUTHORIZED),
    (redis.ResponseError("Protocol error: unauthenticated bulk length"), Meaning.NO_PASSWORD, MQRC.NOT_AUTHORIZED),
    (redis.ResponseError("BUSY x"), Meaning.REFUSED, MQRC.UNEXPECTED_ERROR),
    (redis.ResponseError("ACL failure in script: x"), Meaning.STOPPED, MQRC.CONNECTION_BROKEN),
    (redis.ResponseError("DENIED Redis is running in protected mode"), Meaning.REFUSED, MQRC.NOT_AUTHORIZED),
    (redis.ResponseError("unknown command 'EVALSHA'"), Meaning.UNEXPECTED, MQRC.UNEXPECTED_ERROR),
    (redis.ResponseError("WRONGTYPE x"), Meaning.UNEXPECTED, MQRC.UNEXPECTED_ERROR),
]


@pytest.mark.parametrize(("error", "meaning", "reason"), CASES, ids=lambda value: str(value)[:40])
def test_an_error_has_one_meaning(error: redis.RedisError, meaning: Meaning, reason: MQRC) -> None:
    assert meaning_of(error) is meaning
    assert reason_of(error) is reason


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (redis.ResponseError("DENIED Redis is running in protected mode ..."), "^Redis is in protected mode.*password"),
        (redis.ResponseError("unknown command 'EVALSHA', with args"), "does not have the command EVALSHA: .*rename"),
        (redis.ResponseError("unknown command `wait`, with args"), "does not have the command WAIT: .*rename-command"),
        (redis.ResponseError("Unknown Redis command called from script script: 12, on @x"), "a command of a script"),
        (redis.ResponseError("Invalid command passed to redis.acl_check_cmd() script: on"), "a command of a script"),
        (redis.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"), "may be full: .*left"),
        (redis.ResponseError("WRONGTYPE x"), "^WRONGTYPE x$"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_error_that_an_operator_can_mend_comes_with_advice(error: redis.RedisError, said: str) -> None:
    text = told(error)

    assert re.search(said, text), text
    assert "\n" not in text
