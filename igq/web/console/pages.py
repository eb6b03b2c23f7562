"""The page of the console, signing in and out, and the routes of its views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from igq import __version__
from igq.web.access.gate import Identity, Refused, check_origin, host_of
from igq.web.access.users import Role
from igq.web.console.actions.table import allowed
from igq.web.console.views import VIEWS
from igq.web.http.json_body import read_json
from igq.web.session_cookie import end_session, give_session
from igq.web.site import Site, site_of

_HERE = Path(__file__).parent
# Jinja2 escapes what a template shows; Starlette switches that on for every template.
_TEMPLATES = Jinja2Templates(_HERE / "templates")


def console_routes() -> Sequence[BaseRoute]:
    """The routes below /console."""
    return [
        Route("/", _page),
        Mount("/static", _Static(directory=_HERE / "static")),
        Route("/api/sign-in", _sign_in, methods=["POST"]),
        Route("/api/sign-out", _sign_out, methods=["POST"]),
        Route("/api/me", _me),
        *(route for view in VIEWS for route in view.routes()),
    ]


class _Static(StaticFiles):
    """Scripts and styles. A browser keeps them, and asks each time whether they have changed."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _page(request: Request) -> Response:
    context = {"group": site_of(request).settings.group, "version": __version__}
    return _TEMPLATES.TemplateResponse(request, "console.html", context)


async def _sign_in(request: Request) -> Response:
    """Check user and password, and give the browser a session."""
    site = site_of(request)
    check_origin(request)
    user, password = await _credentials(request)
    known = await site.gate.check(user, password, host_of(request))
    if known.rank < Role.VIEWER:
        raise Refused(403, f"{user} is {known.rank.word}: use the REST interface")
    cookie = Response()
    identity = give_session(site, request, cookie, user, known)
    site.record_session(identity, "console", "sign in")
    return JSONResponse(_described(site, identity), headers={"Set-Cookie": cookie.headers["set-cookie"]})


async def _sign_out(request: Request) -> Response:
    site = site_of(request)
    identity = await site.gate.admit(request, is_csrf_by_value=True)
    response = Response(status_code=204)
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
