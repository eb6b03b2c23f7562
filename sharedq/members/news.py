"""News for processes: a process need not wait for its next renewal to learn that its manager quiesces, for example.

Each process has a list in the administration structure, and a thread that blocks on it. News are a hint: a process that
misses them, because Redis fails over for example, learns the same with its next renewal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError
from sharedq.scripts.members import suspect_call, tell_news_call
from sharedq.scripts.reads import lease_holders

log = LibraryLogger(__name__)

#: Renew the lease now: the answer tells what is new.
LOOK: Final = "look"
#: There are orphans, which managers delete as soon as nothing keeps them.
ORPHANS: Final = "orphans"
#: The manager of the process quiesces. Any other text is the token of a connection that was shut out.
QUIESCES: Final = "quiesces"
#: Processes that one script call tells.
_CHUNK = 250
#: Seconds after which news that no process takes are forgotten.
_KEPT_S = 60
#: The time that a suspected manager has for a renewal: a part of a lease, and a least time.
_ANSWERS_PER_LEASE, _ANSWER_MIN_MS = 10, 100
#: Seconds that the thread blocks in Redis before it blocks again.
_BLOCK_S = 180.0
#: Seconds before the thread tries again after it lost its server.
_PAUSE_S = 0.5


class News:
    """Hears the news for *token*, a manager's incarnation or a process, in a thread of its own.

    Args:
        hear: called in that thread with each text, and with `LOOK` after news may have been lost.
    """

    def __init__(self, group: Group, token: str, hear: Callable[[str], None]) -> None:
        self._group, self._hear = group, hear
        self._list = group.keys.news + token
        self._link = group.new_link()
        self._is_over = threading.Event()
        threading.Thread(target=self._listen, name=f"news {token}", daemon=True).start()

    def close(self) -> None:
        """Hear no more. Any thread calls this."""
        self._is_over.set()
        self._link.interrupt()

    def _listen(self) -> None:
        while not self._is_over.is_set():
            try:
                text = self._link.block(self._list, _BLOCK_S)
            except MQIError as error:
                self._link.close()
                if self._is_over.wait(_PAUSE_S):
                    return
                log.debug("news_lost", list=self._list, error=str(error))
                self._link = self._group.new_link()
                self._hear(LOOK)
                continue
            if text is not None and not self._is_over.is_set():
                self._hear(text.decode())
        self._link.close()


def tell(group: Group, tokens: Sequence[str], text: str = LOOK) -> None:
    """Tell managers (``QM.incarnation``) and processes the news. If Redis cannot be reached, their renewals tell."""
    try:
        for position in range(0, len(tokens), _CHUNK):
            group.call(*tell_news_call(group.keys, text, _KEPT_S, tokens[position : position + _CHUNK]))
    except MQIError as error:
        log.debug("news_not_told", text=text, error=str(error))


def suspect(group: Group, caller: str, incarnations: Sequence[str]) -> list[str]:
    """Have managers that may be dead renew their leases at once; the lease of one that does not runs out soon.

    Args:
        caller: the incarnation that asks.

    Returns:
        Those that were asked.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    answer_ms = max(_ANSWER_MIN_MS, group.settings.lease_ms // _ANSWERS_PER_LEASE)
    asked: list[str] = []
    for position in range(0, len(incarnations), _CHUNK):
        chunk = incarnations[position : position + _CHUNK]
        _, found = group.call(*suspect_call(group.keys, caller, answer_ms, LOOK, _KEPT_S, chunk))
        asked += [token.decode() for token in found]
    return asked


def tell_managers(group: Group, text: str = LOOK) -> None:
    """Tell every manager the news."""
    tell(group, [token for token in _registered(group) if token.count(".") == 1], text)


def tell_programs(group: Group, incarnation: str, text: str = LOOK) -> None:
    """Tell the processes of one manager the news."""
    tell(group, [token for token in _registered(group) if token.startswith(f"{incarnation}.")], text)


def tell_everybody(group: Group) -> None:
    """Make every manager and every process look."""
    tell(group, _registered(group))


def _registered(group: Group) -> list[str]:
    """Return the managers and the processes that have leases. Lost connections, and claims, have some too."""
    try:
        holders = lease_holders(group, group.keys)
    except MQIError as error:
        log.debug("news_not_told", error=str(error))
        return []
    return [token for token in holders if token.count(".") < 3 and not token.startswith("!")]
