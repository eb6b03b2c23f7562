"""The settings of the identity provider by which users sign in to the console."""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

ROLES: Final = ("messaging", "viewer", "operator", "administrator")
ROLES_DESCRIPTION = f"GROUP=ROLE, with semicolons between; a ROLE is {', '.join(ROLES[:-1])} or {ROLES[-1]}"


def check_issuer(text: str) -> str:
    """Return *text* if it is blank, or the URL of an issuer: by TLS, or on this machine.

    Raises:
        ValueError: it is neither.
    """
    if not text:
        return text
    found = urlsplit(text)
    is_safe = found.scheme == "https" or (found.scheme == "http" and _is_loopback(found.hostname or ""))
    if not is_safe or not found.hostname or found.query or found.fragment or not text.isprintable() or " " in text:
        raise ValueError("allowed: an https:// URL as the provider's discovery document names its issuer")
    return text


def check_scopes(text: str) -> str:
    """Return *text* if it is a list of scopes with openid. Raises ValueError: it is not."""
    if "openid" not in text.split() or not text.isprintable():
        raise ValueError("allowed: scopes with blanks between, openid among them")
    return text


def check_roles(text: str) -> str:
    """Return *text* if it says which role a group has. Raises ValueError: it does not."""
    roles_of_groups(text)
    return text


def roles_of_groups(text: str) -> dict[str, str]:
    """Return the role of each group that *text* names. Raises ValueError: it is not as `ROLES_DESCRIPTION` says."""
    found: dict[str, str] = {}
    for each in filter(str.strip, text.split(";")):
        # The name of a group may have an equals sign, as in a directory: CN=operators,OU=mq
        group, _, role = (part.strip() for part in each.rpartition("="))
        if not group or role not in ROLES:
            raise ValueError(f"{each.strip()}: allowed: {ROLES_DESCRIPTION}")
        if found.setdefault(group, role) != role:
            raise ValueError(f"{group} has two roles")
    return found


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
