"""How long the data of a message are without its properties, and how long these are. Pure.

Source: IBM MQ, "MaxMsgLength", "MaxPropertiesLength", "Properties and message length".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from sharedq.mqi.constants import Format
from sharedq.mqi.structures import MQMD
from sharedq.properties.headers import separated
from sharedq.properties.values import length_of

#: Properties that the queue manager adds to a publication.
_ADDED: Final = "mqps."


class Lengths(NamedTuple):
    """Bytes of a message.

    Attributes:
        data: without the folders of properties.
        properties: the names and values that a program gave the message.
    """

    data: int
    properties: int


def lengths(md: MQMD, body: bytes) -> Lengths:
    """Measure a message. Headers that are not valid are data."""
    if md.format.rstrip(b" \0") != Format.RF_HEADER_2:
        return Lengths(len(body), 0)
    found, data = separated(replace(md), body)
    given = [each for each in found if not each.name.startswith(_ADDED)]
    return Lengths(len(data), sum(len(each.name.encode()) + length_of(each.type_, each.value) for each in given))
