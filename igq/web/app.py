"""The ASGI application: the console at /console/, the REST interface at /ibmmq/rest/v3/."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from igq.errors import CommandError
from igq.web.access.gate import Refused
from igq.web.console.pages import console_routes
from igq.web.http.headers import SecurityHeaders
from igq.web.http.limits import Limits
from igq.web.rest.errors import RestError, from_exception, from_refusal, from_status
from igq.web.rest.routes import REST, rest_routes
from igq.web.site import Site, site_of
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError


def create_app(site: Site) -> ASGIApp:
    """Build the application of a site."""
    app = Starlette(
        routes=[
            Route("/", _to_console),
            Mount("/console", routes=console_routes()),
            Mount(REST, routes=rest_routes(site)),
        ],
        middleware=[Middleware(Limits)],
        exception_handlers={
            RestError: _rest_error,
            Refused: _refused,
            HTTPException: _http_error,
            CommandError: _unable,
            MQIError: _unable,
            DeploymentError: _unable,
            Exception: _failed,
        },
    )
    app.state.site = site
    # Outside of all, so that no answer is without them.
    return SecurityHeaders(app)


async def _to_console(_: Request) -> Response:
    return RedirectResponse("/console/", 307)


def error_response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """An answer of the console that says why not: ``{"error": "..."}``."""
    return JSONResponse({"error": text}, status, headers)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    # Too many failures have been logged one by one; a line for each further try would only fill the log.
    if error.user is not None and error.status != 429:
        site_of(request).record_refusal(request, error.user, error.text)
    if _is_rest(request):
        return from_refusal(error).response()
    return error_response(error.status, error.text, error.headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if _is_rest(request):
        return from_status(error.status_code, dict(error.headers or {})).response()
    return error_response(error.status_code, error.detail, dict(error.headers or {}))


async def _unable(request: Request, error: Exception) -> Response:
    """Answer a request that the group cannot do now, with the reason."""
    if _is_rest(request):
        return from_exception(error).response()
    return error_response(from_exception(error).status, " ".join(str(error).split()))


async def _rest_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RestError)
    return error.response()


def _is_rest(request: Request) -> bool:
    return request.url.path.startswith(f"{REST}/")


async def _failed(request: Request, _: Exception) -> Response:
    if _is_rest(request):
        return from_status(500, {}).response()
    # Starlette raises the error again, and the server logs it with its traceback.
    return error_response(500, "an error in the console; its log has the details")
