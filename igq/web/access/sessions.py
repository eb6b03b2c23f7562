"""The sessions of signed-in browsers, in memory: a restart of the console ends them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from igq.web.access.users import Role

#: A session ends after this time without a request, and after that time in any case. Seconds.
IDLE_S, LONGEST_S = 2 * 3600.0, 12 * 3600.0
#: Sessions at one time; the one that was idle longest makes room.
_MOST = 1_000


@dataclass(slots=True)
class SignIn:
    """A signed-in browser.

    Attributes:
        password: the hash of the user's password at sign-in: a new password ends the session. None: an identity
            provider has vouched for the user.
        role: at sign-in. Later the file says which role one of its users has.
        csrf: what requests that change something must show in a header.
    """

    user: str
    password: str | None
    role: Role
    csrf: str
    began_s: float
    used_s: float


class Sessions:
    """Sessions by the digest of their cookie, so that a look-up tells nothing by its time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: OrderedDict[bytes, SignIn] = OrderedDict()

    def begin(self, user: str, password: str | None, role: Role) -> tuple[str, SignIn]:
        """Begin a session. Returns the value of its cookie, and the session."""
        cookie, now_s = secrets.token_urlsafe(32), self._clock()
        session = SignIn(user, password, role, secrets.token_urlsafe(32), now_s, now_s)
        self._sessions[_digest(cookie)] = session
        while len(self._sessions) > _MOST:
            self._sessions.popitem(last=False)
        return cookie, session

    def find(self, cookie: str, *, is_use: bool = True) -> SignIn | None:
        """Return the session of a cookie, or None.

        Args:
            is_use: whether this keeps the session from ending: a stream of events by itself does not.
        """
        key, now_s = _digest(cookie), self._clock()
        session = self._sessions.get(key)
        if session is None:
            return None
        if now_s - session.used_s > IDLE_S or now_s - session.began_s > LONGEST_S:
            del self._sessions[key]
            return None
        if is_use:
            session.used_s = now_s
            self._sessions.move_to_end(key)
        return session

    def end(self, cookie: str) -> None:
        """End the session of a cookie, if there is one."""
        self._sessions.pop(_digest(cookie), None)


def is_csrf_token(session: SignIn, told: str) -> bool:
    """Whether *told* is the token of the session."""
    return hmac.compare_digest(session.csrf.encode(), told.encode("utf-8", "surrogateescape"))


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "surrogateescape")).digest()
