"""Takes letters off a dead-letter queue, in units of work: discards them, or puts them elsewhere with their context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from igq.tools.dead_letters.letters import Letter
from igq.tools.units import in_units
from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.dead_letter import without_header
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.authorities import Authorities

#: Letters, and bytes of their data, of one unit of work.
UNIT_MESSAGES, UNIT_BYTES = 50, 4 << 20
#: Outcomes of a letter; any other is the refusal of a put, for people.
DONE, GONE, NO_HEADER = "done", "gone", "no dead-letter header"

_OUTPUT = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT | OpenOption.FAIL_IF_QUIESCING)
_PUT = int(PutOption.SYNCPOINT | PutOption.SET_ALL_CONTEXT | PutOption.FAIL_IF_QUIESCING)
#: A letter goes on with all its properties.
_GET = int(GetOption.SYNCPOINT | GetOption.FAIL_IF_QUIESCING | GetOption.PROPERTIES_FORCE_MQRFH2)


@dataclass(frozen=True, slots=True)
class Put:
    """Put the letter on a queue, with its context and identifiers.

    Attributes:
        qmgr: where the queue is; empty: as the connected manager knows the name.
        has_header: it keeps its dead-letter header.
        as_user: only if the user that its context names may put there (the authority records of the group).
    """

    queue: str
    qmgr: str = ""
    has_header: bool = False
    as_user: bool = False


#: The fate of a letter: it is put somewhere, or (None) discarded.
Deed = Put | None


class Remover:
    """Takes letters off one queue over one connection.

    Raises:
        MQIError: the queue cannot be opened for input.
    """

    def __init__(self, connection: QueueManagerConnection, queue: str) -> None:
        self._connection = connection
        self._source = connection.open(queue, OpenOption.INPUT_SHARED | OpenOption.FAIL_IF_QUIESCING)
        self._targets: dict[tuple[str, str], Queue | str] = {}

    def carry_out(self, deeds: Sequence[tuple[Letter, Deed]]) -> list[str]:
        """Do it in one unit of work, or if a put is refused in one for each letter. Returns the outcomes, in order.

        A letter is on its queue, or what was to become of it has, whenever the process dies.

        Raises:
            MQIError: 2009, the connection is lost: the group backs out what is not committed; 2161, 2202 ends begin.
        """
        try:
            outcomes = [self._do(*each) for each in deeds]
            self._connection.commit()
        except MQIError as error:
            if len(deeds) == 1:
                return [self._refused(error)]
            self._refused(error)
            return [outcome for each in deeds for outcome in self.carry_out([each])]
        return outcomes

    def forget_targets(self) -> None:
        """Close the queues that letters were put on, so that refused queues are tried again."""
        for target in self._targets.values():
            if isinstance(target, Queue):
                target.close()
        self._targets.clear()

    def _do(self, letter: Letter, deed: Deed) -> str:
        target: Queue | str = ""
        if deed is not None:
            if letter.header is None and not deed.has_header:
                return NO_HEADER
            target = self._target(deed, letter)
            if isinstance(target, str):
                return target
        try:
            message = self._source.get(
                _GET, match_options=MatchOption.MATCH_MSG_TOKEN, match=MQMD(version=2), msg_token=letter.token
            )
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return GONE
            raise
        if deed is not None and isinstance(target, Queue):
            md, body = (message.md, message.body) if deed.has_header else without_header(message.md, message.body)
            target.put(body, md, options=_PUT)
        return DONE

    def _target(self, deed: Put, letter: Letter) -> Queue | str:
        if deed.as_user:
            user = letter.md.user_identifier.decode("latin-1").rstrip(" \0")
            records = Authorities(self._connection.connection.group).table()
            if records and not records.may_put(user, deed.queue):
                return refusal(MQRC.NOT_AUTHORIZED)
        where = (deed.queue, deed.qmgr)
        if where not in self._targets:
            try:
                self._targets[where] = self._connection.open(deed.queue, _OUTPUT, qmgr_name=deed.qmgr)
            except MQIError as error:
                if _is_end(error):
                    raise
                self._targets[where] = refusal(error.reason)
        return self._targets[where]

    def _refused(self, error: MQIError) -> str:
        if self._connection.connection.is_ended or error.reason == MQRC.CONNECTION_BROKEN:
            raise error
        self._connection.backout()
        if _is_end(error):
            raise error
        return refusal(error.reason)


def remove_letters(
    connection: QueueManagerConnection,
    queue: str,
    letters: Iterable[Letter],
    decide: Callable[[Letter], Deed],
    tell: Callable[[int], None] = lambda _: None,
) -> Counter[tuple[str, str, str]]:
    """Take letters off *queue*. Returns how many had which outcome, with the queue and manager that they were for.

    Args:
        decide: what becomes of a letter.
        tell: told after each unit of work how many letters it had.

    Raises:
        MQIError: 2009, 2161: not all was done, and nothing is half done.
    """
    remover = Remover(connection, queue)
    outcomes: Counter[tuple[str, str, str]] = Counter()
    for unit in units(letters):
        for letter, outcome in zip(unit, remover.carry_out([(each, decide(each)) for each in unit]), strict=True):
            outcomes[outcome, letter.queue, letter.qmgr] += 1
        tell(len(unit))
    return outcomes


def to_destination(letter: Letter) -> Deed:
    """Decide that a letter goes to where it was meant to go, without its header."""
    return Put(letter.queue, letter.qmgr)


def units(letters: Iterable[Letter]) -> Iterator[list[Letter]]:
    """Cut letters into units of work."""
    return in_units(letters, lambda letter: letter.length, UNIT_MESSAGES, UNIT_BYTES)


def refusal(reason: MQRC) -> str:
    """Return a reason as an outcome."""
    return f"MQRC_{reason.name} ({reason:d})"


def _is_end(error: MQIError) -> bool:
    """Whether nothing more can be done over this connection."""
    return error.reason in (
        MQRC.CONNECTION_BROKEN,
        MQRC.CONNECTION_QUIESCING,
        MQRC.Q_MGR_QUIESCING,
        MQRC.Q_MGR_STOPPING,
    )
