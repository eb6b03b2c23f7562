"""Signing in by the identity provider: to the provider, and back. Answers are pages, for a person looks at them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from igq.web.access.gate import Identity, Refused, check_origin, host_of
from igq.web.access.oidc import Provider
from igq.web.access.users import Role
from igq.web.console.templating import TEMPLATES
from igq.web.session_cookie import give_session, is_by_tls
from igq.web.site import Site, site_of

#: Seconds that a person has at the provider.
_LONGEST_S = 600
#: The view to come back to, the part of the console's address that never leaves the browser otherwise.
_VIEW = re.compile(r"#/[\x21-\x7e]{0,500}")

Step = Callable[[Site, Provider, Request], Awaitable[Response]]


def sign_on_routes() -> Sequence[BaseRoute]:
    """The routes below /console."""
    return [
        Route("/oidc/start", _page_of(_begin)),
        Route("/oidc/callback", _page_of(_finish), name="oidc_callback"),
    ]


def _page_of(step: Step) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        site = site_of(request)
        if site.provider is None:
            raise HTTPException(404)
        try:
            return await step(site, site.provider, request)
        except Refused as refused:
            if refused.user is not None:
                site.record_refusal(request, refused.user, refused.text)
            response = _told(request, "You are not signed in", refused.text, refused.status)
            response.headers.update(refused.headers)
            return response

    return endpoint


async def _begin(site: Site, provider: Provider, request: Request) -> Response:
    check_origin(request)
    view = request.query_params.get("next", "")
    session: dict[str, Any] = {"view": view if _VIEW.fullmatch(view) else ""}
    request.scope["session"] = session
    response = RedirectResponse(await provider.begin(request, str(request.url_for("oidc_callback"))), 303)
    response.set_cookie(
        _cookie(site),
        provider.cookies.dumps(session),
        max_age=_LONGEST_S,
        secure=is_by_tls(request),
        httponly=True,
        # The browser comes back from another site.
        samesite="lax",
    )
    return response


async def _finish(site: Site, provider: Provider, request: Request) -> Response:
    session = _kept(site, provider, request)
    request.scope["session"] = session
    with provider.counted_try(host_of(request)):
        vouched = await provider.finish(request)
        identity = Identity(vouched.user, vouched.role or Role.MESSAGING, host_of(request))
        deed = f"sign in with {provider.name}, subject {vouched.subject}"
        why = _not_wanted(site, identity) if vouched.role is not None else "no group of this user has a role here"
        if why:
            site.note_session(identity, "console", deed, f"refused: {why}")
            raise Refused(403, f"{identity.user}: {why}.", user=identity.user)
    if identity.role < Role.VIEWER:
        text = (
            f"{identity.user} is {identity.role.word}: this role has no console; the REST interface knows this session."
        )
        response = _told(request, "You are signed in", text, 200)
    else:
        response = RedirectResponse(f"../{session['view']}", 303)
    response.delete_cookie(_cookie(site), secure=is_by_tls(request), httponly=True, samesite="lax")
    signed_in = give_session(site, request, response, identity.user, identity.role, None)
    site.record_session(signed_in, "console", deed)
    return response


def _not_wanted(site: Site, identity: Identity) -> str:
    """Why a user of the provider would be taken for another one; empty: not at all."""
    names = {name.casefold() for name in site.gate.users.all()}
    return "a user of the console's own has this name" if identity.user.casefold() in names else ""


def _kept(site: Site, provider: Provider, request: Request) -> dict[str, Any]:
    from itsdangerous import BadData

    try:
        kept: dict[str, Any] = provider.cookies.loads(request.cookies.get(_cookie(site), ""), max_age=_LONGEST_S)
    except BadData:
        raise Refused(400, "This browser has begun no such sign-in, or it is over. Sign in again.") from None
    return kept


def _cookie(site: Site) -> str:
    return f"{site.gate.cookie}_oidc"


def _told(request: Request, head: str, text: str, status: int) -> Response:
    context = {"group": site_of(request).settings.group, "head": head, "text": text}
    return TEMPLATES.TemplateResponse(request, "told.html", context, status)
