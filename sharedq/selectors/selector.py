"""The selector of a handle: what MQOPEN makes of its selection string."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sharedq.mqi.constants import MQRC
from sharedq.mqi.constants.properties import SELECTOR_LENGTH
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.selectors.evaluation import Subject, evaluate
from sharedq.selectors.parser import Node, SelectorError, parse

_IDENTIFIERS: Final = {"MsgId": "msg_id", "CorrelId": "correl_id", "GroupId": "group_id"}
#: A script looks for so many texts in a message.
_MOST_NEEDLES: Final = 8
#: Kinds of nodes that look at a message.
_OF_MESSAGE: Final = ("property", "field", "identifier", "mode")


@dataclass(frozen=True, slots=True)
class Selector:
    """A condition on messages.

    Attributes:
        text: as scripts take it, JSON: the tree, and what a message must contain (`needles`).
        msg_id, correl_id, group_id: identifiers that a message must have; empty: any.
    """

    tree: Node
    text: str
    msg_id: bytes = b""
    correl_id: bytes = b""
    group_id: bytes = b""


@lru_cache(maxsize=256)
def selector_for(text: str) -> Selector | None:
    """The selector of a selection string; None where every message fits.

    Raises:
        MQIError: 2519 it is too long; 2459 it is not in the syntax, 2551 it is in the extended one; 2504 no message
            can fit.
    """
    if len(text) > SELECTOR_LENGTH:
        detail = f"{len(text)} characters, at most {SELECTOR_LENGTH}"
        raise error_for(MQRC.SELECTION_STRING_ERROR, "MQOPEN", "", detail)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise error_for(MQRC.SELECTION_STRING_ERROR, "MQOPEN", "", str(error)) from None
    if not text.strip():
        return None
    try:
        tree = parse(text)
    except SelectorError as error:
        reason = MQRC.SELECTION_NOT_AVAILABLE if error.is_extended else MQRC.SELECTOR_SYNTAX_ERROR
        raise error_for(reason, "MQOPEN", "", str(error)) from None
    if not _looks_at_message(tree):
        if evaluate(tree, Subject(MQMD(), {})):
            return None
        raise error_for(MQRC.SELECTOR_ALWAYS_FALSE, "MQOPEN", "", text[:80])
    told = {"condition": tree, "needles": needles(tree)}
    return Selector(tree, json.dumps(told, separators=(",", ":")), **_identifiers(tree))


def _looks_at_message(node: Any) -> bool:
    if not isinstance(node, tuple | list):
        return False
    if node and isinstance(node, tuple) and node[0] in _OF_MESSAGE:
        return True
    return any(_looks_at_message(each) for each in node)


def needles(node: Node) -> list[str]:
    """Texts one of which each message contains that fits, unless it has escaped characters or UTF-16; empty: any does.

    A script looks for them before it reads the folders of a message, which takes five times as long.
    """
    kind = node[0]
    if kind == "and":
        return max((needles(each) for each in node[1]), key=_sharpness, default=[])
    if kind == "or":
        found = [needles(each) for each in node[1]]
        return [text for texts in found for text in texts] if all(found) and len(found) <= _MOST_NEEDLES else []
    if kind == "in" and node[1][0] == "property":
        return _if_found([f">{text}<" for text in node[2]])
    if kind == "compare" and node[1] == "=":
        for one, other in (node[2:], node[:1:-1]):
            if one[0] == "property" and other[0] == "text":
                return _if_found([f">{other[1]}<"])
    if kind == "like" and node[1][0] == "property":
        # Characters that stand together, "" for any one between them.
        runs = ["".join(character or "\0" for character in part).split("\0") for part in node[2]]
        return _if_found([max((run for part in runs for run in part), key=len)])
    return []


def _if_found(texts: list[str]) -> list[str]:
    """Texts that stand in a message as they are, if that can be said of all."""
    is_plain = all(text.strip("<>") and text.isascii() and len(text) > 1 for text in texts)
    return texts if is_plain and len(texts) <= _MOST_NEEDLES else []


def _sharpness(texts: list[str]) -> int:
    return min(map(len, texts), default=0)


def _identifiers(tree: Node) -> dict[str, bytes]:
    """The identifiers that each message which fits has: they are looked up in the indexes of the queue."""
    found: dict[str, bytes] = {}
    for each in tree[1] if tree[0] == "and" else [tree]:
        if each[:2] != ("compare", "="):
            continue
        for one, other in (each[2:], each[:1:-1]):
            if one[0] == "field" and one[1] in _IDENTIFIERS and other[0] == "bytes":
                value = bytes.fromhex(other[1])
                # A null identifier is that of a message without one, which no index has.
                if len(value) == len(NULL_ID) and value != NULL_ID:
                    found.setdefault(_IDENTIFIERS[one[1]], value)
    return found
