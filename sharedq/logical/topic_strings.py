"""Topic strings, wildcards, and the places of subscriptions in the tree of topics. Pure.

A topic string is split into levels by ``/``. A *place* is the path of a subscription in the tree that publications are
matched with (``admin/match``): for each level ``/=`` and its text, ``/+`` for one level of any text, ``/#`` for any
number of levels. A subscription with wildcards for characters stands below the levels before its first wildcard, at
``/~``.

Source: IBM MQ, "Topic-based wildcard scheme", "Character-based wildcard scheme", "Combining topic strings".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

#: Bytes of a topic string, at most (MQ_TOPIC_STR_LENGTH).
TOPIC_STRING_LENGTH: Final = 10240

Scheme = Literal["TOPIC", "CHAR"]
#: The step to subscriptions with wildcards for characters.
CHARACTERS: Final = "/~"
_ONE_LEVEL, _ANY_LEVELS = "+", "#"
_WILD: Final = re.compile(r"[*?%]")
#: A node of a tree of topics: the nodes below it, by their levels.
_Below = dict[str, "_Below"]
# Of a pattern: any characters, one character.
_ANY, _ONE = "any", "one"


def levels_of(topic_string: str) -> list[str]:
    """Return the levels of a topic string. The root, which is empty, has none."""
    return topic_string.split("/") if topic_string else []


def ancestors_of(topic_string: str) -> Iterator[str]:
    """Return the topic strings above one and itself, the nearest first, the root last."""
    # The empty first level of ``/A`` is a level of its own, and it would look like the root.
    while topic_string:
        yield topic_string
        topic_string = topic_string.rpartition("/")[0]
    yield ""


def combined(of_object: str, given: str) -> str:
    """Return the topic string that a topic object's and the one of a call make together."""
    return f"{of_object}/{given}" if of_object and given else of_object or given


def place_of(topic_string: str, scheme: Scheme) -> str:
    """Return where in the tree a subscription to *topic_string* stands."""
    if scheme == "CHAR":
        wild = _WILD.search(topic_string)
        if wild is None:
            return steps(levels_of(topic_string))
        before = topic_string[: wild.start()]
        return steps(before.split("/")[:-1]) + CHARACTERS
    levels = levels_of(topic_string)
    # Several "#" in a row stand for any number of levels, as one does.
    kept = (each for at, each in enumerate(levels) if each != _ANY_LEVELS or levels[at - 1 : at] != [_ANY_LEVELS])
    return "".join(f"/{each}" if each in (_ONE_LEVEL, _ANY_LEVELS) else f"/={each}" for each in kept)


def steps(levels: Sequence[str]) -> str:
    """Return the path of levels without wildcards."""
    return "".join(f"/={level}" for level in levels)


def literal_levels(topic_string: str, scheme: Scheme) -> int:
    """Return how many levels of a subscription's topic string come before its first wildcard. -1: it has none."""
    levels = levels_of(topic_string)
    for position, level in enumerate(levels):
        is_wild = level in (_ONE_LEVEL, _ANY_LEVELS) if scheme == "TOPIC" else _is_wild_text(level)
        if is_wild:
            return position
    return -1


def _is_wild_text(text: str) -> bool:
    return any(mark in "*?" for mark in _WILD.findall(re.sub(r"%[*?%]", "", text)))


def are_characters_matched(pattern: str, topic_string: str) -> bool:
    """Whether a topic string fits a pattern with ``*`` (any characters), ``?`` (one) and ``%`` (what follows counts as
    itself).
    """
    wanted = _marks(pattern)
    at = position = 0
    # Where to go on when the text after the latest ``*`` does not fit: the ``*`` takes one character more.
    after_any, taken = -1, 0
    while position < len(topic_string):
        if at < len(wanted) and wanted[at] == _ANY:
            after_any, taken = at + 1, position
            at += 1
        elif at < len(wanted) and wanted[at] in (_ONE, topic_string[position]):
            at += 1
            position += 1
        elif after_any >= 0:
            taken += 1
            at, position = after_any, taken
        else:
            return False
    return all(mark == _ANY for mark in wanted[at:])


