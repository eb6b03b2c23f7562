"""How one manager notices the deaths of others, and of programs, before their leases run out."""

from __future__ import annotations

import threading
from collections.abc import Callable

from igq.manager.membership import Membership, host_name
from igq.manager.peers.deaths import watch_deaths
from igq.manager.peers.links import Address, PeerLinks, own_address
from sharedq.members.group import Member
from sharedq.members.news import suspect
from sharedq.mqi.errors import MQIError
from sharedq.redis.keys import ADMIN_STRUCTURE

#: Seconds between two looks for managers to which there is no link: each had one when it joined.
MEET_S = 30.0
#: States of a manager that does not run.
_ENDED = ("STOPPED", "FAILED")


class Peers:
    """The watches of one incarnation over other processes.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
        on_death, on_loss: as those of `igq.manager.peers.deaths.DeathWatch`.
        on_suspicion: called in a thread of its own after managers were asked for a sign of life. The leases of those
            that give none run out soon.
    """

    def __init__(
        self,
        membership: Membership,
        say: Callable[..., None],
        *,
        on_death: Callable[[str, int], None],
        on_loss: Callable[[], None],
        on_suspicion: Callable[[], None],
    ) -> None:
        self._membership, self._say, self._on_suspicion = membership, say, on_suspicion
        self._deaths = watch_deaths(membership.token, on_death, on_loss)
        self._links: PeerLinks | None = None
        #: Held while links are made, which happens in another thread than `close`.
        self._lock = threading.Lock()
        self._is_over = False

    @property
    def has_links(self) -> bool:
        """Whether it has links to managers of other machines, of which some may be missing."""
        return self._links is not None

    def join(self) -> None:
        """Announce this manager to the others, and listen to those of other machines.

        Raises:
            MQIError: 2009, Redis cannot be reached.
        """
        listen = self._where_to_listen()
        if listen is not None and self._listen(listen):
            assert self._links is not None
            # First tell, then look: of two managers that join together, one at least sees the other.
            self._membership.tell(peer=self._links.address)
        self.meet()

    def meet(self) -> None:
        """Make the links that are missing. Raises MQIError: 2009, Redis cannot be reached."""
        others = [each for each in self._membership.group.members() if each.state not in _ENDED]
        others = [each for each in others if each.token != self._membership.token]
        if self._deaths is not None:
            self._deaths.greet([(each.pid, each.token) for each in others if each.host == host_name()])
        found = ((each.token, _address_of(each)) for each in others)
        addresses = {token: address for token, address in found if address is not None}
        with self._lock:
            if self._links is not None and not self._is_over:
                self._links.reach(addresses)

    def close(self) -> None:
        """Watch no more. The addresses belong to this process and are in use until then."""
        with self._lock:
            self._is_over = True
            if self._deaths is not None:
                self._deaths.close()
            if self._links is not None:
                self._links.close()

    def _listen(self, at: Address) -> bool:
        with self._lock:
            if self._is_over:
                return False
            try:
                self._links = PeerLinks(self._membership.group.name, self._membership.token, at, self._suspect)
            except OSError as error:
                self._say("IGQ0035E", host=at[0], port=at[1], error=error)
                return False
            return True

    def _where_to_listen(self) -> Address | None:
        group = self._membership.group
        where = group.node(ADMIN_STRUCTURE)
        if not where or where.startswith("/"):
            # No server can be found now, or it is a unix socket.
            return None
        server, _, port = where.rpartition(":")
        try:
            host = own_address((server, int(port)))
        except OSError:
            return None
        return (host, group.settings.peer_port) if host else None

    def _suspect(self, incarnations: list[str]) -> None:
        try:
            asked = suspect(self._membership.group, self._membership.token, incarnations)
        except MQIError:
            # Redis cannot be reached. The leases tell.
            return
        for target in asked:
            self._say("IGQ0034I", target=target)
        if asked:
            self._on_suspicion()


def _address_of(member: Member) -> Address | None:
    """Where it takes links; None if it takes none."""
    found = member.details.get("peer")
    return None if found is None else (str(found[0]), int(found[1]))
