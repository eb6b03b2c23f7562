"""State that all requests share: settings, users, the log, and threads for calls that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request

from igq.web.access.failures import Failures
from igq.web.access.gate import Gate, Identity, host_of
from igq.web.access.oidc import provider_of
from igq.web.access.users import Role, Users
from igq.web.feed import Feed, StatusSource
from sharedq.members.audit_trail import Deed, Way, note_deed
from sharedq.members.group import Group
from sharedq.settings.values import Settings

#: Calls to Redis at one time. Gets that wait have threads of their own: see `igq.web.rest.messaging`.
_THREADS = 8
#: Refused sign-ins that the log tells of in five minutes: of one address, and in all. Anybody can cause such lines.
_LOGGED_OF_HOST, _LOGGED = 10, 1_000
#: Deeds in five minutes, of one user and in all, that the audit trail takes though they change nothing: the trail is
#: bounded, and nobody must push out what others did. The logs have each.
_IDLE_DEEDS, _IDLE_DEEDS_OF_ALL = 20, 1_000

P = ParamSpec("P")
T = TypeVar("T")


class Site:
    """One console.

    Raises:
        CommandError: the settings of its identity provider cannot be used.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
        port: names the cookie of a session.
    """

    def __init__(self, settings: Settings, say: Callable[..., None], port: int) -> None:
        self.settings, self.say = settings, say
        # Programs written for IBM's REST interface look for a cookie with this beginning.
        self.gate = Gate(Users(settings.users_file), f"LtpaToken2_{port}")
        self.provider = provider_of(settings)
        self._refusals = Failures(per_host=_LOGGED_OF_HOST, per_user=_LOGGED)
        self._idle_deeds, self._lock = Failures(per_host=_IDLE_DEEDS_OF_ALL, per_user=_IDLE_DEEDS), threading.Lock()
        #: Deeds that are being noted.
        self._notings: set[asyncio.Task[None]] = set()
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._status = StatusSource(settings)
        self.feed = Feed(partial(self.work, self._status.read), partial(self.work, self._status.close))

    async def work(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that blocks in a thread."""
        return await anyio.to_thread.run_sync(partial(call, *args, **kwargs), limiter=self._threads)

    def record(self, identity: Identity, command: str, result: str) -> None:
        """Log a command of a user, with its result in a few words."""
        self.say("IGQ0103I", user=identity.user, host=identity.host, command=command, result=result)

    def may_note(self, identity: Identity) -> bool:
        """Whether the audit trail takes a command of a user. One who may change nothing has only few there."""
        return identity.role >= Role.OPERATOR or self._may_note_idle(identity)

    def _may_note_idle(self, identity: Identity) -> bool:
        # Commands are noted in threads.
        with self._lock:
            may = self._idle_deeds.begin("", identity.user)
            if may:
                self._idle_deeds.end("", identity.user, is_failure=True)
            return may

    def record_session(self, identity: Identity, way: Way, what: str) -> None:
        """Log that a user has begun or ended a session, and note it in the audit trail."""
        self.record(identity, what, "done")
        self.note_session(identity, way, what, "done")

    def note_session(self, identity: Identity, way: Way, what: str, result: str) -> None:
        """Note in the audit trail what became of a session, as soon as Redis takes it."""
        if not self._may_note_idle(identity):
            return
        noting = asyncio.get_running_loop().create_task(
            self.work(_note, self.settings, Deed(identity.user, identity.host, way, what, result))
        )
        self._notings.add(noting)
        noting.add_done_callback(self._notings.discard)

    def record_refusal(self, request: Request, user: str, why: str) -> None:
        """Log a sign-in that was refused, unless the same address has filled enough of the log by now."""
        host = host_of(request)
        if self._refusals.begin(host, ""):
            self._refusals.end(host, "", is_failure=True)
            self.say("IGQ0104E", user=user[:64], host=host, why=why)


def _note(settings: Settings, deed: Deed) -> None:
    group = Group(settings)
    try:
        note_deed(group, deed)
    finally:
        group.leave()


def site_of(request: Request) -> Site:
    """The site that a request came to."""
    site: Site = request.app.state.site
    return site
