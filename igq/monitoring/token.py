"""The token that a request for metrics must show, if the settings name one."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from igq.errors import CommandError
from sharedq.settings.text_files import NotTextError, read_text

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication

#: Characters of a token, at least: nobody may guess it.
SHORTEST = 16


def token_required(app: WSGIApplication, file: Path) -> WSGIApplication:
    """Return *app* for those alone who send the token in *file*. Each request reads the file, so it may change.

    Raises:
        CommandError: there is no token in it.
    """
    read_token(file)

    def guarded(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        scheme, _, shown = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
        try:
            is_right = scheme.lower() == "bearer" and hmac.compare_digest(
                shown.strip().encode("latin-1", "replace"), read_token(file).encode()
            )
        except CommandError:
            is_right = False
        if is_right:
            return app(environ, start_response)
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("WWW-Authenticate", "Bearer")]
        start_response("401 Unauthorized", headers)
        return [b"a token is needed: Authorization: Bearer TOKEN\n"]

    return guarded


def read_token(file: Path) -> str:
    """Return the token in *file*. Raises CommandError: there is none."""
    try:
        token = read_text(file).strip()
    except (OSError, NotTextError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CommandError(f"metrics_token_file={file}: cannot be read: {why}") from None
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise CommandError(f"metrics_token_file={file}: a token has {SHORTEST} characters of ASCII at least, no blank")
    return token
