"""Redis URLs as text: which are well formed, and how one may be shown, without a password.

Only the shape is judged here, so that a typing error is reported with the setting's name, before anything
starts. Making connections of a URL is the business of `sharedq.redis.deployment`.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote_plus, urlsplit

#: Scheme of a URL -> how it is written. rediss means TLS.
URL_FORMS = {
    "redis": "redis://HOST:6379 or redis://USER:PASSWORD@HOST:6379/0",
    "rediss": "rediss://HOST:6379 or rediss://USER:PASSWORD@HOST:6379/0",
    "unix": "unix:///PATH",
    "redis+sentinel": "redis+sentinel://HOST:26379,HOST:26379/SERVICE",
    "rediss+sentinel": "rediss+sentinel://HOST:26379,HOST:26379/SERVICE",
    "redis+cluster": "redis+cluster://HOST:6379,HOST:6379",
    "rediss+cluster": "rediss+cluster://HOST:6379,HOST:6379",
}
#: The options allowed after a ``?``. Any other would change how connections work, and is refused.
URL_PARAMETERS: tuple[str, ...] = ("username", "password", "db")
#: Also with Sentinels: our user and password for them, where those differ from the ones for Redis.
SENTINEL_PARAMETERS = ("sentinel_username", "sentinel_password")
#: Also with TLS: what is trusted, who we are, and how strictly the server is looked at.
TLS_PARAMETERS = (
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_certfile",
    "ssl_check_hostname",
    "ssl_keyfile",
    "ssl_password",
)
_TLS_VALUES = {"ssl_cert_reqs": ("none", "optional", "required"), "ssl_check_hostname": ("yes", "no", "true", "false")}
HIDDEN = "***"
#: Parameters whose values are no secrets. Of any other only the name is shown: it may be ``password``, misspelt.
_OPEN_PARAMETERS = frozenset({"db", "ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile"})


def check_redis_url(url: str) -> None:
    """Accept a URL that names servers in one of `URL_FORMS`.

    Raises:
        ValueError: it does not; the text says what is allowed and repeats no part of the URL but its scheme.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in URL_FORMS:
        raise ValueError("allowed: " + ", ".join(f"{name}://" for name in URL_FORMS))
    form = f"allowed: {URL_FORMS[scheme]}"
    if re.search(r"\s", url):
        raise ValueError(f"a URL has no blanks; {form}")
    if "#" in url:
        raise ValueError(f"a # in a password or in a path is written %23; {form}")
    where, _, query = rest.partition("?")
    _check_parameters(query, scheme)
    authority, _, path = where.partition("/")
    if "@" in path:
        # The path may be the rest of a password, which an error or a log would show.
        raise ValueError(f"an @ in a password or in the path is written %40; {form}")
    if "+" not in scheme:
        _check_marks(url, form)
    if scheme == "unix":
        if not path or path.endswith("/"):
            raise ValueError(f"the path of the socket is missing; {form}")
        return
    is_several = scheme.endswith(("+sentinel", "+cluster"))
    hosts = authority.rpartition("@")[2].split(",")
    if len(hosts) > 1 and not is_several:
        raise ValueError(f"one server only; {form}")
    for host in hosts:
        _check_host(host, form)
    if scheme.endswith("+sentinel") and not re.fullmatch(r"[^/]+", path):
        raise ValueError(f"one name, the service's, is expected after the hosts; {form}")
    if scheme.endswith("+cluster") and path:
        raise ValueError(f"nothing is expected after the hosts: a Cluster has no databases; {form}")
    if not is_several and not re.fullmatch(r"\d*", path):
        raise ValueError(f"the database is a number; {form}")


def _check_marks(url: str, form: str) -> None:
    """Refuse a URL that redis-py cannot take apart; its own error would show what it took for a port."""
    try:
        _ = urlsplit(url).port
    except ValueError:
        raise ValueError(
            f"a port is a number from 1 to 65535, and a mark in a user or password is written %XX; {form}"
        ) from None


