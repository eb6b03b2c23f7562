"""Connection names: ``host1(1414),host2(1414)``, the places where a client looks for a queue manager, in this order.

Here every manager of the group is reached by the settings, so a host decides only where any manager would do: a host
that is called like a manager of the group (its first label, in any case) means that one, every other host what the name
means: for ``*QM1`` the manager QM1, else any.
"""

from __future__ import annotations

import re

from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError

#: A host and its port, which needs not be given.
_ADDRESS = re.compile(r"([^\s,()]+)\s*(?:\([^)]*\))?")
_ANY = ""


def names_at(group: Group, name: str, addresses: bytes) -> list[str]:
    """The names to connect to, one after the other, until one is there.

    Args:
        name: as the program gave it: a manager's, the group's, ``*`` and any name, or none.
        addresses: the ConnectionName.
    """
    if name not in (_ANY, group.name) and not name.startswith("*"):
        return [name]
    hosts = _ADDRESS.findall(addresses.partition(b"\0")[0].decode("utf-8", "replace"))
    if not hosts:
        return [name]
    try:
        managers = {member.name.upper(): member.name for member in group.members()}
    except MQIError:
        # The connection will tell what is wrong.
        return [name]
    other = managers.get(name.removeprefix("*"), _ANY)
    found = [managers.get(host.partition(".")[0].upper(), other) for host in hosts]
    return list(dict.fromkeys(found))
