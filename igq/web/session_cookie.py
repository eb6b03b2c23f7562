"""The cookie of a session: no script and no other site gets it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from igq.web.access.gate import Identity, host_of
from igq.web.access.sessions import LONGEST_S
from igq.web.access.users import Role
from igq.web.site import Site


def is_by_tls(request: Request) -> bool:
    """Whether the browser came by TLS, to the console or to a proxy that it trusts."""
    return request.url.scheme == "https"


def give_session(
    site: Site, request: Request, response: Response, name: str, role: Role, password: str | None
) -> Identity:
    """Begin a session for a user who has signed in, in place of the one that the browser has.

    Args:
        password: the hash of the user's password; None: an identity provider has vouched for the user.
    """
    gate = site.gate
    gate.sessions.end(request.cookies.get(gate.cookie, ""))
    cookie, session = gate.sessions.begin(name, password, role)
    response.set_cookie(
        gate.cookie, cookie, max_age=int(LONGEST_S), secure=is_by_tls(request), httponly=True, samesite="strict"
    )
    return Identity(name, role, host_of(request), session)


def end_session(site: Site, request: Request, response: Response) -> None:
    """End the session of a request, and make the browser forget its cookie."""
    gate = site.gate
    gate.sessions.end(request.cookies.get(gate.cookie, ""))
    response.delete_cookie(gate.cookie, secure=is_by_tls(request), httponly=True, samesite="strict")
