"""A publication as its subscriptions get it: with what publish/subscribe adds, as PSPROP of each says. Pure.

Source: IBM MQ, "DEFINE SUB" (PSPROP), "Publish/subscribe message properties", "Selection strings", "Publish message".
"""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from sharedq.mqi.arguments import signed
from sharedq.mqi.character_sets import Representation, integer_order
from sharedq.mqi.constants import MQRC, Format, PropertyType
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFIN, MQCFST, Parameter, PCFError, PCFMessage, bytes_of
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD, copied
from sharedq.properties.folders import Property, escaped, write_folders
from sharedq.properties.headers import Chain, properties_in, read_chain, with_folders
from sharedq.properties.names import SYNONYMS

(TOPIC_STRING,), (USER_DATA,), (IS_RETAINED,) = (
    SYNONYMS[name] for name in ("MQTopicString", "MQSubUserData", "MQIsRetained")
)
_PCF: Final = frozenset({Format.PCF, Format.ADMIN, Format.EVENT})
#: MQCACF_TOPIC, MQIACF_PUBLICATION_OPTIONS, MQPUBO_IS_RETAINED_PUBLICATION, MQCACF_SUBSCRIPTION_USER_DATA.
_TOPIC, _OPTIONS, _OPTION_RETAINED, _USER_DATA = 3031, 1082, 16, 3056
#: PubOpt and MQPSPubOpts of a publication that was published earlier.
_RETAINED: Final = "IsRetainedPub"
_RFH: Final = struct.Struct("4xiiii8xi")
_ALIGNMENT: Final = 4


@dataclass(frozen=True, slots=True)
class Written:
    """The data of a publication for some subscriptions, and the fields of the descriptor that describe them."""

    encoding: int
    coded_char_set_id: int
    format: bytes
    body: bytes


class Publication:
    """A publication: its descriptor and data as its publisher gave them.

    Attributes:
        is_retained: it was published earlier.
    """

    def __init__(self, topic_string: str, md: MQMD, body: bytes, *, is_retained: bool = False) -> None:
        self.topic_string, self.md, self.body, self.is_retained = topic_string, md, body, is_retained
        self._as_written = Written(md.encoding, md.coded_char_set_id, md.format, body)
        self._written: dict[tuple[str, str], Written] = {}

    @cached_property
    def _read(self) -> tuple[Chain | None, dict[str, Any]]:
        """Its headers and properties. No headers: one is not valid, so it is data."""
        try:
            chain = read_chain(self.md, self.body)
            return chain, {each.name: each.value for each in properties_in(chain)}
        except MQIError:
            return None, {}

    @cached_property
    def properties(self) -> dict[str, Any]:
        """The properties that a selection string of a subscription sees, by kept names, and the topic string."""
        return self._read[1] | {TOPIC_STRING: self.topic_string}

    def written(self, form: str, user_data: str) -> Written:
        """Return what a subscription gets.

        A publication with an MQRFH2 that is not valid comes as it was put, and so does one in a character set that
        has not the characters of its topic string, where that would have to be written in it.

        Args:
            form: PSPROP.
            user_data: SubUserData of the subscription.
        """
        found = self._written.get((form, user_data))
        if found is None:
            found = self._written[(form, user_data)] = self._write(form, user_data)
        return found

    def _write(self, form: str, user_data: str) -> Written:
        chain = self._read[0]
        if form == "NONE" or chain is None:
            return self._as_written
        try:
            if form == "COMPAT":
                return self._compatible(chain, user_data)
            md = copied(self.md)
            folders = self._command(user_data) if form == "RFH2" else write_folders(self._added(user_data))
            body = with_folders(md, self.body, chain, folders)
        except (PCFError, MQIError, struct.error):
            # No header can say that the data have such a character set.
            return self._as_written
        return Written(md.encoding, md.coded_char_set_id, md.format, body)

    def _added(self, user_data: str) -> list[Property]:
        found = [Property(TOPIC_STRING, PropertyType.STRING, self.topic_string)]
        if user_data:
            found.append(Property(USER_DATA, PropertyType.STRING, user_data))
        if self.is_retained:
            found.append(Property(IS_RETAINED, PropertyType.BOOLEAN, True))
        return found

    def _command(self, user_data: str) -> list[str]:
        """The folder psc, as a broker of publish/subscribe writes it."""
        pairs = [("Command", "Publish"), ("PubOpt", _RETAINED if self.is_retained else "")]
        pairs += [("Topic", self.topic_string), ("SubUserData", user_data)]
        return ["<psc>" + "".join(f"<{name}>{escaped(text)}</{name}>" for name, text in pairs if text) + "</psc>"]

    # -- COMPAT ------------------------------------------------------------------------------------------------------

    def _compatible(self, chain: Chain, user_data: str) -> Written:
        """With parameters of PCF in a PCF message, else with an MQRFH in front of the data.

        Raises:
            PCFError: the character set of the data is not known, or has not all of the characters.
        """
        encoding, ccsid, format_ = chain.described[-1]
        how, data = Representation(ccsid or DEFAULT_CCSID, encoding), self.body[chain.length :]
        message: PCFMessage | None = None
        if format_ in _PCF:
            with suppress(PCFError):
                message = read(data, how)
        if message is not None:
            added: list[Parameter] = [MQCFST(_TOPIC, bytes_of(self.topic_string, 0, how))]
            if self.is_retained:
                added.append(MQCFIN(_OPTIONS, _OPTION_RETAINED))
            if user_data:
                added.append(MQCFST(_USER_DATA, bytes_of(user_data, 0, how)))
            data = write(replace(message, parameters=(*message.parameters, *added)), how)
            return replace(self._as_written, body=self.body[: chain.length] + data)
        data = self._header(how, format_, user_data) + data
        if not chain.headers:
            return replace(self._as_written, format=Format.RF_HEADER_1, body=data)
        last = replace(chain.headers[-1], format=Format.RF_HEADER_1)
        return replace(self._as_written, body=self.body[: chain.length - last.length] + last.pack() + data)

    def _header(self, how: Representation, format_: bytes, user_data: str) -> bytes:
        order = integer_order(how.encoding, is_source=False)
        if isinstance(order, MQRC):
            raise PCFError(order, f"encoding {how.encoding}")
        pairs = [("Command", "Publish"), ("PubOpts", _RETAINED if self.is_retained else "")]
        pairs += [("Topic", self.topic_string), ("SubUserData", user_data)]
        text = bytes_of(" ".join(f"MQPS{name} {_quoted(value)}" for name, value in pairs if value), 0, how)
        blank = bytes_of(" ", 0, how)
        text += blank * (-len(text) % _ALIGNMENT)
        numbers = struct.pack(f"{order}iiii", 1, _RFH.size + len(text), signed(how.encoding), signed(how.ccsid))
        name = bytes_of(format_.decode("latin-1").ljust(8), 0, how)
        return bytes_of("RFH ", 0, how) + numbers + name + struct.pack(f"{order}i", 0) + text


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if any(each in value for each in ' "') else value
