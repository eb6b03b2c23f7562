"""A small identity provider of OpenID Connect, in a process of its own. It can be told to misbehave.

``python -m tests.support.identity_provider`` prints its port. It keeps to the protocol as a provider must: a code is
good once, for its redirect URI, for the client that shows its secret and the verifier of PKCE.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

CLIENT, SECRET = "igq-console", "s3cret of the client"
#: Another site than that of a console at 127.0.0.1.
_HOST = "localhost"
_ROOT = Path(__file__).parents[2]


@dataclass
class IdentityProvider:
    """A provider that runs.

    Attributes:
        issuer: its URL.
    """

    issuer: str

    def tell(self, **orders: Any) -> None:
        """Say what it does from now on, instead of anything else that it was told.

        ``claims``: of the ID token, besides its own or in their place; null takes one away. ``algorithm``: of signing.
        ``nonce``, ``padding``: a false nonce, characters more in the token. ``rotate``: new keys, and which are shown.
        ``status``: of each answer. ``document``: words of the discovery document, in place of its own.
        """
        # In ASCII: half of a surrogate pair can be told, too.
        headers = {"Content-Type": "application/json"}
        told = httpx.post(f"{self.issuer}/orders", content=json.dumps(orders), headers=headers, timeout=60)
        assert told.status_code == 200

    def asked(self, path: str) -> int:
        """How many requests there were for a path."""
        return int(httpx.get(f"{self.issuer}/asked", params={"path": path}, timeout=60).text)


@contextmanager
def started() -> Iterator[IdentityProvider]:
    """A provider at a port of its own, on the loopback address."""
    words = [sys.executable, "-m", "tests.support.identity_provider"]
    with subprocess.Popen(words, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield IdentityProvider(f"http://{_HOST}:{int(process.stdout.readline())}")
        finally:
            process.kill()


class _Provider(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.issuer = f"http://{_HOST}:{self.server_port}"
        self.orders: dict[str, Any] = {}
        self.asked: dict[str, int] = {}
        self.codes: dict[str, dict[str, str]] = {}
        #: The key that it signs with, and the one that it shows.
        self.key = self.shown = _new_key()

    def id_token(self, nonce: str) -> str:
        from joserfc import jws

        now = int(time.time())
        claims: dict[str, Any] = {"iss": self.issuer, "sub": "f3b1", "aud": CLIENT, "iat": now, "exp": now + 300}
        claims |= {"nonce": self.orders.get("nonce", nonce), "preferred_username": "olga", "groups": ["mq-operators"]}
        claims |= self.orders.get("claims", {})
        claims |= {"padding": "x" * self.orders["padding"]} if "padding" in self.orders else {}
        payload = json.dumps({name: value for name, value in claims.items() if value is not None})
        algorithm = self.orders.get("algorithm", "RS256")
        header = {"alg": algorithm, "kid": self.orders.get("kid", self.key.kid)}
        signed = f"{_base64(json.dumps(header).encode())}.{_base64(payload.encode())}"
        if algorithm == "none":
            return f"{signed}."
        if algorithm == "HS256":
            # Signed with the public key, as if it were a secret.
            return f"{signed}.{_base64(hmac.digest(self.key.as_pem(private=False), signed.encode(), 'sha256'))}"
        return jws.serialize_compact(header, payload, self.key, algorithms=[algorithm])


class _Handler(BaseHTTPRequestHandler):
    server: _Provider

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._handle({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        is_json = self.headers.get("content-type", "").startswith("application/json")
        told = json.loads(body) if is_json else {name: each[0] for name, each in parse_qs(body.decode()).items()}
        self._handle(told)

    def _handle(self, told: dict[str, Any]) -> None:
        provider, path = self.server, urlsplit(self.path).path
        if path == "/orders":
            provider.orders = told
            if "rotate" in told:
                provider.key = _new_key()
                provider.shown = provider.key if told["rotate"] == "shown" else provider.shown
            self._answer(200, {})
        elif path == "/asked":
            self._answer(200, provider.asked.get(told["path"], 0))
        elif "status" in provider.orders:
            self._answer(provider.orders["status"], {})
        else:
            provider.asked[path] = provider.asked.get(path, 0) + 1
            handlers = {
                "/.well-known/openid-configuration": self._document,
                "/jwks": self._jwks,
                "/authorize": self._authorize,
                "/token": self._token,
                "/logout": self._log_out,
            }
            handlers[path](told)

    def _document(self, _: dict[str, Any]) -> None:
        issuer = self.server.issuer
        document = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/jwks",
            "end_session_endpoint": f"{issuer}/logout",
            # Providers name these, too.
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        self._answer(200, document | self.server.orders.get("document", {}))

    def _jwks(self, _: dict[str, Any]) -> None:
        self._answer(200, {"keys": [self.server.shown.as_dict(private=False)]})

    def _authorize(self, told: dict[str, str]) -> None:
        """Send the browser back with a code, or show a page on which a person signs in first."""
        assert told["response_type"] == "code"
        assert told["code_challenge_method"] == "S256"
        assert told["client_id"] == CLIENT
        if "page" in self.server.orders and "signed_in" not in told:
            action = urlencode(told | {"signed_in": "yes"})
            page = f'<!doctype html><title>Provider</title><a href="/authorize?{action}">I am olga</a>'
            self._answer(200, page.replace("&", "&amp;"), "text/html")
            return
        code = secrets.token_urlsafe()
        self.server.codes[code] = told
        self._redirect(f"{told['redirect_uri']}?{urlencode({'code': code, 'state': told['state']})}")

    def _token(self, told: dict[str, str]) -> None:
        scheme, _, shown = self.headers.get("authorization", "").partition(" ")
        is_client = scheme == "Basic" and base64.b64decode(shown).decode() == f"{CLIENT}:{SECRET}"
        asked = self.server.codes.pop(told.get("code", ""), None)
        if not is_client:
            self._answer(401, {"error": "invalid_client"})
        elif asked is None or told.get("redirect_uri") != asked["redirect_uri"]:
            self._answer(400, {"error": "invalid_grant"})
        elif _base64(hashlib.sha256(told.get("code_verifier", "").encode()).digest()) != asked["code_challenge"]:
            self._answer(400, {"error": "invalid_grant", "error_description": "PKCE"})
        else:
            token = {"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "expires_in": 300}
            self._answer(200, token | {"id_token": self.server.id_token(asked["nonce"])})

    def _log_out(self, told: dict[str, str]) -> None:
        assert told["client_id"] == CLIENT
        self._redirect(told["post_logout_redirect_uri"])

    def _redirect(self, url: str) -> None:
        self.send_response(302)
        self.send_header("Location", url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, status: int, value: Any, kind: str = "application/json") -> None:
        body = value.encode() if kind == "text/html" else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _new_key() -> Any:
    from joserfc.jwk import RSAKey

    key = RSAKey.generate_key(2048, {"use": "sig"}, private=True)
    key.ensure_kid()
    return key


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


if __name__ == "__main__":
    server = _Provider()
    print(server.server_port, flush=True)
    server.serve_forever()
