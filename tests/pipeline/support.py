"""Writes journals by hand, in the format of the scripts, for tests that read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import redis

from sharedq.redis.keys import admin_keys, structure_keys

GROUP = "QT01"


@dataclass
class HandWrittenJournal:
    """A group's journals. Every method adds one entry and returns its stream id."""

    client: redis.Redis
    numbers: dict[str, int] = field(default_factory=dict)

    def define(self, *structures: str) -> None:
        """Define structures, numbered from 1."""
        for name in structures:
            self.numbers[name] = len(self.numbers) + 1
            definition = json.dumps({"number": self.numbers[name]})
            self.client.hset(admin_keys(GROUP).structures, name, definition)

    def put(
        self,
        structure: str,
        queue: str,
        owner: str,
        ids: Sequence[str],
        *,
        unit: str = "",
        details: Sequence[str] = (),
        ms: int | None = None,
    ) -> str:
        text = "\n".join(details or [",,,1,10,1,5"] * len(ids))
        return self._add(structure, ms, e="put", o=owner, q=queue, u=unit, i=" ".join(ids), d=text)

    def get(
        self,
        structure: str,
        queue: str,
        owner: str,
        ids: Sequence[str],
        *,
        unit: str = "",
        is_chosen: bool = False,
        is_logical: bool = False,
        ms: int | None = None,
    ) -> str:
        chosen = {"c": "2" if is_logical else "1"} if is_chosen or is_logical else {}
        return self._add(structure, ms, e="get", o=owner, q=queue, u=unit, i=" ".join(ids), **chosen)

    def transfer(
        self,
        structure: str,
        queue: str,
        target: str,
        owner: str,
        ids: Sequence[str],
        *,
        ms: int | None = None,
    ) -> str:
        return self._add(structure, ms, e="transfer", o=owner, q=queue, t=target, i=" ".join(ids))

    def give_back(self, structure: str, queue: str, owner: str, ids: Sequence[str], *, ms: int | None = None) -> str:
        """A message that a waiting get was handed and never had."""
        return self._add(structure, ms, e="return", o=owner, q=queue, i=" ".join(ids))

    def undo(self, structure: str, queue: str, unit: str, ids: Sequence[str], *, ms: int | None = None) -> str:
        """Messages stored by an MQPUT that was refused halfway."""
        return self._add(structure, ms, e="undo", o=unit.partition("/")[0], q=queue, u=unit, i=" ".join(ids))

    def expire(
        self,
        structure: str,
        queue: str,
        owner: str,
        ids: Sequence[str],
        *,
        event: str = "expire",
        unit: str = "",
        ms: int | None = None,
    ) -> str:
        """With a unit of work: the message is taken for its report, which that unit puts."""
        return self._add(structure, ms, e=event, o=owner, q=queue, u=unit, i=" ".join(ids))

    def prepare(self, structure: str, unit: str, *, ms: int | None = None) -> str:
        """The unit of work is in doubt."""
        return self._add(structure, ms, e="prepare", o=unit.partition("/")[0], u=unit)

    def end(
        self,
        structure: str,
        event: str,
        unit: str,
        messages: int,
        *,
        recoverer: str = "",
        ms: int | None = None,
    ) -> str:
        """Commit or back out; *recoverer* names the peer that does it."""
        owner = recoverer or unit.partition("/")[0]
        return self._add(structure, ms, e=event, o=owner, u=unit, n=str(messages), r="1" if recoverer else "")

    def store(self, structure: str, *ids: str) -> None:
        """Let the structure hold messages, as it does from their put to their committed get."""
        self.client.hset(structure_keys(GROUP, structure).messages, mapping=dict.fromkeys(ids, "body"))

    def _add(self, structure: str, ms: int | None, **fields: str) -> str:
        key = structure_keys(GROUP, structure).journal
        stream_id = self.client.xadd(key, fields, id="*" if ms is None else f"{ms}-*")  # type: ignore[arg-type]
        assert isinstance(stream_id, bytes)
        return stream_id.decode()


def detail(
    correl: str = "",
    *,
    group: str = "",
    seq: int = 1,
    priority: int = 5,
    msg_id: str = "",
    is_dead_letter: bool = False,
) -> str:
    """The journal's line about a message put."""
    return f"{msg_id},{correl},{group},{seq},10,{3 if is_dead_letter else 1},{priority}"
