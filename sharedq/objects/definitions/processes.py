"""Process definitions: what a trigger monitor starts for a queue. Pure.

Source: IBM MQ reference, "DEFINE PROCESS".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Final

from pydantic import Field

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import Description, NamedObject
from sharedq.objects.definitions.queues import Name

#: The first word of a number is the one that is shown.
_APPL_TYPE: Final[Mapping[str, int]] = MappingProxyType(
    {
        "CICS": 1,
        "MVS": 2,
        "OS390": 2,
        "IMS": 3,
        "OS2": 4,
        "DOS": 5,
        "UNIX": 6,
        "AIX": 6,
        "OS400": 8,
        "WINDOWS": 9,
        "WINDOWSNT": 11,
        "NOTESAGENT": 22,
        "DEF": 2,
    }
)
_MVS: Final = 2


class ProcessDefinition(NamedObject):
    """A process definition. It belongs to the group: every manager has it."""

    kind: ClassVar[str] = "PROCESS"

    name: Annotated[Name, Mqsc("PROCESS", Char.PROCESS_NAME, is_output=True, length=48)]
    description: Annotated[Description, Mqsc("DESCR", Char.PROCESS_DESC, length=64)] = ""
    appl_type: Annotated[int, Field(ge=0, le=999_999_999), Mqsc("APPLTYPE", Int.APPL_TYPE, _APPL_TYPE)] = _MVS
    appl_id: Annotated[str, Field(max_length=256), Mqsc("APPLICID", Char.APPL_ID, length=256)] = ""
    env_data: Annotated[str, Field(max_length=128), Mqsc("ENVRDATA", Char.ENV_DATA, length=128)] = ""
    user_data: Annotated[str, Field(max_length=128), Mqsc("USERDATA", Char.USER_DATA, length=128)] = ""
