"""Decides on whose behalf a request comes, and whether that user may make it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.requests import Request

from igq.web.access.failures import Failures
from igq.web.access.sessions import Sessions, SignIn, is_csrf_token
from igq.web.access.users import LONGEST_PASSWORD, NOBODY, Role, User, Users, is_password
from igq.web.http.limits import widen_limits

#: IBM's name of the header without which a request that changes something is refused.
CSRF_HEADER = "ibm-mq-rest-csrf-token"
#: Methods that change nothing.
SAFE = ("GET", "HEAD", "OPTIONS")
_LONGEST_HOST = 64
#: Hashes that are computed at one time: each needs 32 MiB.
_HASHES = 2
#: Credentials that were found right, for so many seconds: a program sends its password with every request.
_KNOWN_MOST, _KNOWN_S = 1_000, 300.0


class Refused(Exception):
    """A request that is not answered as asked.

    Attributes:
        status: of HTTP.
        text: one line for the user.
        headers: of the answer.
        user: the user of a failed sign-in; empty if unknown; None for any other refusal.
    """

    def __init__(
        self, status: int, text: str, headers: dict[str, str] | None = None, *, user: str | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.text, self.headers, self.user = status, text, headers or {}, user


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a request comes from.

    Attributes:
        host: address of the client.
        session: of a browser that has signed in; None for a program that sends its password or token.
        queues: profiles of the queues whose messages the token is good for; empty: it is good for everything.
    """

    user: str
    role: Role
    host: str
    session: SignIn | None = None
    queues: tuple[str, ...] = ()


class Gate:
    """Looks at cookies, passwords and tokens.

    Args:
        cookie: name of the session's cookie. Browsers keep one jar for all ports of a host, so it names the port.
    """

    def __init__(self, users: Users, cookie: str) -> None:
        self.users, self.cookie = users, cookie
        self.sessions, self.failures = Sessions(), Failures()
        self._hashing = anyio.CapacityLimiter(_HASHES)
        #: Set when a check has ended.
        self._ended = asyncio.Event()
        self._key = os.urandom(32)
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()

    async def admit(self, request: Request, role: Role = Role.VIEWER, *, is_csrf_by_value: bool = False) -> Identity:
        """Return the user of a request that needs *role*, and more than a token for some queues.

        Args:
            is_csrf_by_value: whether a browser's request that changes something must show its session's token, as the
                console's do. IBM's REST interface asks only for the header: no page of another site can send it, not
                even where the browser adds a cookie or a password by itself.

        Raises:
            Refused: 401 nobody is signed in, 403 the user may not, or the request may come from another site; 429 too
                many failures.
            CommandError: the file of users cannot be used.
        """
        identity = await self.known(request, is_csrf_by_value=is_csrf_by_value)
        if identity.role < role:
            raise Refused(403, f"{identity.user} is {identity.role.word}; this needs {role.word}")
        if identity.queues:
            raise Refused(403, f"this token of {identity.user} is for messages on {', '.join(identity.queues)}")
        return identity

    async def known(self, request: Request, *, is_csrf_by_value: bool = False) -> Identity:
        """Return the user of a request, who may have any role. The caller decides what that user may do.

        Args, Raises:
            As `admit`.
        """
        identity = await self.identify(request)
        if identity is None:
            raise Refused(401, "sign in first")
        widen_limits(request)
        if request.method not in SAFE:
            self._check_csrf(request, identity, is_by_value=is_csrf_by_value)
        return identity

    async def identify(self, request: Request, *, is_use: bool = True) -> Identity | None:
        """Return the user of a request, or None if it names none. Raises as `admit` does for what it names wrongly."""
        host = host_of(request)
        scheme, _, told = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            user, password = _decoded(told)
            return Identity(user, (await self.check(user, password, host)).rank, host)
        if scheme.lower() == "bearer":
            return self._by_token(told.strip(), host)
        if scheme:
            raise Refused(401, "only Basic and Bearer authentication are known here", user="")
        session = self.sessions.find(request.cookies.get(self.cookie, ""), is_use=is_use)
        if session is None:
            return None
        known = self.users.get(session.user)
        if session.password is None:
            # A user of the file who came later by this name is another one.
            return Identity(session.user, session.role, host, session) if known is None else None
        if known is None or known.password != session.password:
            return None
        return Identity(session.user, known.rank, host, session)

    async def check(self, user: str, password: str, host: str) -> User:
        """Return the user whose password this is.

        Raises:
            Refused: 401 it is not; 429 there were too many failures.
        """
        known = self.users.get(user)
        hashed = known.password if known else NOBODY
        proof = hmac.digest(self._key, f"{user}\0{password}".encode("utf-8", "surrogateescape"), hashlib.sha256)
        # Before the failures: others cannot lock out a program whose password was right in the last minutes.
        if known is not None and self._is_known(proof, hashed):
            return known
        await self._begin_try(host, user)
        is_right = False
        try:
            is_right = len(password) <= LONGEST_PASSWORD and await anyio.to_thread.run_sync(
                is_password, password, hashed, limiter=self._hashing
            )
        finally:
            self.failures.end(host, user, is_failure=known is None or not is_right)
            self._ended.set()
        if known is None or not is_right:
            raise Refused(401, "user or password is wrong", user=user)
        self._known[proof] = (time.monotonic() + _KNOWN_S, hashed)
        while len(self._known) > _KNOWN_MOST:
            self._known.popitem(last=False)
        return known

    def _is_known(self, proof: bytes, hashed: str) -> bool:
        until_s, with_hash = self._known.get(proof, (0.0, ""))
        return time.monotonic() < until_s and with_hash == hashed

    def _by_token(self, secret: str, host: str) -> Identity:
        # Nobody can guess 256 random bits, so a token that is not valid is no failure to count: it has run out.
        found = self.users.find_token(secret)
        known = self.users.get(found[0]) if found is not None else None
        if found is None or known is None:
            raise Refused(401, "the token is not valid", user="")
        name, token = found
        return Identity(name, known.rank, host, queues=token.queues)

    async def _begin_try(self, host: str, user: str) -> None:
        """Begin to check a password, as soon as those that are checked now leave room for one more failure."""
        while True:
            if wait_s := self.failures.wait_s(host, user):
                text = f"too many failures, try again in {wait_s} s"
                raise Refused(429, text, {"Retry-After": str(wait_s)}, user=user)
            if self.failures.begin(host, user):
                return
            self._ended.clear()
            await self._ended.wait()

    def _check_csrf(self, request: Request, identity: Identity, *, is_by_value: bool) -> None:
        check_origin(request)
        told, session = request.headers.get(CSRF_HEADER), identity.session
        if told is None or (is_by_value and session is not None and not is_csrf_token(session, told)):
            raise Refused(403, f"the header {CSRF_HEADER} is missing, or not that of this session")


def check_origin(request: Request) -> None:
    """Refuse what a page of another site makes a browser send. Raises Refused."""
    origin = request.headers.get("origin")
    is_foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host", "")
    if is_foreign or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "the request comes from another site")


def host_of(request: Request) -> str:
    """The address of the client. A proxy may pass on any words for it, so only their beginning counts."""
    return request.client.host[:_LONGEST_HOST] if request.client else ""


def _decoded(told: str) -> tuple[str, str]:
    try:
        user, separator, password = base64.b64decode(told, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        separator = ""
    if not separator:
        raise Refused(401, "the header Authorization cannot be read", user="")
    return user, password
