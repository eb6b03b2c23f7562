"""``/login``: a session for a program that does not send its password with each request.

Source: IBM MQ reference, "/login".
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from igq.web.access.gate import Identity, check_origin, host_of
from igq.web.http.json_body import read_json
from igq.web.rest.errors import RestError, bad_body
from igq.web.session_cookie import end_session, give_session
from igq.web.site import site_of


async def log_in(request: Request) -> Response:
    """POST: check user and password, and set the cookie of a session. 204."""
    check_origin(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RestError(415, "MQWB0306E", "This type of content is not supported.", "It can be application/json.")
    try:
        told = read_json(await request.body())
        user, password = told["username"], told["password"]
    except (ValueError, KeyError, TypeError):
        user = password = None
    if not isinstance(user, str) or not isinstance(password, str):
        raise bad_body('It needs {"username": "...", "password": "..."}.')
    site = site_of(request)
    known = await site.gate.check(user, password, host_of(request))
    response = Response(status_code=204)
    identity = give_session(site, request, response, user, known.rank, known.password)
    site.record_session(identity, "REST", "log in")
    return response


async def logged_in(_: Request, identity: Identity) -> Response:
    """GET: the user of the request, and the role. 200."""
    return JSONResponse({"user": [{"name": identity.user, "role": [identity.role.word]}]})


async def log_out(request: Request, identity: Identity) -> Response:
    """DELETE: end the session. 204."""
    site = site_of(request)
    response = Response(status_code=204)
    end_session(site, request, response)
    site.record_session(identity, "REST", "log out")
    return response
