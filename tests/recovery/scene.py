"""A group in which QM1 dies with every kind of unfinished work of a manager, and the required result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from recovery.resolution import RecoveryReport, recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import Argument
from sharedq.session.connection import Connection
from sharedq.session.unit_of_work import CHUNK_MESSAGES
from tests.support.members import TestGroup

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
#: Messages of a unit of work that takes two chunks.
LARGE = CHUNK_MESSAGES + 100
TAG = "GSERIAL"
DEAD = "QM1.1"


class Died(Exception):
    """The process that made this call is dead from here on."""


def die_after(connection: Connection, name: str) -> None:
    """Let *connection*'s process die after Redis has run the script *name*, before it learns of that."""
    _interpose(connection, lambda call: call[0] == name, lambda: _die(connection))


def die_after_call(connection: Connection, number: int) -> None:
    """As `die_after`, at the *number*-th script of the connection from now on."""
    after_call(connection, number, lambda: _die(connection))


def after_call(connection: Connection, number: int, act: Callable[[], None]) -> None:
    """Do something after Redis has run the *number*-th script of the connection from now on, and none after it."""
    numbers = count(1)
    _interpose(connection, lambda _call: next(numbers) == number, act)


def once_true(connection: Connection, is_true: Callable[[], bool], act: Callable[[], None]) -> None:
    """Do something after the first script of the connection from now on that makes *is_true* so."""
    done = False

    def act_once() -> None:
        nonlocal done
        if not done and is_true():
            done = True
            act()

    _interpose(connection, lambda _call: True, act_once)


def _die(connection: Connection) -> None:
    # Otherwise the thread that renews its lease would tell the group of the lost connection, however late. When the
    # group has been restored meanwhile, another connection may have the same token.
    connection.process.stop_renewing()
    raise Died


def _interpose(connection: Connection, is_due: Callable[[Any], bool], act: Callable[[], None]) -> None:
    call_many = connection.call_many

    def call_then_act(calls: Sequence[Any]) -> list[Any]:
        replies = []
        # One by one: of the scripts in one write the first may have arrived, and the rest not.
        for call in calls:
            replies += call_many([call])
            if is_due(call):
                act()
        return replies

    connection.call_many = call_then_act  # type: ignore[method-assign]  # the one door to the scripts


@contextmanager
def dying() -> Iterator[None]:
    """Code within must end with the death of its process."""
    try:
        yield
    except Died:
        return
    raise AssertionError("it lives")