@lru_cache(maxsize=1024)
def _marks(pattern: str) -> list[str]:
    """Return the characters of a pattern, with marks for those that are wildcards."""
    marks: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            following = next(characters, "")
            marks += [following] if following in ("*", "?", "%") else [character, *following]
        else:
            marks.append({"*": _ANY, "?": _ONE}.get(character, character))
    return marks


def are_levels_matched(pattern: str, topic_string: str) -> bool:
    """Whether a topic string fits a pattern with ``+`` and ``#`` as whole levels: what the tree answers, one by one."""
    states = {0}
    wanted, levels = levels_of(pattern), levels_of(topic_string)
    states = _with_none(states, wanted)
    for level in levels:
        after = set[int]()
        for state in states:
            if state == len(wanted):
                continue
            if wanted[state] == _ANY_LEVELS:
                after.add(state)
            elif wanted[state] in (_ONE_LEVEL, level):
                after.add(state + 1)
        states = _with_none(after, wanted)
    return len(wanted) in states


def _with_none(states: set[int], wanted: Sequence[str]) -> set[int]:
    """Return *states* and those that ``#`` for no level leads to."""
    found = set(states)
    for at, level in enumerate(wanted):
        if at in found and level == _ANY_LEVELS:
            found.add(at + 1)
    return found


def is_matched(pattern: str, scheme: Scheme, topic_string: str) -> bool:
    """Whether a subscription to *pattern* gets what is published to *topic_string*."""
    match = are_levels_matched if scheme == "TOPIC" else are_characters_matched
    return match(pattern, topic_string)


def nodes_matched(pattern: str, leaves: Iterable[str]) -> list[str]:
    """Return, in order, the topic strings that fit *pattern*, of *leaves* and of all nodes above them.

    It takes a step for each level of *leaves*: a number has a bit for each level of the pattern that can come next.
    """
    levels = levels_of(pattern)
    # Several "#" in a row stand for any number of levels, as one does.
    wanted = [each for at, each in enumerate(levels) if each != _ANY_LEVELS or levels[at - 1 : at] != [_ANY_LEVELS]]
    bits: Counter[str] = Counter()
    for at, level in enumerate(wanted):
        bits[level] += 1 << at
    one, any_number, end = bits[_ONE_LEVEL], bits[_ANY_LEVELS], 1 << len(wanted)

    def with_none(states: int) -> int:
        return states | (states & any_number) << 1

    def after(states: int, level: str) -> int:
        fixed = 0 if level in (_ONE_LEVEL, _ANY_LEVELS) else bits[level]
        return with_none((states & (fixed | one)) << 1 | states & any_number)

    waiting = [(_tree_of(leaves), with_none(1), _Path())]
    found = []
    while waiting:
        below, states, path = waiting.pop()
        # As in `ancestors_of`.
        is_empty_first = path.before is not None and path.before.before is None and not path.level
        if states & end and not is_empty_first:
            found.append(path.text())
        for level, node in below.items():
            if following := after(states, level):
                waiting.append((node, following, _Path(level, path)))
    return sorted(found)


def node_count(leaves: Iterable[str]) -> int:
    """Return how many nodes a tree with *leaves* has, the root among them."""
    root = _tree_of(leaves)
    nodes = [root]
    for node in nodes:
        nodes.extend(node.values())
    # As in `ancestors_of`.
    return len(nodes) - ("" in root)


@dataclass(frozen=True, slots=True)
class _Path:
    """The levels from the root to a node: the last one, and the path before it."""

    level: str = ""
    before: _Path | None = None

    def text(self) -> str:
        levels: list[str] = []
        path = self
        while path.before is not None:
            levels.append(path.level)
            path = path.before
        return "/".join(reversed(levels))


def _tree_of(leaves: Iterable[str]) -> _Below:
    root: _Below = {}
    for leaf in leaves:
        below = root
        for level in levels_of(leaf):
            below = below.setdefault(level, {})
    return root
