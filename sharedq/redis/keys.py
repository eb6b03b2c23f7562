"""Every Redis key, spelled once. The layout is described in docs/reference/key-space.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

#: The administration structure: group state and unit-of-work decisions, never messages.
ADMIN_STRUCTURE = "CSQ_ADMIN"


def private_structure(qmgr_name: str) -> str:
    """Return the name of a manager's own structure: its private queues and its part of the shared transmit queue."""
    return f"@{qmgr_name}"


def qmgr_of(token: str) -> str:
    """Return the manager in ``QM.incarnation[.process[.connection]]``. Its name has no dot."""
    return token.partition(".")[0]


@dataclass(frozen=True, slots=True)
class QueueKeys:
    """Keys of one queue in one structure."""

    name: str
    queue: str
    available: str
    index: str
    groups: str
    members: str
    waiters: str
    handles: str
    locks: str
    marks: str
    #: Prefix: a holder of marks is appended.
    marks_of: str


@dataclass(frozen=True, slots=True)
class StructureKeys:
    """Keys of one structure. All share the hash tag, and so the Cluster slot."""

    name: str
    tag: str
    sequence: str
    owners: str
    dead: str
    fence: str
    versions: str
    messages: str
    destinations: str
    expiry: str
    journal: str
    events: str
    triggers: str
    owed: str
    trash: str
    #: Prefixes: the owner token is appended, also by scripts, for connections that the caller cannot know.
    unit_of_work: str
    holdings: str
    made: str
    wake: str
    set_aside: str

    def queue(self, name: str) -> QueueKeys:
        """Return the keys of the queue *name* in this structure."""
        return _queue_keys(self.tag, name)


@dataclass(frozen=True, slots=True)
class AdminKeys:
    """Keys of the administration structure."""

    tag: str
    group: str
    members: str
    leases: str
    processes: str
    owners: str
    dead: str
    fence: str
    tags: str
    decisions: str
    prepared: str
    completed: str
    #: Prefix: the name of a series is appended.
    series: str
    recoveries: str
    agents: str
    structures: str
    deleted: str
    failures: str
    qmgr: str
    directory: str
    authorities: str
    topic_authorities: str
    topics: str
    subscriptions: str
    subscription_names: str
    subscription_tree: str
    #: Prefix: the place in the tree is appended.
    subscriptions_at: str
    subscription_holders: str
    delivered: str
    orphans: str
    process_definitions: str
    namelists: str
    channels: str
    listeners: str
    #: Prefix: the token of a manager's incarnation or of a process is appended.
    news: str
    #: Prefix: a manager, one of its listeners and the number of a process are appended, with blanks between.
    served: str
    audit: str
    #: Prefix: a minute of the day is appended.
    history: str

    def served_at(self, qmgr: str, listener: str, process: int = 0) -> str:
        """Return the key of the figures of a server process; *listener* is empty for those of the unix socket."""
        return f"{self.served}{qmgr} {listener} {process}"

    def history_at(self, place: int) -> str:
        """Return the key of a place in the ring of the figures of the last day."""
        return f"{self.history}{place}"


@lru_cache(maxsize=1024)
def structure_keys(group: str, structure: str) -> StructureKeys:
    """Return the keys of an application structure or of a manager's own one."""
    tag = f"{{{group}:{structure}}}"
    return StructureKeys(
        name=structure,
        tag=tag,
        sequence=f"{tag}:seq",
        owners=f"{tag}:own",
        dead=f"{tag}:dead",
        fence=f"{tag}:fence",
        versions=f"{tag}:ver",
        messages=f"{tag}:m",
        destinations=f"{tag}:dest",
        expiry=f"{tag}:x",
        journal=f"{tag}:journal",
        events=f"{tag}:events",
        triggers=f"{tag}:triggers",
        owed=f"{tag}:owed",
        trash=f"{tag}:trash",
        unit_of_work=f"{tag}:u:",
        holdings=f"{tag}:o:",
        made=f"{tag}:made:",
        wake=f"{tag}:wake:",
        set_aside=f"{tag}:trash:",
    )


@lru_cache(maxsize=16384)
def _queue_keys(tag: str, name: str) -> QueueKeys:
    return QueueKeys(
        name=name,
        queue=f"{tag}:q:{name}",
        available=f"{tag}:a:{name}",
        index=f"{tag}:i:{name}",
        groups=f"{tag}:g:{name}",
        members=f"{tag}:r:{name}",
        waiters=f"{tag}:w:{name}",
        handles=f"{tag}:h:{name}",
        locks=f"{tag}:l:{name}",
        marks=f"{tag}:k:{name}",
        marks_of=f"{tag}:k:{name}\n",
    )


def prepared_field(qmgr: str, xid: bytes) -> str:
    """Return the field of the unit of work that *qmgr*, or the group, has prepared as *xid*."""
    return f"{qmgr} {xid.hex()}"


@lru_cache(maxsize=64)
def admin_keys(group: str) -> AdminKeys:
    """Return the keys of the administration structure of *group*."""
    tag = f"{{{group}:{ADMIN_STRUCTURE}}}"
    return AdminKeys(
        tag=tag,
        group=f"{tag}:group",
        members=f"{tag}:members",
        leases=f"{tag}:leases",
        processes=f"{tag}:procs",
        owners=f"{tag}:own",
        dead=f"{tag}:dead",
        fence=f"{tag}:fence",
        tags=f"{tag}:tags",
        decisions=f"{tag}:decisions",
        prepared=f"{tag}:prepared",
        completed=f"{tag}:completed",
        series=f"{tag}:series:",
        recoveries=f"{tag}:recoveries",
        agents=f"{tag}:agents",
        structures=f"{tag}:structures",
        deleted=f"{tag}:deleted",
        failures=f"{tag}:failures",
        qmgr=f"{tag}:qmgr",
        directory=f"{tag}:dir",
        authorities=f"{tag}:aut",
        topic_authorities=f"{tag}:auttopic",
        topics=f"{tag}:topics",
        subscriptions=f"{tag}:subs",
        subscription_names=f"{tag}:subnames",
        subscription_tree=f"{tag}:subtree",
        subscriptions_at=f"{tag}:subat:",
        subscription_holders=f"{tag}:subheld",
        delivered=f"{tag}:subput",
        orphans=f"{tag}:orphans",
        process_definitions=f"{tag}:prc",
        namelists=f"{tag}:nl",
        channels=f"{tag}:chl",
        listeners=f"{tag}:lstr",
        news=f"{tag}:news:",
        served=f"{tag}:served:",
        audit=f"{tag}:audit",
        history=f"{tag}:history:",
    )
