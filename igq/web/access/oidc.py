"""Signing in by an identity provider: OpenID Connect, the authorization code flow with PKCE, through authlib.

The provider says who a user is, and in which groups; the settings say which role a group has.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request

from igq.errors import CommandError
from igq.web.access.failures import Failures
from igq.web.access.gate import Refused
from igq.web.access.users import Role
from sharedq.settings.identity_provider import roles_of_groups
from sharedq.settings.text_files import NotTextError, read_text
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from authlib.integrations.starlette_client import StarletteOAuth2App

_DISCOVERY = "/.well-known/openid-configuration"
#: The words of the discovery document that are used: authlib takes others for options of its HTTP client.
_NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
_USED = (*_NEEDED, "end_session_endpoint")
#: Signatures by a private key. With HS256 anybody could sign with the public key, if a server took it for a secret.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
#: Seconds for an answer of the provider, and bytes of one.
_ANSWER_S, _ANSWER_BYTES = 10.0, 1 << 20
#: Seconds for which the discovery document and the keys count, and for which a failure to read the document does.
_KNOWN_S, _AWAY_S = 600.0, 5.0
#: Seconds by which the clocks may differ.
_LEEWAY_S: Final = 60
#: Characters of a user's name, and of what a log says of a refusal.
_LONGEST_NAME, _LONGEST_WHY = 64, 200


@dataclass(frozen=True, slots=True)
class Vouched:
    """A user whom the provider vouches for.

    Attributes:
        subject: the provider's own id of the user, which never changes.
        role: the highest one of the user's groups; None: no group has a role.
    """

    user: str
    subject: str
    role: Role | None


class Provider:
    """The identity provider of a console.

    Attributes:
        name: for people.
    """

    def __init__(self, settings: Settings, secret: str | None) -> None:
        from itsdangerous import URLSafeTimedSerializer

        self.name = settings.console_oidc_name or urlsplit(settings.console_oidc_issuer).netloc
        self._settings, self._secret = settings, secret
        self._roles = {
            group: Role[word.upper()] for group, word in roles_of_groups(settings.console_oidc_roles).items()
        }
        #: Signs what a browser keeps while its user is at the provider.
        self.cookies = URLSafeTimedSerializer(secrets.token_bytes(32))
        self._failures = Failures()
        self._reading = asyncio.Lock()
        self._app: StarletteOAuth2App | None = None
        #: Until when the app counts, or why there is none; seconds of the monotonic clock.
        self._until_s, self._away = 0.0, ""

    async def begin(self, request: Request, redirect_uri: str) -> str:
        """Return the URL to which the browser goes. The *request*'s session then has all that `finish` needs.

        Raises:
            Refused: 503, the provider is away or answers wrongly.
        """
        app = await self._known_app()
        return str((await app.authorize_redirect(request, redirect_uri)).headers["location"])

    async def finish(self, request: Request) -> Vouched:
        """Return the user of a browser that the provider has sent back.

        Raises:
            Refused: 400 this browser has begun no such sign-in, 403 the provider's answer is not valid, 503 the
                provider is away.
        """
        from authlib.common.errors import AuthlibBaseError
        from httpx2 import HTTPError
        from joserfc.errors import JoseError

        app = await self._known_app()
        state = request.query_params.get("state", "")
        # Before anything else: only then it is the provider that says what the other parameters say.
        if not state or await app.framework.get_state_data(request.session, state) is None:
            raise Refused(400, "This browser has begun no such sign-in, or it is over. Sign in again.")
        expected = {
            "iss": {"essential": True, "value": self._settings.console_oidc_issuer},
            "aud": {"essential": True, "value": self._settings.console_oidc_client_id},
        }
        try:
            token = await app.authorize_access_token(request, claims_options=expected, leeway=_LEEWAY_S)
        except HTTPError as error:
            raise self._unable(error) from None
        except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._invalid(error) from None
        return self._vouched(token.get("userinfo") or {})

    @contextmanager
    def counted_try(self, host: str) -> Iterator[None]:
        """Let an address come back from the provider, unless too many sign-ins from it have failed.

        Raises:
            Refused: 429.
        """
        if (wait_s := self._failures.wait_s(host, host)) or not self._failures.begin(host, host):
            raise Refused(
                429, f"Too many failures, try again in {max(wait_s, 1)} s.", {"Retry-After": str(max(wait_s, 1))}
            )
        is_failure = False
        try:
            yield
        except Refused as refused:
            is_failure = refused.status != 503
            raise
        finally:
            self._failures.end(host, host, is_failure=is_failure)

    async def sign_out_url(self, back: str) -> str | None:
        """Return where the browser ends its session at the provider, and then comes *back*; None: it cannot there."""
        try:
            app = await self._known_app()
        except Refused:
            return None
        if "end_session_endpoint" not in app.server_metadata:
            return None
        # Without the ID token, which nobody keeps, the provider may ask the user.
        made = await app.create_logout_url(back, client_id=self._settings.console_oidc_client_id)
        return str(made["url"])

    def _vouched(self, claims: Mapping[str, Any]) -> Vouched:
        user, subject = claims.get(self._settings.console_oidc_user_claim), claims.get("sub")
        groups = claims.get(self._settings.console_oidc_groups_claim, [])
        if not isinstance(subject, str) or not subject:
            raise self._invalid("it has no ID token")
        if (
            not isinstance(user, str)
            or not user.isprintable()
            or not 1 <= len(user.strip()) <= len(user) <= _LONGEST_NAME
        ):
            raise self._invalid(
                f"{self._settings.console_oidc_user_claim} is no name of 1 to {_LONGEST_NAME} characters"
            )
        # A text would be one name, or several with something between: nobody should have to guess.
        if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
            raise self._invalid(f"{self._settings.console_oidc_groups_claim} is no list of texts", user)
        roles = [self._roles[each] for each in groups if each in self._roles]
        return Vouched(user, subject[:_LONGEST_WHY], max(roles, default=None))

    async def _known_app(self) -> StarletteOAuth2App:
        """The client of authlib, with a discovery document and keys that are not old."""
        async with self._reading:
            if time.monotonic() >= self._until_s:
                self._app, self._away = None, ""
                try:
                    self._app = await self._read()
                finally:
                    self._until_s = time.monotonic() + (_AWAY_S if self._app is None else _KNOWN_S)
            if self._app is None:
                raise Refused(503, self._away, user="")
            return self._app

    async def _read(self) -> StarletteOAuth2App | None:
        from authlib.integrations.starlette_client import StarletteIntegration, StarletteOAuth2App
        from httpx2 import HTTPError

        settings = self._settings
        app = StarletteOAuth2App(
            StarletteIntegration("oidc"),
            "oidc",
            client_id=settings.console_oidc_client_id,
            client_secret=self._secret,
            server_metadata_url=settings.console_oidc_issuer.rstrip("/") + _DISCOVERY,
            client_kwargs={
                "scope": settings.console_oidc_scopes,
                "code_challenge_method": "S256",
                "timeout": _ANSWER_S,
                "headers": {"Accept-Encoding": "identity"},
                "event_hooks": {"response": [_bound]},
            },
        )
        try:
            told = await app.load_server_metadata()
            self._check(told)
        except (HTTPError, ValueError, TypeError, RecursionError) as error:
            self._away = self._unable(error).text
            return None
        methods = told.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if self._secret is not None and "client_secret_basic" not in methods and "client_secret_post" in methods:
            app.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"
        signs = told.get("id_token_signing_alg_values_supported") or ["RS256"]
        app.server_metadata = {name: told[name] for name in _USED if name in told} | {
            "id_token_signing_alg_values_supported": [each for each in _ALGORITHMS if each in signs] or ["RS256"],
            "_loaded_at": told["_loaded_at"],
        }
        return app

    def _check(self, told: Mapping[str, Any]) -> None:
        issuer = self._settings.console_oidc_issuer
        if told.get("issuer") != issuer:
            raise ValueError(f"its issuer is {told.get('issuer')}, and console_oidc_issuer is {issuer}")
        for name in _USED:
            url = told.get(name, "" if name in _NEEDED else issuer)
            # No secret and no code goes over the network in the clear, unless the issuer is on this machine.
            if not isinstance(url, str) or not url.startswith(f"{urlsplit(issuer).scheme}://"):
                raise ValueError(f"its {name} is {url}")

    def _unable(self, error: Exception) -> Refused:
        why = _one_line(error) or type(error).__name__
        return Refused(
            503, f"{self.name} cannot be asked now: {why}. Users of the console can sign in meanwhile.", user=""
        )

    def _invalid(self, why: object, user: str = "") -> Refused:
        return Refused(403, f"The answer of {self.name} is not valid: {_one_line(why)}.", user=user)


def provider_of(settings: Settings) -> Provider | None:
    """Return the identity provider that the settings name, if they name one.

    Raises:
        CommandError: they cannot be used.
    """
    if not settings.console_oidc_issuer:
        for name in ("console_oidc_client_id", "console_oidc_roles"):
            if getattr(settings, name):
                raise CommandError(f"{name}={getattr(settings, name)} needs console_oidc_issuer")
        return None
    for name in ("console_oidc_client_id", "console_oidc_roles"):
        if not getattr(settings, name).strip():
            raise CommandError(f"console_oidc_issuer={settings.console_oidc_issuer} needs {name}")
    try:
        import authlib.integrations.starlette_client  # noqa: F401 - all that it needs, too
    except ModuleNotFoundError as error:
        raise CommandError(f"console_oidc_issuer needs {error.name}: pip install 'igq[oidc]'") from None
    file = settings.console_oidc_client_secret_file
    if file is None:
        return Provider(settings, None)
    try:
        secret = read_text(file).strip()
    except (OSError, NotTextError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CommandError(f"console_oidc_client_secret_file={file}: cannot be read: {why}") from None
    if not secret:
        raise CommandError(f"console_oidc_client_secret_file={file}: holds nothing")
    return Provider(settings, secret)


async def _bound(response: Any) -> None:
    """Bound the bytes of an answer. A packed one could be any length."""
    from httpx2 import AsyncByteStream, ReadError

    class Bounded(AsyncByteStream):
        def __init__(self, stream: AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            come = 0
            async for piece in self._stream:
                come += len(piece)
                if come > _ANSWER_BYTES:
                    raise ReadError("its answer is too long")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    if "content-encoding" in response.headers:
        raise ReadError("its answer is packed, which nobody asked for")
    response.stream = Bounded(response.stream)


def _one_line(told: object) -> str:
    text = " ".join(str(told).split()).rstrip(".")
    return (text if text.isprintable() else ascii(text))[:_LONGEST_WHY]
