"""Reads what a structure's keys hold: page by page, or all in one moment if the structure is small.

Texts are decoded as Latin-1, which loses no byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, Final, Literal

from sharedq.members.group import Group
from sharedq.reading.keyspace import read_at_once
from sharedq.scripts.reading import fields_page_call
from sharedq.scripts.reads import list_page, pages

_SCANS: Final[dict[str, Literal["HSCAN", "ZSCAN", "SSCAN"]]] = {"hash": "HSCAN", "zset": "ZSCAN", "set": "SSCAN"}
#: Entries that Redis visits in one step of a scan, and list elements that one call reads.
PAGE = 500
#: The same for messages, whose records each step has to pass over.
MESSAGES_PAGE = 50

#: The types of keys, by what follows the hash tag. A ``:`` means that a name follows.
TYPES = {
    **dict.fromkeys(("own", "dead", "fence", "ver", "dest", "trash", "q:", "g:", "h:", "l:", "k:"), "hash"),
    **dict.fromkeys(("x", "trash:", "a:", "r:", "i:", "w:", "marks:"), "zset"),
    **dict.fromkeys(("u:",), "list"),
    **dict.fromkeys(("wake:",), "heads"),
    **dict.fromkeys(("o:", "made:"), "set"),
    **dict.fromkeys(("m",), "fields"),
    **dict.fromkeys(("seq", "journal", "events", "triggers", "owed"), "nothing"),
}
ADMIN_TYPES = {
    **dict.fromkeys(
        (
            *(
                "group",
                "members",
                "procs",
                "own",
                "dead",
                "fence",
                "tags",
                "decisions",
                "prepared",
                "recoveries",
                "agents",
            ),
            *("structures", "failures", "qmgr", "aut", "auttopic", "dir", "prc", "nl", "chl", "lstr"),
            *("topics", "subs", "subnames", "subtree", "subheld", "subput", "orphans"),
        ),
        "hash",
    ),
    **dict.fromkeys(("leases", "subat:"), "zset"),
    "deleted": "set",
    **dict.fromkeys(("completed", "series:", "news:", "served:", "audit", "history:"), "nothing"),
}


@dataclass(slots=True)
class Contents:
    """The contents of the keys of one structure.

    Attributes:
        tag: the hash tag.
        values: what each key holds, by kind (the text between the tag and the name, with its colon) and name: a dict of
            a hash or a sorted set, a list or a set.
        unknown: keys whose kind does not exist.
    """

    name: str
    tag: str
    values: dict[tuple[str, str], Any] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def key(self, kind: str, name: str = "") -> str:
        """Return the whole key."""
        return f"{self.tag}:{'k:' if kind == 'marks:' else kind}{name}"

    def hash(self, kind: str, name: str = "") -> dict[str, str]:
        """Return a hash, empty if the key does not exist."""
        found: dict[str, str] = self.values.get((kind, name), {})
        return found

    def zset(self, kind: str, name: str = "") -> dict[str, float]:
        """Return members and scores of a sorted set."""
        found: dict[str, float] = self.values.get((kind, name), {})
        return found

    def names(self, *kinds: str) -> list[str]:
        """Return the names in the keys of these kinds."""
        return sorted({name for kind, name in self.values if kind in kinds})

    @property
    def size(self) -> int:
        """The number of entries in all keys."""
        return sum(len(value) for value in self.values.values())


def split_key(tag: str, key: str) -> tuple[str, str]:
    """Split a key into kind and name."""
    kind, colon, name = key[len(tag) + 1 :].partition(":")
    if kind == "k" and "\n" in name:
        return "marks:", name
    return kind + colon, name


def read_by_pages(group: Group, name: str, tag: str, keys: Iterable[str], types: dict[str, str]) -> Contents:
    """Read these keys. Owners and queues are read last, or what refers to a new one would be taken for lost."""
    contents = Contents(name, tag)
    last = ("own", "dead", "q:")
    split = {key: split_key(tag, key) for key in keys}
    for key in sorted(split, key=lambda key: (split[key][0] in last, key)):
        kind = split[key][0]
        if kind not in types:
            contents.unknown.append(key)
            continue
        # Keys are sent in UTF-8, as the scripts wrote them: the place of a topic may have any character in it.
        value = _read(group, key.encode("latin-1").decode(errors="replace"), types[kind])
        if value:
            contents.values[split[key]] = value
    return contents


def read_in_one_moment(group: Group, looked: Contents, owners: Iterable[str]) -> Contents | None:
    """Read the keys of a structure at one moment. None if an owner arrived meanwhile whose keys were not read.

    Args:
        looked: what was read page by page: it names the keys.
        owners: tokens whose keys may appear although there are none yet.
    """
    wanted = dict.fromkeys([("own", ""), ("dead", ""), ("m", ""), ("x", ""), ("trash", ""), *looked.values])
    for queue in looked.names("q:"):
        wanted |= dict.fromkeys((kind, queue) for kind in ("a:", "r:", "i:", "g:", "w:", "h:", "l:", "k:"))
    tokens = {*owners, *looked.hash("own"), *looked.hash("dead")}
    wanted |= dict.fromkeys((kind, token) for token in tokens for kind in ("u:", "o:", "made:", "wake:"))
    contents = Contents(looked.name, looked.tag)
    asked = [(TYPES[kind], looked.key(kind, name)) for kind, name in wanted]
    for (kind, name), reply in zip(wanted, read_at_once(group, f"{looked.tag}:", asked), strict=True):
        value = _whole(TYPES[kind], reply)
        if value:
            contents.values[kind, name] = value
    return contents if tokens >= {*contents.hash("own"), *contents.hash("dead")} else None


def _whole(kind: str, reply: Any) -> Any:
    if kind == "nothing":
        return [""] if reply else []
    if kind == "hash":
        return {_text(name): _text(value) for name, value in _pairs(reply)}
    if kind == "zset":
        return {_text(name): float(score) for name, score in _pairs(reply)}
    if kind == "heads":
        return [_text(each.partition(b"\n")[0]) for each in reply]
    return [_text(each) for each in reply]


def _read(group: Group, key: str, kind: str) -> Any:
    if kind == "nothing":
        return [""]
    if kind == "list":
        return list(_elements(group, key))
    if kind == "heads":
        return _whole(kind, list_page(group, key, 0, 1))
    if kind == "fields":
        return list(_fields(group, key))
    return _whole(kind, list(chain.from_iterable(pages(group, _SCANS[kind], key, count=PAGE))))


def _fields(group: Group, key: str) -> Iterator[str]:
    cursor = b"0"
    while True:
        cursor, found = group.call(*fields_page_call(key, cursor, MESSAGES_PAGE))
        yield from map(_text, found)
        if cursor == b"0":
            return


def _elements(group: Group, key: str) -> Iterator[str]:
    for start in count(0, PAGE):
        found = list_page(group, key, start, PAGE)
        yield from map(_text, found)
        if len(found) < PAGE:
            return


def _pairs(flat: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _text(value: bytes) -> str:
    return value.decode("latin-1")
