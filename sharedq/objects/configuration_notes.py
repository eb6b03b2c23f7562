"""Notes of what a command or an MQSET makes of an object: a manager with CONFIGEV(ENABLED) writes events of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Literal

from sharedq.members.event_notes import Giver, leave_note
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.repository import Repository
from sharedq.objects.store.finder import Chosen


@contextmanager
def noting(
    repository: Repository,
    action: Literal["create", "change", "delete"],
    kind: str,
    name: str,
    disposition: Chosen | None = None,
) -> Iterator[None]:
    """Note the object as it is before and after the body, where the manager asks for that.

    CONFIGEV decides as it is before the body, and for a change of the manager also as that leaves it.
    """
    qmgr = repository.qmgr or ""
    asked = {repository.attributes_before(qmgr).configuration_event}
    is_manager = kind == QueueManagerAttributes.kind
    if "ENABLED" not in asked and not is_manager:
        yield
        return
    before = repository.definition(kind, name, disposition)
    yield
    after = None if action == "delete" else repository.definition(kind, name, disposition)
    if is_manager:
        asked.add(repository.qmgr_attributes(qmgr).configuration_event)
    if "ENABLED" not in asked:
        return
    fields = {
        "action": "change" if action == "create" and before is not None else action,
        "object": kind,
        "before": "" if before is None else before.to_json(),
        "after": "" if after is None else after.to_json(),
        **asdict(repository.giver or Giver()),
    }
    leave_note(repository.group, qmgr, "config", "", fields)