def _check_parameters(query: str, scheme: str) -> None:
    allowed = URL_PARAMETERS
    if scheme.endswith("+sentinel"):
        allowed += SENTINEL_PARAMETERS
    if scheme.startswith("rediss"):
        allowed += TLS_PARAMETERS
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in allowed:
            raise ValueError(f"allowed after the ?: {', '.join(allowed)}")
        if name == "db" and not re.fullmatch(r"\d+", value):
            raise ValueError("the database is a number")
        if name in _TLS_VALUES and value.lower() not in _TLS_VALUES[name]:
            raise ValueError(f"{name} is one of {', '.join(_TLS_VALUES[name])}")


def _check_host(host: str, form: str) -> None:
    try:
        parts = urlsplit(f"//{host}")
        name, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"a port is a number from 1 to 65535; {form}") from None
    if not name or parts.path or host.endswith(":"):
        raise ValueError(f"a host's name or port is missing; {form}")
    if port == 0:
        raise ValueError(f"a port is a number from 1 to 65535; {form}")


_OPEN_PARAMETERS |= {"ssl_check_hostname", "ssl_keyfile"}


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]*\]|[^:\[\]]*)(:\d*)?")


#: A URL of Redis in a longer text. A blank ends it, because text follows.
_URL_IN_TEXT = re.compile(r"(?:rediss?(?:\+\w+)?|unix):/\S*")


def mask_password(url: str) -> str:
    """The URL with ``***`` for what is, or may be, a password. Text that is no URL stays as it is."""
    scheme, separator, rest = url.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        # The :// belongs to a password, or is not there.
        scheme, separator, rest = "", "", url
    user_info, at, rest = rest.rpartition("@")
    if at and re.search(r"[?#]", user_info):
        # The ? begins the parameters, or is part of the password: the @ does not tell which.
        return f"{scheme}{separator}{HIDDEN}"
    if at:
        user_info = _masked_user(user_info) if separator else HIDDEN
    where, mark, parameters = _split(rest)
    return f"{scheme}{separator}{user_info}{at}{_masked_place(where, bool(separator))}{mark}{_masked(parameters)}"


def mask_urls(text: str) -> str:
    """A text with the password of every Redis URL in it hidden."""
    return _URL_IN_TEXT.sub(lambda found: mask_password(found[0]), text)


def _split(text: str) -> tuple[str, str, str]:
    found = re.search(r"[?#]", text)
    return (text, "", "") if found is None else (text[: found.start()], found[0], text[found.end() :])


def _masked_user(user_info: str) -> str:
    user, colon, _ = user_info.partition(":")
    return (user if re.fullmatch(r"[\w.-]*", user) else HIDDEN) + (f":{HIDDEN}" if colon else "")


def _masked_place(where: str, is_url: bool) -> str:
    """Hosts, ports and path. A port that is no number may be a password that no @ follows."""
    if not is_url:
        return HIDDEN if re.search(r"pass\w*\s*=", where, re.IGNORECASE) else where
    authority, slash, path = where.partition("/")
    hosts = (host if _HOST.fullmatch(host) else f"{host.partition(':')[0]}:{HIDDEN}" for host in authority.split(","))
    shown = ",".join(hosts)
    return f"{shown}/{HIDDEN}" if HIDDEN in shown and slash else f"{shown}{slash}{path}"


def _masked(parameters: str) -> str:
    shown = []
    for item in parameters.split("&") if parameters else ():
        raw, equals, value = item.partition("=")
        name = unquote_plus(raw)
        is_open = name in _OPEN_PARAMETERS and re.fullmatch(r"[\w./:@ %+-]*", value)
        if is_open:
            shown.append(item)
            continue
        shown.append(f"{name}={HIDDEN}" if equals and re.fullmatch(r"\w+", name) else HIDDEN)
        if "pass" in name.lower():
            # A & of the password ends its item only.
            break
    return "&".join(shown)
