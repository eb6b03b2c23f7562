"""The table of actions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from igq.web.access.gate import Identity, Refused
from igq.web.console.actions import letters, operations, queues
from igq.web.console.actions.action import Action

#: Every action by its name, in the order of the buttons.
ACTIONS: Mapping[str, Action] = MappingProxyType(
    {each.name: each for module in (queues, letters, operations) for each in module.ACTIONS}
)


def allowed(identity: Identity) -> list[dict[str, Any]]:
    """Describe the actions that the user may do."""
    return [each.described() for each in ACTIONS.values() if identity.role >= each.role]


def action_named(identity: Identity, name: str) -> Action:
    """Return an action that the user may do.

    Raises:
        Refused: 404, there is none; 403, the user may not.
    """
    action = ACTIONS.get(name)
    if action is None:
        raise Refused(404, "there is no such action")
    if identity.role < action.role:
        raise Refused(403, f"{identity.user} is {identity.role.word}; this needs {action.role.word}")
    return action
