"""A Redis URL as it may be shown: nothing that can be a password is in it, however the URL is misspelt."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

HIDDEN = "***"

#: Parameters whose values are no secrets. Of any other only the name is shown: it may be ``password``, misspelt.
_OPEN_PARAMETERS = frozenset({"db", "ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile"})
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
