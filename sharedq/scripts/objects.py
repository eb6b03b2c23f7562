"""The scripts of the administration structure that keep definitions, attributes, authorities and subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from sharedq.redis.keys import AdminKeys, StructureKeys
from sharedq.redis.link import ScriptCall

#: Subscriptions that one call of ``admin/match`` returns, at most.
MATCHES_PER_CALL = 500


def lookup_call(keys: AdminKeys, qmgr: str, name: str | bytes) -> ScriptCall:
    """Read the private entry of *name* at *qmgr*, the shared one, and the attributes of *qmgr*."""
    return "admin/lookup", (keys.directory, keys.qmgr), (qmgr, name)


def define_object_call(
    keys: AdminKeys,
    scope: str,
    qmgr: str,
    name: str,
    kind: str,
    structure: str,
    mode: str,
    version: str,
    body: str,
    *,
    caller: str,
) -> ScriptCall:
    """Put an entry into the directory.

    Args:
        version: of the entry that it replaces.
        caller: the connection whose MQOPEN of a model this is; "" for a command.
    """
    return (
        "admin/define_object",
        (
            *(keys.group, keys.directory, keys.structures, keys.members),
            *((keys.fence, keys.owners) if caller else ()),
        ),
        (scope, qmgr, name, kind, structure, mode, version, body, *((caller,) if caller else ())),
    )


def remove_object_call(keys: AdminKeys, field: str, version: str) -> ScriptCall:
    """Take an entry out of the directory, if it still has this version."""
    return "admin/remove_object", (keys.group, keys.directory), (field, version)


def define_structure_call(keys: AdminKeys, name: str, mode: str, known: bytes | str, definition: str) -> ScriptCall:
    """Define or alter a structure; *known* is the record that an alteration replaces."""
    return "admin/define_structure", (keys.group, keys.structures, keys.deleted), (name, mode, known, definition)


def remove_structure_call(keys: AdminKeys, name: str, mode: Literal["delete", "forget"] = "delete") -> ScriptCall:
    """Delete a structure in which no queue is defined, or forget a deleted one in which nobody is registered."""
    return "admin/remove_structure", (keys.group, keys.structures, keys.deleted), (name, mode)


def alter_qmgr_call(keys: AdminKeys, qmgr: str, known: bytes, attributes: str, *, is_igq: bool) -> ScriptCall:
    """Write the attributes of *qmgr*, if *known* is the record in force. *is_igq*: IGQ is among what changes."""
    return "admin/alter_qmgr", (keys.group, keys.qmgr, keys.members), (qmgr, known, attributes, int(is_igq))


def set_authority_call(keys: AdminKeys, records: str, field: str, add: str, remove: str) -> ScriptCall:
    """Change an authority record. *records* is the key of the records for its object type."""
    return "admin/set_authority", (keys.group, records), (field, add, remove)


def remove_authority_call(keys: AdminKeys, records: str, field: str) -> ScriptCall:
    """Delete an authority record. *records* is the key of the records for its object type."""
    return "admin/remove_authority", (keys.group, records), (field,)


def define_named_call(key: str, name: str, expected: bytes, definition: str) -> ScriptCall:
    """Define, alter or delete ("") an object in the hash *key*, if *expected* is the text in force."""
    return "admin/define_named", (key,), (name, expected, definition)


def structure_state_call(keys: AdminKeys, structure: str, state: str, known: str) -> ScriptCall:
    """Tell the group the state of a structure, unless the group has been told another state than *known* since."""
    return "admin/structure_state", (keys.members, keys.failures), (structure, state, known)


def set_versions_call(keys: StructureKeys, field: str, value: str) -> ScriptCall:
    """Tell a structure the version of what handles go through."""
    return "structure/set_versions", (keys.versions,), (field, value)


def define_topic_call(
    keys: AdminKeys, name: str, mode: Literal["new", "replace", "alter", "delete"], version: int, body: str
) -> ScriptCall:
    """Define, alter or delete an administrative topic. *version*: of the topic that is altered or deleted."""
    return "admin/define_topic", (keys.group, keys.topics), (name, mode, version, body)


def subscribe_call(
    keys: AdminKeys,
    caller: str,
    mode: Literal["new", "alter"],
    number: str,
    name: str,
    version: int,
    place: str,
    body: str,
) -> ScriptCall:
    """Make or alter the subscription *number*.

    Args:
        caller: the connection that has it open; "" for a command.
        version: of the subscription that is altered.
    """
    script_keys = (
        *(keys.group, keys.subscriptions, keys.subscription_names, keys.subscription_tree, keys.subscriptions_at),
        *(keys.subscription_holders, keys.owners, keys.fence),
    )
    return "admin/subscribe", script_keys, (caller, mode, number, name, version, place, body)


def hold_subscription_call(keys: AdminKeys, caller: str, number: str) -> ScriptCall:
    """Open the subscription *number* for the connection *caller*."""
    script_keys = (keys.subscriptions, keys.subscription_holders, keys.owners, keys.fence)
    return "admin/hold_subscription", script_keys, (caller, number)


def end_subscription_call(
    keys: AdminKeys, caller: str, number: str, mode: Literal["close", "remove"], holder: str
) -> ScriptCall:
    """Close the subscription *number*, or remove it.

    Args:
        caller: the connection that calls; "" for a command.
        holder: the connection that may have it open.
    """
    script_keys = (
        *(keys.group, keys.subscriptions, keys.subscription_names, keys.subscription_tree, keys.subscriptions_at),
        *(keys.subscription_holders, keys.orphans, keys.owners, keys.fence, keys.delivered),
    )
    return "admin/end_subscription", script_keys, (caller, number, mode, holder)


def match_call(
    keys: AdminKeys,
    known: str,
    levels: Sequence[str],
    reached: Mapping[str, str],
    found: Sequence[str],
    skip: int,
    *,
    is_last: bool,
) -> ScriptCall:
    """Go on with finding the subscriptions to a topic string.

    Args:
        known: the version of the subscriptions that the caller knows; "" for none.
        levels: the next levels of the topic string.
        reached: places to go on from, each with the nearest one above it for any levels.
        found: places whose subscriptions are to be read; of the first of them all but *skip*.
        is_last: no levels come after these, and nothing but *reached* is to be gone on from.
    """
    script_keys = (
        *(keys.group, keys.subscriptions, keys.subscription_tree, keys.subscriptions_at),
        keys.subscription_holders,
    )
    counts = (known, MATCHES_PER_CALL, int(is_last), skip, len(levels), len(reached))
    places = (name for pair in reached.items() for name in pair)
    return "admin/match", script_keys, (*counts, *levels, *places, *found)


def publishing_call(
    keys: AdminKeys, caller: str, topic_string: str, change: Literal[1, 0, -1], *, is_authorized: bool
) -> ScriptCall:
    """Note that the connection *caller* has opened a topic for publications (1), or closed it (-1).

    Args:
        change: 0: ask only whether its authority has to be checked.
        is_authorized: it was checked, or need not be.
    """
    script_keys = (keys.owners, keys.fence, keys.topic_authorities)
    return "admin/publishing", script_keys, (caller, topic_string, change, int(is_authorized))


def note_delivered_call(keys: AdminKeys, caller: str, counts: Iterable[tuple[str, int, int]]) -> ScriptCall:
    """Note publications that were put: for each subscription its number, how many, when the last (ms since 1970)."""
    script_keys = (keys.owners, keys.fence, keys.subscriptions, keys.delivered)
    return "admin/note_delivered", script_keys, (caller, *(value for each in counts for value in each))


def add_orphan_call(keys: AdminKeys, structure: str, queue: str, maker: str) -> ScriptCall:
    """Note that a temporary queue is to be deleted, although its *maker* ends before the deletion."""
    return "admin/add_orphan", (keys.orphans,), (f"{structure}\n{queue}", maker)


def forget_orphan_call(keys: AdminKeys, field: str, maker: str) -> ScriptCall:
    """Note that an orphan is gone. *field* and *maker* are as `orphans_of` has them."""
    return "admin/forget_orphan", (keys.orphans,), (field, maker)
