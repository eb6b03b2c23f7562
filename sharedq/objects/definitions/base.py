"""The base of all definitions: frozen, checked, stored as JSON, changed by making a new one. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar
from unicodedata import category

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sharedq.mqi.constants import MQRC
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Attribute, Mqsc, attributes_of
from sharedq.objects.definitions.names import check_object_name

_D = TypeVar("_D", bound="ObjectDefinition")

#: Controls, line and paragraph separators, halves of surrogate pairs.
_CONTROLS = ("Cc", "Zl", "Zp", "Cs")
#: Names of a later version to show: how many, and characters of each.
_FEW, _SHOWN = 5, 48
Description = Annotated[str, Field(max_length=64)]
Date = Annotated[str, Field(pattern=r"^(\d{4}-\d\d-\d\d)?$", description="a date like 2026-12-31")]
Time = Annotated[str, Field(pattern=r"^(\d\d\.\d\d\.\d\d)?$", description="a time like 23.59.59")]


class ObjectDefinition(BaseModel):
    """A definition of an object. ``kind`` is MQSC's word for it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: ClassVar[str]
    #: Fields that say when, not what. Comparisons of definitions ignore them.
    dates: ClassVar[frozenset[str]] = frozenset({"alteration_date", "alteration_time"})

    alteration_date: Annotated[Date, Mqsc("ALTDATE", Char.ALTERATION_DATE, is_output=True, length=12)] = ""
    alteration_time: Annotated[Time, Mqsc("ALTTIME", Char.ALTERATION_TIME, is_output=True, length=8)] = ""

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return this definition with some fields changed, checked like a new one.

        Raises:
            ValueError: a field does not exist, or a value is out of its range. The text is one line.
        """
        values = {name: getattr(self, name) for name in self.model_fields_set} | dict(changes)
        return parse_definition(type(self), values)

    def is_same_as(self, other: ObjectDefinition) -> bool:
        """Whether both say the same, apart from dates."""
        return type(self) is type(other) and self.model_dump(exclude=set(self.dates)) == other.model_dump(
            exclude=set(self.dates)
        )

    def altered_at(self, now: datetime) -> Self:
        """Return this definition, altered at *now*."""
        return self.model_copy(
            update={"alteration_date": now.strftime("%Y-%m-%d"), "alteration_time": now.strftime("%H.%M.%S")}
        )

    def to_json(self, *, without: frozenset[str] = frozenset()) -> str:
        """Return all as JSON, which scripts read too. An idle field is left out where it has its default."""
        return self.model_dump_json(exclude=_idle_fields(self) | without)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a definition that `to_json` wrote.

        Raises:
            MQIError: 2195, a later version of igq wrote it, and this one does not know all of it.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise _of_a_later_version(cls, json.loads(text), error) from None

    @classmethod
    def from_stored(cls, values: Mapping[str, Any]) -> Self:
        """Read a definition from the values that Redis has of it. Raises as `from_json` does."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _of_a_later_version(cls, values, error) from None

    @classmethod
    def attributes(cls) -> tuple[Attribute, ...]:
        """Return the attributes of this kind of object."""
        return attributes_of(cls)


class NamedObject(ObjectDefinition):
    """An object that the group has by its name."""

    name: Annotated[str, AfterValidator(check_object_name)]
    description: Description = ""
    disposition: Annotated[Literal["GROUP"], Mqsc("QSGDISP", Int.QSG_DISP, words.DISPOSITION, is_output=True)] = "GROUP"


def _idle_fields(definition: ObjectDefinition) -> set[str]:
    return {
        each.field
        for each in attributes_of(type(definition))
        if (each.mqsc.instead or each.mqsc.refused)
        and getattr(definition, each.field) == type(definition).model_fields[each.field].default
    }


def has_controls(text: str) -> bool:
    """Whether there are control characters in *text*. No definition has any, because definitions are shown in lines."""
    # Most texts are printable, which is asked in one step.
    return not text.isprintable() and any(category(character) in _CONTROLS for character in text)


def parse_definition(model: type[_D], values: Mapping[str, Any]) -> _D:
    """Make a definition from field values.

    Raises:
        ValueError: one line with the attribute's MQSC name, its value and what is wrong with it.
    """
    for name, value in values.items():
        if isinstance(value, str) and has_controls(value):
            keyword = next((each.keyword for each in attributes_of(model) if each.field == name), name)
            raise ValueError(f"{keyword}({ascii(value)[1:-1]}): control characters are not allowed")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ValueError(_one_line(model, error)) from None


def _of_a_later_version(model: type[ObjectDefinition], values: Mapping[str, Any], error: ValidationError) -> MQIError:
    keywords = {each.field: each.keyword for each in attributes_of(model)}
    unknown = dict.fromkeys(str(each["loc"][0]) for each in error.errors(include_url=False) if each["loc"])
    shown = [keywords.get(field, field)[:_SHOWN] for field in unknown] or ["the attributes together"]
    more = [f"{len(shown) - _FEW} more"] if len(shown) > _FEW else []
    return later_version(model.kind, str(values.get("name", "")), ", ".join(shown[:_FEW] + more))


def later_version(kind: str, name: str, unknown: str) -> MQIError:
    """Return the error for a definition in Redis that this version cannot read. *unknown*: what it does not know."""
    detail = f"a later version of igq defined it: upgrade igq here; not known: {unknown}"
    return error_for(MQRC.UNEXPECTED_ERROR, "", f"{kind} {name}".strip(), detail)


def _one_line(model: type[ObjectDefinition], error: ValidationError) -> str:
    first = error.errors()[0]
    if not first["loc"]:
        return first["msg"].removeprefix("Value error, ")
    name = str(first["loc"][0])
    attribute = next((each for each in attributes_of(model) if each.field == name), None)
    keyword = name if attribute is None else attribute.keyword
    if attribute is not None and first["type"] in ("greater_than_equal", "less_than_equal") and attribute.limits:
        # The library names only the bound that was exceeded, but the user needs both.
        return f"{keyword}({first['input']}): {attribute.expected} expected"
    if first["type"] == "string_pattern_mismatch":
        # A regular expression tells nobody what to write; the field's own words do.
        return f"{keyword}({first['input']}): {model.model_fields[name].description} expected"
    text = first["msg"].removeprefix("Value error, ")
    # Our own texts may begin with a name and stay as they are; the library's begin with a capital letter.
    text = text if text != first["msg"] else text[0].lower() + text[1:]
    return f"{keyword}({first['input']}): {text}"
