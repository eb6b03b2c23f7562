"""A link: one caller's own connections to Redis, over which it calls scripts.

A link belongs to one thread at a time. It never sends a call twice: if a reply is lost, the outcome is unknown, the
link is broken for good, and its owner reports MQRC_CONNECTION_BROKEN.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NoReturn, Protocol

import redis
from redis.exceptions import AskError, MovedError, NoScriptError
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_random_exponential

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.answers import (
    PAUSE_MAX_S,
    REFUSALS,
    UNDONE,
    Meaning,
    is_withheld,
    meaning_of,
    move_limit_s,
    pause_s,
    told,
    word_of,
)
from sharedq.redis.deployment import Deployment, Endpoint, SlotNotServedError
from sharedq.redis.keys import ADMIN_STRUCTURE
from sharedq.redis.script_source import in_our_files, load_script, mark_of_all, script_names
from sharedq.redis.wire import InterruptedCallError, Wait, Wire, Word, pack

Argument = Word
Reply = Any
#: Name of a script, its keys, its arguments (those after the first ones, where the keys are a `Front`).
ScriptCall = tuple[str, Sequence[str], Sequence[Argument]]
#: The calls of one write: a wire, what is sent over it, and the number of replies.
_Exchange = tuple[Wire, bytes, int]

_NO_PASSWORD = "Redis asks for a password, which is part of its URL: redis://USER:PASSWORD@HOST:6379"
IS_CLUSTER = "this server is a node of a Cluster, whose URL begins with redis+cluster://"
#: Seconds that a wait lasts at least: a time rounded down to 0 would wait for ever.
_BLOCK_LEAST_S = 0.01
#: Writes of equal calls that are under way at the same time: Redis works at one while we read the replies to another.
_WRITES_AHEAD = 2
#: Words of a command from which on it pays to look for neighbours of one length.
_MANY_WORDS = 20
#: A command without words.
_NOTHING = b"*0\r\n"


def _pack_many(words: Sequence[bytes]) -> bytes:
    """Pack hundreds of words, most of them as long as their neighbours, in a fifth of the time."""
    if len(words) < _MANY_WORDS:
        return pack(*words)
    packed = [b"*%d\r\n" % len(words)]
    for length, same in groupby(words, len):
        packed += (b"$%d\r\n" % length, (b"\r\n$%d\r\n" % length).join(same), b"\r\n")
    return b"".join(packed)


class Front(tuple[str, ...]):  # noqa: SLOT001 - a tuple subclass can have none
    """The keys of calls of one script that also begin with the same arguments: packed once, for all of them.

    Attributes:
        name: of the script.
        words: how many are packed.
    """

    name: str
    words: int
    packed: bytes

    @classmethod
    def of(cls, name: str, keys: Sequence[str], args: Sequence[Argument] = ()) -> Front:
        """The front of calls of the script *name*."""
        front = cls(keys)
        begun: tuple[Argument, ...] = ("EVALSHA", load_script(name).sha, len(keys), *keys, *args)
        front.name, front.words, front.packed = name, len(begun), _without_count(pack(*begun))
        return front

    def with_more(self, args: Sequence[Argument]) -> Front:
        """The front of calls that begin with *args*, too."""
        front = Front(self)
        front.name, front.words = self.name, self.words + len(args)
        front.packed = self.packed + _without_count(pack(*args))
        return front


#: As `Front.of`, for fronts that may be asked for again.
front_of = lru_cache(maxsize=8192)(Front.of)


def _without_count(packed: bytes) -> bytes:
    return packed[packed.index(b"\n") + 1 :]


def _pack_call(name: str, keys: Sequence[str], args: Sequence[Argument]) -> bytes:
    # The keys are half of what is sent and the same for every call of a handle, so they are packed once.
    front = keys if type(keys) is Front else front_of(name, tuple(keys))
    if not args:
        return b"*%d\r\n%b" % (front.words, front.packed)
    if len(args) == 1 and type(args[0]) is bytes:
        # Most often the record of a message.
        return b"*%d\r\n%b$%d\r\n%b\r\n" % (front.words + 1, front.packed, len(args[0]), args[0])
    packed = pack(*args)
    return b"*%d\r\n%b%b" % (front.words + len(args), front.packed, packed[packed.index(b"\n") + 1 :])


def _pack_calls(calls: Sequence[ScriptCall]) -> bytes:
    return b"".join([_pack_call(*call) for call in calls])


@lru_cache(maxsize=1024)
def _packed_block(wake_key: str, timeout_s: float) -> bytes:
    return pack("BLPOP", wake_key, timeout_s)


def _is_undone(replies: Sequence[Reply]) -> bool:
    return isinstance(replies[0], UNDONE)


class _Steps(threading.local):
    """Counts what a thread has begun that cannot be taken back: calls over any link, and changes of its own notes."""

    taken = 0


steps = _Steps()


class NotReplicatedError(redis.ConnectionError):
    """Too few replicas have acknowledged a change."""


class Reader(Protocol):
    """Runs a plain command on the server that holds *key*: a link, a group, a connection."""

    def command(self, key: str, *args: Argument) -> Reply:
        """Return the reply."""


class ManyReader(Reader, Protocol):
    """Runs several commands in one write, too."""

    def commands(self, key: str, commands: Sequence[Sequence[bytes]]) -> list[Reply]:
        """Return the replies, in order."""


class Link:
    """Calls scripts, one by one or many in one write.

    Args:
        deployment: finds the servers.
        timeout_s: longest wait for a reply. None: for ever (blocking calls have their own limit).
        wait: how its thread waits for a reply; None: in the read.
        wait_replicas: how many replicas must acknowledge a write before it counts (Redis WAIT). 0: none.
    """

    def __init__(
        self,
        deployment: Deployment,
        *,
        timeout_s: float | None = None,
        wait: Wait | None = None,
        wait_replicas: int = 0,
        wait_replicas_timeout_ms: int = 1000,
    ) -> None:
        self._deployment = deployment
        self._timeout_s, self._wait_for_reply = timeout_s, wait
        self.wait_for(wait_replicas, wait_replicas_timeout_ms)
        self._by_endpoint: dict[Endpoint, Wire] = {}
        self._by_key: dict[str, Wire] = {}
        self.is_broken = False
        #: Grows by one when a call is sent and when it is answered, so it is odd while a call is under way.
        self.turn = 0

    def wait_for(self, replicas: int, timeout_ms: int) -> None:
        """From the next call on, require this many replicas for a write. Another thread may call this."""
        self._wait = (replicas, timeout_ms) if replicas else None

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Run script *name* atomically and return its reply.

        Raises:
            MQIError: 2009, the outcome is unknown and the link is broken. For all others nothing was done: 2192, Redis
                is full; 2035, Redis refuses us; 2345, no node of a Cluster serves the structure; 2346, the structure is
                taking too long to move to another node.
        """
        return self.call_many(((name, keys, args),))[0]

    def call_many(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Run several scripts of one structure in order, in one write.

        A later call runs whatever an earlier one answered, so conditions must be in the calls themselves. If Redis
        refuses one of several calls, the reason is its answer, because the others have run.
        """
        key = calls[0][1][0]
        packed = _pack_call(*calls[0]) if len(calls) == 1 else _pack_calls(calls)
        return self._mended(key, calls, self._send(key, packed, len(calls)))

    def call_repeatedly(
        self, call: ScriptCall, per_write: int, writes: int, goes_on: Callable[[Sequence[Reply]], bool]
    ) -> list[Reply]:
        """Run one script many times, in order: at most *writes* writes of *per_write* calls each.

        A write leaves before the replies to the one before it are read, so Redis works while we read. Each call must
        make sense whatever the others do: if Redis did nothing of some, for a reason that passes, they have no replies.

        Args:
            goes_on: whether more is to be sent after a write with these replies.
        """
        key, wait = call[1][0], self._wait
        packed, count = _pack_call(*call) * per_write, per_write
        if wait is not None:
            packed, count = packed + pack("WAIT", *wait), count + 1

        def may_go_on(replies: Sequence[Reply]) -> bool:
            refused = any(isinstance(reply, redis.ResponseError) for reply in replies)
            return not refused and goes_on(replies[:per_write])

        exchanges = [(self._wire(key), packed, count)] * writes
        replies: list[Reply] = []
        for its in self._exchange_all(exchanges, ahead=_WRITES_AHEAD, goes_on=may_go_on):
            if wait is not None:
                self._check_consent(its, wait)
            replies += its
        done = [reply for reply in replies if not isinstance(reply, UNDONE)] or replies[:1]
        return self._mended(key, [call] * len(done), done)

    def _mended(self, key: str, calls: Sequence[ScriptCall], replies: list[Reply]) -> list[Reply]:
        """Return the answers to *calls* of one structure. Calls that did nothing are repeated; refusals are answers."""
        for position, reply in enumerate(replies):
            if isinstance(reply, redis.ResponseError):
                left = _pack_calls(calls[position:])
                # If earlier ones have run, the reason why these cannot is their answer.
                replies[position:] = (self._mend_or_refuse if position else self._mend)(key, left, replies[position:])
                judge = self._as_answer if len(calls) > 1 else self._checked
                return [judge(reply, name) for (name, _, _), reply in zip(calls, replies, strict=True)]
        return replies

    def block(self, wake_key: str, timeout_s: float) -> bytes | None:
        """Wait for a push to *wake_key* and take the value. None if *timeout_s* passed."""
        woken = self._block((wake_key,), timeout_s)
        return None if woken is None else woken[1]

    def block_any(self, wake_keys: Sequence[str], timeout_s: float) -> bytes | None:
        """Wait for a push to any of these keys of one structure, and take the value; see `block`. Returns the key."""
        woken = self._block(wake_keys, timeout_s)
        return None if woken is None else woken[0]

    def _block(self, wake_keys: Sequence[str], timeout_s: float) -> tuple[bytes, bytes] | None:
        """Wait for a push. The wait follows the slot to its new node, and the pushes that are there already go with it.

        Raises:
            MQIError: as `call`, but not 2346: this waits until the slot has arrived.
        """
        end_s = time.monotonic() + timeout_s
        (woken,) = self._send(wake_keys[0], pack("BLPOP", *wake_keys, timeout_s), 1)
        while isinstance(woken, UNDONE) and not self._is_told_to_go_elsewhere(woken):
            self._learn_from(woken, wake_keys[0])
            if not isinstance(woken, MovedError):
                time.sleep(pause_s())
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return None
            (woken,) = self._send(wake_keys[0], pack("BLPOP", *wake_keys, max(left_s, _BLOCK_LEAST_S)), 1)
        woken = self._checked(woken)
        return None if woken is None else (bytes(woken[0]), bytes(woken[1]))

    def call_apart(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Run scripts of several structures, in one write to each server. On one server they run in order.

        Each call runs whatever the others answered. If Redis refuses one, the reason is its answer.

        Raises:
            MQIError: 2009, the outcome of some of them is unknown.
        """
        positions: dict[Wire, list[int]] = {}
        replies: list[Reply] = [None] * len(calls)
        for position, (_, keys, _) in enumerate(calls):
            try:
                positions.setdefault(self._wire(keys[0]), []).append(position)
            except MQIError as refusal:
                replies[position] = self._refused(refusal)
        replication = self._wait
        wait = b"" if replication is None else pack("WAIT", *replication)
        found = self._exchange_all(
            [
                (wire, _pack_calls([calls[each] for each in its]) + wait, len(its) + bool(wait))
                for wire, its in positions.items()
            ]
        )
        for its, answers in zip(positions.values(), found, strict=True):
            if replication is not None:
                self._check_replicas(answers.pop(), replication[0])
            for position, reply in zip(its, answers, strict=True):
                replies[position] = reply
        for position, reply in enumerate(replies):
            if isinstance(reply, redis.ResponseError):
                name, keys, _ = calls[position]
                mended = self._mend_or_refuse(keys[0], _pack_call(*calls[position]), [reply])[0]
                replies[position] = self._as_answer(mended, name)
        return replies

    def call_then_block(
        self, calls: Sequence[ScriptCall], wake_key: str, timeout_s: float
    ) -> tuple[list[Reply], bytes | None]:
        """Run scripts of one structure as `call_many` does, and wait for a push to their *wake_key*, in one write.

        So the wait is no write of its own. The last script, if it has nothing to wait for, pushes a word to *wake_key*
        itself. A script that Redis refuses cannot do so: then the wait lasts *timeout_s*, which is to be short.

        Returns:
            The scripts' replies as for `call_many`, and what was pushed; None if *timeout_s* passed.
        """
        replies = self._send(wake_key, _pack_calls(calls), len(calls), _packed_block(wake_key, timeout_s))
        woken = replies.pop()
        # A wait that is refused (the slot moves) has not begun; the caller waits in another write.
        found = None if woken is None or isinstance(woken, redis.ResponseError) else bytes(woken[1])
        return self._mended(wake_key, calls, replies), found

    def block_then_call(self, wake_key: str, timeout_s: float, calls: Sequence[ScriptCall]) -> tuple[bool, list[Reply]]:
        """Wait for a push to *wake_key*, then run scripts of its structure, all in one write.

        The server runs the scripts at the moment that it unblocks us, so a wake-up costs one message and no second
        round trip.

        Returns:
            Whether a push woke us (false: *timeout_s* passed), and the scripts' replies as for `call_many`.
        """
        end_s = time.monotonic() + timeout_s
        packed = pack("BLPOP", wake_key, timeout_s) + _pack_calls(calls)
        woken, *replies = self._send(wake_key, packed, 1 + len(calls))
        replies = self._mended(wake_key, calls, replies)
        # If the wait was refused but the scripts ran, the caller must get what they found.
        if isinstance(woken, redis.ResponseError) and all(reply[0] == MQRC.NO_MSG_AVAILABLE for reply in replies):
            if not isinstance(woken, UNDONE):
                self._refuse(woken)
            # When a slot moves away, its node wakes blocked callers. A slot that is moving has no place to wait at.
            is_woken = self._block((wake_key,), max(end_s - time.monotonic(), _BLOCK_LEAST_S)) is not None
            return is_woken, self.call_many(calls)
        return woken is not None, replies

    def command(self, key: str, *args: Argument) -> Reply:
        """Run one plain read command on the server that holds *key*."""
        return self._checked(self._read(key, pack(*args)))

    def _read(self, key: str, packed: bytes) -> Reply:
        return self._mend(key, packed, self._exchange_all(((self._wire(key), packed, 1),))[0])[0]

    def commands(self, key: str, commands: Sequence[Sequence[bytes]], *, may_be_refused: bool = False) -> list[Reply]:
        """Run plain read commands of one structure, in order, in one write.

        Args:
            may_be_refused: the reply to a command that this user may not use, or that the service lacks, is None.
        """
        packed = b"".join([_pack_many(args) for args in commands])
        (replies,) = self._exchange_all(((self._wire(key), packed, len(commands)),))
        if any(isinstance(reply, UNDONE) for reply in replies):
            # The slot moved during them, or is about to. They only read, so all may be sent again.
            replies = [self._read(key, _pack_many(args)) for args in commands]
        if may_be_refused:
            replies = [None if is_withheld(reply) else reply for reply in replies]
        return [self._checked(reply) for reply in replies]

    def keep_alive(self) -> None:
        """Send each server an empty command, which it does not answer, so that no connection is closed as idle."""
        try:
            for wire in self._by_endpoint.values():
                wire.send(_NOTHING)
        except (redis.RedisError, OSError):
            # The next call reports it.
            self.close()

    def has_lost_server(self) -> bool:
        """Whether a server has closed its connection between calls, or the link is broken."""
        poll = select.poll()
        for wire in self._by_endpoint.values():
            if not wire.is_closed:
                # No reply is outstanding, so readable means closed.
                poll.register(wire, select.POLLIN)
        return self.is_broken or bool(poll.poll(0))

    def close(self) -> None:
        """Close every connection. A blocked call in another thread ends with 2009."""
        self.is_broken = True
        for wire in self._by_endpoint.values():
            wire.close()

    def interrupt(self) -> None:
        """End a call in which another thread waits, at once, with 2009."""
        self.is_broken = True
        for wire in list(self._by_endpoint.values()):
            wire.interrupt()

    def _wire(self, key: str) -> Wire:
        if self.is_broken:
            raise error_for(MQRC.CONNECTION_BROKEN, "", "", "the connection to Redis was lost")
        # All keys of a structure share their tag, so the part up to the brace identifies the wire.
        tag = key[: key.find("}") + 1]
        wire = self._by_key.get(tag)
        if wire is None:
            wire = self._by_key[tag] = self._connect(key)
        return wire

    def _connect(self, key: str) -> Wire:
        try:
            endpoint = self._locate(key)
            wire = self._by_endpoint.get(endpoint)
            if wire is None:
                opened = self._deployment.open(endpoint, timeout_s=self._timeout_s)
                wire = Wire(opened, self._wait_for_reply)
                self._by_endpoint[endpoint] = wire
                if self.is_broken:
                    # `interrupt` came while this connected, so it did not see the wire.
                    self._break(InterruptedCallError())
                try:
                    self._make_scripts_known(wire)
                except BaseException:
                    # The server reads its data still, or has gone again. Nothing that matters was sent.
                    self._by_endpoint.pop(endpoint, None)
                    wire.close()
                    raise
            return wire
        except SlotNotServedError as error:
            # Nothing was sent, and everything else on this link uses other servers.
            raise error_for(MQRC.CF_NOT_AVAILABLE, "", key[1 : key.find("}")], str(error)) from error
        except redis.AuthenticationError as error:
            raise error_for(MQRC.NOT_AUTHORIZED, "", "", f"Redis refused us: {error}") from error
        except (redis.RedisError, OSError) as error:
            if isinstance(error, redis.ResponseError) and meaning_of(error) is Meaning.REFUSED:
                self._refuse(error)
            is_needed = key.partition("}")[0].endswith(f":{ADMIN_STRUCTURE}")
            if self._deployment.is_cluster and not (is_needed or self.is_broken):
                # The same. Nothing works without the administration structure, so its loss ends everything.
                self._deployment.forget()
                raise error_for(MQRC.CF_NOT_AVAILABLE, "", key[1 : key.find("}")], str(error)) from error
            self._break(error, "Redis cannot be reached")

    def _locate(self, key: str) -> Endpoint:
        try:
            return self._deployment.locate(key)
        except SlotNotServedError:
            # The map of the Cluster may be old, and a node may serve the slot by now.
            self._deployment.forget()
            return self._deployment.locate(key)

    def _make_scripts_known(self, wire: Wire) -> None:
        """Load the scripts unless the server knows them."""
        # One name stands for all: to have every name, a program would put every script together.
        known_call = (wire, pack("SCRIPT", "EXISTS", mark_of_all().sha), 1)
        ((known,),) = self._exchange_all((known_call,), may_be_lost=True)
        if not self._checked(known)[0]:
            self._load_scripts(wire)

    def _load_scripts(self, wire: Wire) -> None:
        """Load all scripts.

        All of them, because in a write of several calls the first must not be unknown and the second known. The mark
        comes last: if this is cut off, the server does not know it.
        """
        scripts = [*(load_script(name) for name in script_names()), mark_of_all()]
        packed = b"".join(pack("SCRIPT", "LOAD", script.source) for script in scripts)
        for reply in self._exchange_all(((wire, packed, len(scripts)),))[0]:
            self._checked(reply)

    def _exchange_all(
        self,
        exchanges: Sequence[_Exchange],
        ahead: int | None = None,
        goes_on: Callable[[Sequence[Reply]], bool] = lambda _: True,
        *,
        may_be_lost: bool = False,
    ) -> list[list[Reply]]:
        """Send all before waiting for an answer. An error is returned in place of its reply.

        Args:
            ahead: send only so many first, and one more whenever the replies to one are read.
            goes_on: not even then if it says no to those replies.
            may_be_lost: leave it to the caller to judge a lost reply.
        """
        if self.turn & 1:
            # A signal handler calls in the middle of a call of its thread, and would read the reply to the outer call.
            raise error_for(MQRC.CALL_IN_PROGRESS, "", "", "this thread is in the middle of another call")
        self.turn += 1
        steps.taken += 1
        try:
            under_way = exchanges if ahead is None else list(exchanges[:ahead])
            for wire, packed, _ in under_way:
                wire.send(packed)
            found: list[list[Reply]] = []
            for wire, _, count in under_way:
                # Most often there is one, which needs no loop.
                replies = [wire.receive()] if count == 1 else [wire.receive() for _ in range(count)]
                found.append(replies)
                if ahead is not None and goes_on(replies):
                    # An answer was read, so Redis is not silent. The list grows while we go through it.
                    self.turn += 2
                    if len(under_way) < len(exchanges):
                        under_way.append(exchanges[len(under_way)])  # type: ignore[attr-defined] # it is a list here
                        to, packed, _ = under_way[-1]
                        to.send(packed)
        except (redis.RedisError, OSError, ValueError, AttributeError) as error:
            # ValueError, AttributeError: another thread closed a TLS socket.
            self.turn += 1
            if may_be_lost:
                raise
            self._break(error)
        except BaseException:
            # Interrupted between a call and its reply: the next reply would belong to this call.
            self.close()
            raise
        self.turn += 1
        return found

    def _send(self, key: str, packed: bytes, count: int, block: bytes = b"") -> list[Reply]:
        """Send calls of the structure of *key* in one write and read *count* replies, after the replicas' consent.

        Args:
            block: a command that follows this consent; its reply is one more, the last.
        """
        wait = self._wait
        if wait is None:
            if block:
                packed, count = packed + block, count + 1
            return self._exchange_all(((self._wire(key), packed, count),))[0]
        packed += pack("WAIT", *wait) + block
        (replies,) = self._exchange_all(((self._wire(key), packed, count + 1 + bool(block)),))
        last = replies[count + 1 :]
        del replies[count + 1 :]
        self._check_consent(replies, wait)
        return replies + last

    def _mend(self, key: str, packed: bytes, replies: list[Reply]) -> list[Reply]:
        """Send calls again if they did nothing for a reason that passes."""
        if not _is_undone(replies) or self._is_told_to_go_elsewhere(replies[0]):
            return replies

        def send_anew() -> list[Reply]:
            nonlocal replies
            if not all(isinstance(reply, UNDONE) for reply in replies):
                # A later call ran without an earlier one: the result is unknown.
                self._break(replies[0])
            self._learn_from(replies[0], key)
            replies = self._send(key, packed, len(replies))
            return replies

        # At once, and then at growing intervals: a slot that has moved is there, one that is moving needs time.
        mended: list[Reply] = Retrying(
            retry=retry_if_result(_is_undone),
            wait=wait_random_exponential(multiplier=0.005, max=PAUSE_MAX_S),
            stop=stop_after_delay(move_limit_s()),
            retry_error_callback=lambda _: replies,
        )(send_anew)
        forgotten = next((reply for reply in mended if isinstance(reply, NoScriptError)), None)
        if forgotten is not None:
            # Forgotten again and again, or between two of the calls. Some of them may have run.
            self._break(forgotten)
        return mended

    def _learn_from(self, error: redis.ResponseError, key: str) -> None:
        """Do what the next attempt needs, after one that did nothing for a reason that passes."""
        if isinstance(error, NoScriptError):
            self._load_scripts(self._wire(key))
        elif isinstance(error, MovedError):
            self._forget_places()

    def _forget_places(self) -> None:
        """Look for the slots anew: one of them has moved, or lost its node."""
        self._deployment.note_move()
        self._by_key.clear()

    def _mend_or_refuse(self, key: str, packed: bytes, replies: list[Reply]) -> list[Reply]:
        """Do the same for a part of several calls. If it cannot be sent again, the reason is the answer to each."""
        try:
            return self._mend(key, packed, replies)
        except MQIError as refusal:
            return [self._refused(refusal)] * len(replies)

    def _refused(self, refusal: MQIError) -> Reply:
        """Return the answer to a call that was not sent, as a script would give it. Raise if the link is broken."""
        if self.is_broken:
            raise refusal
        return [int(refusal.reason)]

    def _is_told_to_go_elsewhere(self, reply: Reply) -> bool:
        """Whether a server that we took for the only one names another, as a node of a Cluster does."""
        return isinstance(reply, MovedError | AskError) and not self._deployment.is_cluster

    def _checked(self, reply: Reply, name: str = "") -> Reply:
        """Raise if the *reply* of a command, or of the script *name*, is an error."""
        if isinstance(reply, redis.ResponseError):
            self._refuse(reply, name)
        return reply

    def _as_answer(self, reply: Reply, name: str) -> Reply:
        """Turn a refusal into the answer that the script *name* would give."""
        if not isinstance(reply, redis.ResponseError):
            return reply
        try:
            self._refuse(reply, name)
        except MQIError as refusal:
            if self.is_broken or meaning_of(reply) not in (Meaning.REFUSED, Meaning.UNDONE, Meaning.NOT_SERVED):
                raise
            return [int(refusal.reason)]

    def _check_consent(self, replies: list[Reply], wait: tuple[int, int]) -> None:
        """Take the last of *replies*, to WAIT, off them, and check it."""
        acknowledged = replies.pop()
        # A refused call has changed nothing that a replica could lack, and its reason tells more.
        if not all(isinstance(reply, redis.ResponseError) for reply in replies):
            self._check_replicas(acknowledged, wait[0])

    def _check_replicas(self, acknowledged: Reply, wanted: int) -> None:
        if isinstance(acknowledged, redis.ResponseError):
            self._break(acknowledged)
        if int(acknowledged) < wanted:
            # Done here but not on enough replicas: it may not survive a failover.
            self._break(NotReplicatedError(f"{acknowledged} of {wanted} replicas acknowledged"))

    def _refuse(self, error: redis.ResponseError, name: str = "") -> NoReturn:
        text, meaning = str(error), meaning_of(error)
        if name:
            text = in_our_files(text, name)
        if meaning is Meaning.STOPPED:
            # Scripts, or structure/attach for them, check their rights before they write, so a right was lost since.
            self._break(redis.ResponseError(text), "a script was stopped in its middle, what it had done stays")
        if meaning is Meaning.NO_PASSWORD:
            raise error_for(MQRC.NOT_AUTHORIZED, "", "", _NO_PASSWORD) from error
        if meaning is Meaning.REFUSED:
            raise error_for(REFUSALS[word_of(error)], "", "", told(error, text)) from error
        if self._is_told_to_go_elsewhere(error):
            raise error_for(MQRC.CF_NOT_AVAILABLE, "", "", IS_CLUSTER) from error
        if meaning is Meaning.NOT_SERVED:
            # Everything else on this link may be served. The next call looks for the slot anew.
            self._forget_places()
            raise error_for(MQRC.CF_NOT_AVAILABLE, "", "", f"no node of the Cluster serves it: {text}") from error
        if meaning is Meaning.UNDONE:
            raise error_for(MQRC.CF_STRUC_IN_USE, "", "", f"its slot of the Cluster is being moved: {text}") from error
        if meaning is Meaning.LOST:
            self._break(error)
        raise MQIError("", "", f"Redis: {told(error, text)}") from error

    def _break(self, error: Exception, what: str = "the connection to Redis was lost") -> NoReturn:
        self.is_broken = True
        self._deployment.forget()
        for wire in self._by_endpoint.values():
            wire.close()
        if isinstance(error, InterruptedCallError):
            raise error_for(MQRC.CONNECTION_BROKEN, "", "", str(error)) from error
        why = self._deployment.why_away()
        raise error_for(MQRC.CONNECTION_BROKEN, "", "", f"{what}: {why}{'; ' if why else ''}{error}") from error
