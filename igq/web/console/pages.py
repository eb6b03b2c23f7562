"""The page of the console, signing in and out, and the routes of its views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from igq import __version__
from igq.web.access.gate import Identity, Refused, check_origin, host_of
from igq.web.access.users import Role
from igq.web.console.actions.table import allowed
from igq.web.console.single_sign_on import sign_on_routes
from igq.web.console.templating import TEMPLATES
from igq.web.console.views import VIEWS
from igq.web.http.json_body import read_json
from igq.web.session_cookie import end_session, give_session
from igq.web.site import Site, site_of

_STATIC = Path(__file__).parent / "static"


def console_routes() -> Sequence[BaseRoute]:
    """The routes below /console."""
    return [
        Route("/", _page, name="console"),
        Mount("/static", _Static(directory=_STATIC)),
        Route("/api/sign-in", _sign_in, methods=["POST"]),
        Route("/api/sign-out", _sign_out, methods=["POST"]),
        Route("/api/me", _me),
        *sign_on_routes(),
        *(route for view in VIEWS for route in view.routes()),
    ]


class _Static(StaticFiles):
    """Scripts and styles. A browser keeps them, and asks each time whether they have changed."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _page(request: Request) -> Response:
    site = site_of(request)
    provider = "" if site.provider is None else site.provider.name
    context = {"group": site.settings.group, "version": __version__, "provider": provider}
    return TEMPLATES.TemplateResponse(request, "console.html", context)


async def _sign_in(request: Request) -> Response:
    """Check user and password, and give the browser a session."""
    site = site_of(request)
    check_origin(request)
    user, password = await _credentials(request)
    known = await site.gate.check(user, password, host_of(request))
    if known.rank < Role.VIEWER:
        raise Refused(403, f"{user} is {known.rank.word}: use the REST interface")
    cookie = Response()
    identity = give_session(site, request, cookie, user, known.rank, known.password)
    site.record_session(identity, "console", "sign in")
    return JSONResponse(_described(site, identity), headers={"Set-Cookie": cookie.headers["set-cookie"]})


async def _sign_out(request: Request) -> Response:
    """End the session. Of a user of the identity provider: say where the browser ends its session there."""
    site = site_of(request)
    identity = await site.gate.admit(request, is_csrf_by_value=True)
    is_vouched_for = identity.session is not None and identity.session.password is None
    url = None
    if is_vouched_for and site.provider is not None:
        url = await site.provider.sign_out_url(str(request.url_for("console")))
    response = Response(status_code=204) if url is None else JSONResponse({"url": url})
    end_session(site, request, response)
    site.record_session(identity, "console", "sign out")
    return response


async def _me(request: Request) -> Response:
    site = site_of(request)
    return JSONResponse(_described(site, await site.gate.admit(request)))


def _described(site: Site, identity: Identity) -> dict[str, object]:
    return {
        "user": identity.user,
        "role": identity.role.word,
        "group": site.settings.group,
        "csrf": identity.session.csrf if identity.session else "",
        "actions": allowed(identity),
    }


async def _credentials(request: Request) -> tuple[str, str]:
    """Read ``{"user": ..., "password": ...}``. A form of another site cannot send this type of content."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "send JSON")
    try:
        told = read_json(await request.body())
        user, password = told["user"], told["password"]
    except (ValueError, KeyError, TypeError):
        raise Refused(400, "send user and password as JSON") from None
    if not isinstance(user, str) or not isinstance(password, str):
        raise Refused(400, "send user and password as JSON")
    return user, password
