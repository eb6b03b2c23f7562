"""Where a client comes from. Pure."""

from __future__ import annotations

import ipaddress


def network_of(host: str) -> str:
    """Where a client comes from. An IPv6 host has as many addresses as it likes in its network of 64 bits."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
