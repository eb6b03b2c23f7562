"""Attributes and how they are written in Python, in MQSC and in MQINQ. Pure.

A model states each attribute once: field, type, range, default, MQSC keyword, IBM's selector and the numbers of its
words. All translations between these three interfaces read that statement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from sharedq.mqi.constants import CharSelector, IntSelector
from sharedq.mqi.constants.pcf import PCFParameter

#: Longer numbers are out of every range.
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
#: MQCA_FIRST; below it are MQIA_ and MQIACF_.
_FIRST_CHARACTER_SELECTOR = 2001
_NO_WORDS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Mqsc:
    """The names of a field in MQSC and MQINQ.

    Attributes:
        keyword: the MQSC keyword; ``""`` for a field that MQSC does not show.
        selector: IBM's MQIA_ or MQCA_ selector; for what has no definition, the parameter of PCF.
        words: MQSC's words with IBM's numbers. On a number field: words for special values.
        is_bare: the words are keywords themselves (``SHARE``, ``NOSHARE``).
        is_output: the queue manager sets it, never a command.
        length: of the blank-padded text that MQINQ returns, in bytes.
        is_list: PCF has a list of values, MQSC has values with commas between them.
        is_hex: PCF has bytes, MQSC has their hexadecimal digits.
        instead: what is done instead, in one clause, where the attribute is kept and shown and does nothing here.
        done: values of such an attribute, besides its default, that say what is done anyway.
        refused: why it has to be blank, in one clause, where nobody may believe that another value is obeyed.
    """

    keyword: str
    selector: IntSelector | CharSelector | PCFParameter | None
    words: Mapping[str, int] = field(default_factory=lambda: _NO_WORDS, hash=False)
    is_bare: bool = False
    is_output: bool = False
    length: int = 0
    is_list: bool = False
    is_hex: bool = False
    instead: str = ""
    done: tuple[str | int, ...] = ()
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of one kind of object, or a parameter of commands, which is no ``field`` of a definition."""

    field: str
    mqsc: Mqsc
    is_number: bool
    #: The least and the greatest value of a number. Empty if there are none.
    limits: tuple[int, ...] = ()
    #: Of the words that several attributes share, those that this one takes. Empty: all of them.
    taken: frozenset[str] = frozenset()

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it takes."""
        return tuple(word for word in self.mqsc.words if word in self.taken or not self.taken)

    @property
    def keyword(self) -> str:
        """The MQSC keyword."""
        return self.mqsc.keyword

    @property
    def keywords(self) -> tuple[str, ...]:
        """Every keyword that names it: one, or its words if they stand without parentheses."""
        return tuple(self.mqsc.words) if self.mqsc.is_bare else (self.mqsc.keyword,)

    @property
    def is_integer(self) -> bool:
        """Whether MQINQ and PCF have a number for it."""
        return self.mqsc.selector is not None and int(self.mqsc.selector) < _FIRST_CHARACTER_SELECTOR

    @property
    def expected(self) -> str:
        """The allowed values, for error messages. The model checks the range."""
        if self.mqsc.refused:
            return "' '"
        words = list(self.words)
        number = f"a number from {self.limits[0]} to {self.limits[1]}" if self.limits else "a number"
        return " or ".join([number, *words] if self.is_number else words or ["text"])

    def parse(self, text: str) -> str | int:
        """Return the field's value for an MQSC text.

        Raises:
            ValueError: the text is not one of the words, or not a number.
        """
        if self.is_number:
            if text in self.mqsc.words:
                return self.mqsc.words[text]
            # Python would also accept 1_000, or digits of other scripts.
            if not _NUMBER.fullmatch(text):
                raise ValueError(f"{self.keyword}({text}): {self.expected} expected")
            return int(text)
        if self.mqsc.refused and text.strip():
            raise ValueError(f"{self.keyword}({text}): {self.expected} expected")
        if not self.mqsc.words:
            return text.rstrip(" ")
        if not set(text.split(",") if self.mqsc.is_list else [text]) <= set(self.words):
            raise ValueError(f"{self.keyword}({text}): {self.expected} expected")
        return text

    def text(self, value: str | int) -> str:
        """Return MQSC's text for the field's value, without the keyword."""
        if self.is_number:
            return next((word for word, number in self.mqsc.words.items() if number == value), str(value))
        return str(value)

    def show(self, value: str | int) -> str:
        """Return MQSC's text: ``KEYWORD(value)``, or the bare word."""
        return self.text(value) if self.mqsc.is_bare else f"{self.keyword}({self.text(value) or ' '})"

    def inquired(self, value: str | int) -> str | int:
        """Return what MQINQ returns: IBM's number, or text that is not yet padded."""
        if self.is_integer:
            # A list of words is one number to MQINQ.
            return value if isinstance(value, int) else sum(self.mqsc.words[word] for word in value.split(","))
        return str(value)

    def from_number(self, number: int) -> str | int:
        """Return the field's value for the number that MQSET gives. Raises ValueError: no word has this number."""
        if self.is_number:
            return number
        for word, known in self.mqsc.words.items():
            if known == number:
                return word
        raise ValueError(f"{self.keyword}: {number} is none of {sorted(self.mqsc.words.values())}")


@lru_cache(maxsize=64)
def attributes_of(model: type[BaseModel]) -> tuple[Attribute, ...]:
    """Return the attributes of a kind of object, in the order of its model."""
    found = []
    for name, info in model.model_fields.items():
        mqsc = next((extra for extra in info.metadata if isinstance(extra, Mqsc)), None)
        if mqsc is not None:
            annotation, limits = info.annotation, _limits(info.metadata)
            found.append(Attribute(name, mqsc, _is_number(annotation), limits, _words_taken(annotation)))
    return tuple(found)


@lru_cache(maxsize=64)
def by_keyword(model: type[BaseModel]) -> Mapping[str, Attribute]:
    """Map MQSC keywords to attributes. Words that stand without parentheses are keywords, too."""
    return MappingProxyType(
        {keyword: attribute for attribute in attributes_of(model) for keyword in attribute.keywords if keyword}
    )


@lru_cache(maxsize=64)
def by_selector(model: type[BaseModel]) -> Mapping[int, Attribute]:
    """Map MQIA_ or MQCA_ selectors to attributes."""
    return MappingProxyType(
        {
            int(attribute.mqsc.selector): attribute
            for attribute in attributes_of(model)
            if attribute.mqsc.selector is not None
        }
    )


def _limits(metadata: list[Any]) -> tuple[int, ...]:
    """Return the bounds in a field's annotations: both, or none."""
    bounds = [[limit for each in metadata if (limit := getattr(each, side, None)) is not None] for side in ("ge", "le")]
    return tuple(int(found[0]) for found in bounds) if all(bounds) else ()


def _words_taken(annotation: Any) -> frozenset[str]:
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    return frozenset(word for value in values if isinstance(value, str) for word in value.split(","))


def _is_number(annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return all(isinstance(value, int) for value in get_args(annotation))
    return annotation is int
