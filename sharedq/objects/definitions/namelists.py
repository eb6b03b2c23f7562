"""Namelists: lists of names that programs read with MQINQ. Pure.

Source: IBM MQ reference, "DEFINE NAMELIST", "Attributes for namelists".
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Description, NamedObject
from sharedq.objects.definitions.names import check_names
from sharedq.objects.definitions.queues import Name

#: The first word of a number is the one that is shown.
_TYPES: Final = MappingProxyType({"NONE": 0, "QUEUE": 1, "Q": 1, "CLUSTER": 2, "AUTHINFO": 4})


class Namelist(NamedObject):
    """A namelist. It belongs to the group: every manager has it. The type of its names is for its readers."""

    kind: ClassVar[str] = "NAMELIST"

    name: Annotated[Name, Mqsc("NAMELIST", Char.NAMELIST_NAME, is_output=True, length=48)]
    description: Annotated[Description, Mqsc("DESCR", Char.NAMELIST_DESC, length=64)] = ""
    names: Annotated[str, AfterValidator(check_names), Mqsc("NAMES", Char.NAMES, length=48, is_list=True)] = ""
    namelist_type: Annotated[Literal[0, 1, 2, 4], Mqsc("NLTYPE", Int.NAMELIST_TYPE, _TYPES)] = 0

    @property
    def name_count(self) -> int:
        """How many names there are."""
        return len(self.names.split(",")) if self.names else 0
