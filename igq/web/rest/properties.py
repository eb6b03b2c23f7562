"""User properties of a message: IBM's header ``ibm-mq-usr``, and the MQRFH2 that carries them. Pure.

``ibm-mq-usr: name;value;type, name;value;type``. A value of type string may be in double quotes, in which a quote or a
backslash has a backslash before it. A message with properties is a JMS TextMessage: an MQRFH2 with the folders mcd and
usr, then the text.

Source: IBM MQ reference, "MQRFH2", "usr: HTTP entity-header" for the syntax of a property.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from igq.web.decoding import ShownHeader
from igq.web.rest.errors import bad_header
from sharedq.mqi.constants import Format
from sharedq.mqi.structures import MQMD
from sharedq.properties import headers

#: Types and the range of those that are whole numbers.
_INTEGERS = {"i1": 1 << 7, "i2": 1 << 15, "i4": 1 << 31, "i8": 1 << 63}
_TYPES = ("string", "boolean", *_INTEGERS, "float", "double")
#: The names of these types in a folder of an MQRFH2.
_IN_FOLDER = {"float": "r4", "double": "r8", "string": "string", "boolean": "boolean"}
_FROM_FOLDER = {word: name for name, word in _IN_FOLDER.items()}
#: Names that are names of XML too, for each becomes an element of the folder. JMS allows a dollar sign besides.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
#: One property; the comma between two, or the end, follows.
_PROPERTY = re.compile(r'\s*([^;,"\s]+)\s*;\s*("(?:[^"\\]|\\.)*"|[^;,"]*)\s*;\s*([a-z0-9]+)\s*(?:,|$)')
_MOST_PROPERTIES = 100
_ENCODING_BIG = 0x111
_CCSID_UTF8 = 1208


@dataclass(frozen=True, slots=True)
class JsonProperty:
    """A user property. ``value`` is its text."""

    name: str
    value: str
    kind: str = "string"


def parse_header(told: str) -> list[JsonProperty]:
    """Read the header of a put.

    Raises:
        RestError: 400, it is not valid.
    """
    found: list[JsonProperty] = []
    at = 0
    while at < len(told):
        match = _PROPERTY.match(told, at)
        if match is None or len(found) == _MOST_PROPERTIES:
            raise bad_header("ibm-mq-usr", _ALLOWED)
        name, value, kind = match.groups()
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        each = JsonProperty(name, value, kind)
        if not _is_valid(each) or name in (known.name for known in found):
            raise bad_header("ibm-mq-usr", _ALLOWED)
        found.append(each)
        at = match.end()
    return found


_ALLOWED = f"NAME;VALUE;TYPE, separated by commas, each name once; a type is one of {', '.join(_TYPES)}"


def _is_valid(each: JsonProperty) -> bool:
    if not _NAME.fullmatch(each.name) or each.kind not in _TYPES or not each.value.isprintable():
        return False
    if each.kind in _INTEGERS:
        is_number = re.fullmatch(r"[+-]?[0-9]{1,19}", each.value)
        return bool(is_number) and -_INTEGERS[each.kind] <= int(each.value) < _INTEGERS[each.kind]
    if each.kind in ("float", "double"):
        return bool(re.fullmatch(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", each.value))
    return each.kind == "string" or each.value.lower() in ("true", "false")


def with_properties(md: MQMD, body: bytes, properties: Sequence[JsonProperty]) -> bytes:
    """Put an MQRFH2 in front of the text *body*, and make the descriptor say so. Returns the data."""
    if not properties:
        return body
    values = "".join(_element(each) for each in properties)
    folders = [b"<mcd><Msd>jms_text</Msd></mcd>", f"<usr>{values}</usr>".encode()]
    padded = tuple(folder + b" " * (-len(folder) % 4) for folder in folders)
    ccsid = md.coded_char_set_id
    header = headers.ChainedHeader(_ENCODING_BIG, ccsid, Format.STRING, 0, _CCSID_UTF8, padded, ">", False, 0)
    md.format, md.encoding = Format.RF_HEADER_2, _ENCODING_BIG
    return header.pack() + body


def _element(each: JsonProperty) -> str:
    kind = _IN_FOLDER.get(each.kind, each.kind)
    shown = "" if kind == "string" else f' dt="{kind}"'
    return f"<{each.name}{shown}>{escape(each.value)}</{each.name}>"


def read_properties(found_in: Sequence[ShownHeader]) -> list[JsonProperty]:
    """Return the user properties in the headers of a message. Some program wrote them: other elements are left out."""
    found: list[JsonProperty] = []
    for header in found_in:
        for folder in header.folders:
            if folder.startswith("<usr>") and "<!" not in folder:
                found += _in_folder(folder)
    return found[:_MOST_PROPERTIES]


def _in_folder(folder: str) -> list[JsonProperty]:
    try:
        elements = ElementTree.fromstring(folder)
    except ElementTree.ParseError:
        return []
    kinds = ((each, each.get("dt", "string")) for each in elements)
    read = (JsonProperty(each.tag, each.text or "", _FROM_FOLDER.get(kind, kind)) for each, kind in kinds)
    return [each for each in read if _is_valid(each)]


def as_header(properties: Sequence[JsonProperty]) -> str:
    """Write properties as the header of an answer: printable ASCII, other characters percent-encoded."""
    return ", ".join(f"{each.name};{_shown(each)};{each.kind}" for each in properties)


def _shown(each: JsonProperty) -> str:
    if each.kind != "string":
        return each.value
    text = quote(each.value, safe=" !#$&'()*+,-./:;<=>?@[]^_`{|}~\"\\")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