@dataclass
class Scene:
    """The group, and QM1's connections by their work."""

    test: TestGroup
    victims: dict[str, QueueManagerConnection] = field(default_factory=dict)
    waiter: Queue | None = None
    programs_at_dump: int = 0

    @classmethod
    def set(cls, test: TestGroup) -> Scene:
        """QM1 with its queues, its peers QM2 and QM3, and a second structure."""
        test.add_member("QM2")
        test.add_member("QM3")
        test.define_structure("APPL2")
        for name in ("ORDERS", "BULK", "LATE", "HELD", "HANDED"):
            test.define_shared(name)
        test.define_shared("BILLS", "APPL2")
        test.define_private("QM1", "LOCAL")
        return cls(test)

    # -- what a dead manager leaves --------------------------------------------------------------------------------

    def leave_everything(self) -> None:
        """Every kind of unfinished work, and then QM1's lease runs out."""
        self.leave_everything_but_expiry()
        self.expire(DEAD)

    def leave_everything_but_expiry(self) -> None:
        """Every kind of unfinished work, of a manager that still holds its lease."""
        self.fill()
        self.leave_decided()
        self.leave_undecided()
        self.leave_half_committed()
        self.leave_half_backed_out()
        self.leave_waiting()
        self.leave_locked()
        self.leave_handed()

    def fill(self) -> None:
        """Messages that every program can see before the trouble."""
        with self.test.connect("QM1") as connection:
            there = [("ORDERS", b"1"), ("ORDERS", b"2"), ("ORDERS", b"3"), ("LOCAL", b"p1"), ("HELD", b"held")]
            for queue, body in there:
                connection.put1(queue, body, MQMD(persistence=1))

    def victim(self, name: str, *, tag: str = "") -> QueueManagerConnection:
        """A connection of a program of QM1's own."""
        connection = self.victims[name] = self.test.connect("QM1", tag=tag)
        return connection

    def leave_decided(self) -> None:
        """A commit over three structures, decided, applied in none. Its owner holds the tag."""
        connection = self.victim("decided", tag=TAG)
        assert connection.open("ORDERS", BOTH).get(GetOption.SYNCPOINT).body == b"1"
        connection.open("BILLS", BOTH).put(b"bill 1", options=PutOption.SYNCPOINT)
        connection.open("LOCAL", BOTH).put(b"p2", options=PutOption.SYNCPOINT)
        die_after(connection.connection, "admin/decide")
        with dying():
            connection.commit()

    def leave_undecided(self) -> None:
        """A get and puts in two structures, never committed."""
        connection = self.victim("undecided")
        orders = connection.open("ORDERS", BOTH)
        orders.get(GetOption.SYNCPOINT)
        orders.put(b"never", MQMD(priority=9), options=PutOption.SYNCPOINT)
        connection.open("BILLS", BOTH).put(b"never", options=PutOption.SYNCPOINT)

    def leave_half_committed(self) -> None:
        """A large unit of work of one structure, decided by its first chunk."""
        connection = self.victim("half committed")
        bulk = connection.open("BULK", BOTH)
        bulk.put_many([(MQMD(), b"%d" % n) for n in range(LARGE)], options=PutOption.SYNCPOINT)
        die_after(connection.connection, "structure/commit")
        with dying():
            connection.commit()

    def leave_half_backed_out(self) -> None:
        """A large unit of work whose owner had begun to back it out."""
        connection = self.victim("half backed out")
        bulk = connection.open("BULK", BOTH)
        for _ in range(CHUNK_MESSAGES // 100):
            bulk.get_many(100, GetOption.SYNCPOINT)
        bulk.put_many([(MQMD(), b"never") for _ in range(100)], options=PutOption.SYNCPOINT)
        die_after(connection.connection, "structure/backout")
        with dying():
            connection.backout()

    def leave_waiting(self) -> None:
        """A waiter; and a waiter that was woken and never came back, with a program of QM2 that waits after it."""
        register_wait(self.victim("waiting").open("ORDERS", BOTH), b"C" + b"7" * 24)
        register_wait(self.victim("woken").open("LATE", BOTH), b"A")
        self.waiter = self.test.connect("QM2").open("LATE", BOTH)
        register_wait(self.waiter, b"A")
        self.test.connect("QM3").put1("LATE", b"late")

    def leave_locked(self) -> None:
        """A message that was browsed with a lock."""
        browser = self.victim("locking").open("HELD", BOTH)
        assert browser.get(GetOption.BROWSE_FIRST | GetOption.LOCK).body == b"held"

    def leave_handed(self) -> None:
        """A message that was handed to a waiting get before it blocked for it."""
        register_wait(self.victim("handed").open("HANDED", BOTH), b"A!")
        self.test.connect("QM3").put1("HANDED", b"handed", MQMD(correl_id=b"h" * 24, persistence=1))
        assert self.messages("APPL1", "HANDED") == []

    # -- faults ----------------------------------------------------------------------------------------------------

    def expire(self, lease: str) -> None:
        """A lease, or with ``!`` a claim, runs out now."""
        group = self.test.group
        assert group.client().zadd(group.keys.leases, {lease: 1}, xx=True, ch=True) == 1

    def expire_all(self, *leases: str) -> None:
        """As `expire`, for the leases and claims that exist."""
        group = self.test.group
        group.client().zadd(group.keys.leases, dict.fromkeys(leases, 1), xx=True)

    def recoverer(self, qmgr: str) -> Connection:
        """A connection of *qmgr* itself, as its peer watch uses."""
        return self.test.connect(qmgr).connection

    def recover(self, by: str = "QM2", target: str = DEAD, **options: Any) -> RecoveryReport:
        """Recover *target* over a new connection."""
        return self.recover_over(self.recoverer(by), target, **options)

    def recover_over(self, connection: Connection, target: str = DEAD, **options: Any) -> RecoveryReport:
        """Recover *target* over *connection*."""
        return recover(self.test.group, connection, target, **options)

    # -- what is there ---------------------------------------------------------------------------------------------

    def structure(self, name: str) -> StructureKeys:
        """Keys of a structure."""
        return self.test.group.structure(name)

    def messages(self, structure: str, queue: str) -> list[tuple[bytes, int]]:
        """Body and BackoutCount of what is available on a queue, in delivery order."""
        keys, client = self.structure(structure), self.test.group.client()
        ids: Any = client.zrange(keys.queue(queue).available, 0, -1)
        records: Any = client.hmget(keys.messages, ids) if ids else []
        return [(record[int.from_bytes(record[3:5]) :], record[2]) for record in records]

    def counters(self, structure: str, queue: str) -> dict[str, int]:
        """Uncommitted puts and gets, open handles and waiters of a queue, where there are any."""
        client = self.test.group.client()
        values: Any = client.hmget(self.structure(structure).queue(queue).queue, ["pu", "gu", "ip", "op", "nw", "lk"])
        names = ("pu", "gu", "ip", "op", "nw", "lk")
        return {name: int(value) for name, value in zip(names, values, strict=True) if value}

    def left_of(self, token: str = DEAD) -> list[str]:
        """Every key and entry that still names an owner under *token*, except fences and the recoveries."""
        client = self.test.group.client()
        found = []
        for key in self.keys():
            kind, _, owner = key.decode().rpartition("}:")[2].partition(":")
            if kind in ("u", "o", "wake") and f"{owner}.".startswith(f"{token}."):
                found.append(key.decode())
            entries: Any = []
            if kind in ("leases", "w"):
                entries = client.zrange(key, 0, -1)
            elif kind in ("procs", "own", "dead", "tags", "decisions", "h", "l"):
                fields: Any = client.hgetall(key)
                entries = [*fields, *fields.values()]
            found += [f"{key.decode()} {entry!r}" for entry in entries if f"{token}.".encode() in entry + b"."]
        return found

    def keys(self) -> list[bytes]:
        """Every key of the group."""
        return sorted(self.test.group.client().scan_iter(match=f"{{{self.test.group.name}:*", count=1000))

    def dump(self) -> dict[bytes, bytes]:
        """Everything the group holds."""
        self.programs_at_dump = self.test.process_count
        keys = self.keys()
        pipeline = self.test.group.client().pipeline(transaction=False)
        for key in keys:
            pipeline.dump(key)
        return dict(zip(keys, pipeline.execute(), strict=True))

    def restore(self, dumped: dict[bytes, bytes]) -> None:
        """Restore the group to its state at the dump. Later programs end: new ones will have their tokens."""
        self.test.end_processes(self.programs_at_dump)
        pipeline = self.test.group.client().pipeline()
        pipeline.delete(*self.keys())
        for key, value in dumped.items():
            pipeline.restore(key, 0, value)
        pipeline.execute()

    def outcome(self) -> dict[str, Any]:
        """The scene as programs see it, and the remains of the dead."""
        return {
            "ORDERS": self.messages("APPL1", "ORDERS"),
            "BILLS": self.messages("APPL2", "BILLS"),
            "LOCAL": self.messages("@QM1", "LOCAL"),
            "BULK": self.messages("APPL1", "BULK"),
            "LATE": self.messages("APPL1", "LATE"),
            "HELD": self.messages("APPL1", "HELD"),
            "HANDED": self.messages("APPL1", "HANDED"),
            "indexed": self.test.group.client().zcard(self.structure("APPL1").queue("HANDED").index),
            "counters": {
                name: {key: value for key, value in self.counters(structure, name).items() if value}
                for structure, name in (
                    ("APPL1", "ORDERS"),
                    ("APPL2", "BILLS"),
                    ("@QM1", "LOCAL"),
                    ("APPL1", "BULK"),
                    ("APPL1", "LATE"),
                    ("APPL1", "HELD"),
                    ("APPL1", "HANDED"),
                )
            },
            "stored": self.test.group.client().hlen(self.structure("APPL1").messages),
            "left": self.left_of(),
        }


#: Everything once. A message that was got and not committed is back in its place, counted once.
RESOLVED: dict[str, Any] = {
    "ORDERS": [(b"2", 1), (b"3", 0)],
    "BILLS": [(b"bill 1", 0)],
    "LOCAL": [(b"p1", 0), (b"p2", 0)],
    "BULK": [(b"%d" % n, 1) for n in range(CHUNK_MESSAGES)] + [(b"%d" % n, 0) for n in range(CHUNK_MESSAGES, LARGE)],
    "LATE": [(b"late", 0)],
    "HELD": [(b"held", 0)],
    "HANDED": [(b"handed", 0)],
    "indexed": 1,
    "counters": {
        "ORDERS": {},
        "BILLS": {},
        "LOCAL": {},
        "BULK": {},
        "LATE": {"ip": 1, "op": 1},
        "HELD": {},
        "HANDED": {},
    },
    "stored": 2 + LARGE + 1 + 1 + 1,
    "left": [],
}


def register_wait(queue: Queue, waiter: bytes) -> None:
    """The keys that MQGET with MQGMO_WAIT leaves in Redis before it blocks: nothing fits, so it is a waiter now."""
    keys: StructureKeys = queue.handle.structure.keys
    names: QueueKeys = queue.handle.queue
    token = queue.connection.token
    correl = b"" if waiter == b"A!" else waiter[1:]
    prefix = waiter if correl else b""
    limits: list[Argument] = [1, 0, 1000, 0, 1000]
    reply = queue.connection.call(
        "structure/get",
        [
            keys.owners,
            keys.messages,
            names.queue,
            names.available,
            names.index,
            names.waiters,
            keys.unit_of_work + token,
            keys.expiry,
            keys.wake + token,
            keys.journal,
            keys.wake,
        ],
        [
            token,
            queue.handle.name,
            queue.handle.definition.version,
            *limits,
            "0",
            "",
            waiter + token.encode(),
            "",
            "",
            prefix,
            "",
            correl,
        ],
    )
    if reply[0] == 0:
        raise AssertionError("there was a message")
