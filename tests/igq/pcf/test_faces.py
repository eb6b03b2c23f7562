"""MQSC text, PCF and JSON are faces of one table: what one sets, the others show, for every attribute."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from igq.mqsc.executor import Answer, Commands, Executor
from igq.mqsc.language.lines import CommandText
from igq.mqsc.language.parameters import OPTIONS, REPORTS
from igq.mqsc.language.words import COMMANDS, OBJECTS
from igq.mqsc.session import SessionRepository
from igq.pcf.requests import _BY_NUMBER
from igq.web.rest.mqsc import _command, _records
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import (
    MQRCCF,
    CommandInfo,
    EventOrigin,
    FilterOperator,
    PCFCommand,
    PCFParameter,
    PCFType,
)
from sharedq.mqi.pcf.structures import NATIVE
from sharedq.objects.definitions.attributes import Attribute, attributes_of
from sharedq.objects.definitions.inert_attributes import MODELS
from sharedq.objects.definitions.parameters import as_parameter, read_parameter
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.definitions.words import QUEUE_TYPE
from sharedq.objects.repository import NAMED_OBJECTS
from sharedq.pymqi import CMQCFC
from tests.support.examples import examples
from tests.support.members import TestGroup
from tests.support.pcf import Asked, plain

SETTABLE = [
    (kind, attribute)
    for kind, model in MODELS.items()
    for attribute in attributes_of(model)
    if attribute.keyword and not attribute.mqsc.is_output and attribute.mqsc.selector is not None
]
#: They need another attribute to change with them.
NOT_ALONE = {("QLOCAL", "CFSTRUCT"), ("QMODEL", "CFSTRUCT")}
#: They cannot be altered.
_FIXED = ("TOPICSTR", "TOPICOBJ", "WSCHEMA", "DESTCLAS", "SUBLEVEL", "SELECTOR")
NOT_ALONE |= {("TOPIC", "TOPICSTR"), *(("SUB", keyword) for keyword in _FIXED)}
FACES = ("mqsc", "pcf", "json")
CHANGES = {"QMGR": PCFCommand.CHANGE_Q_MGR, "CFSTRUCT": PCFCommand.CHANGE_CF_STRUC}
CHANGES |= {
    "TOPIC": PCFCommand.CHANGE_TOPIC,
    "SUB": PCFCommand.CHANGE_SUBSCRIPTION,
    "PROCESS": PCFCommand.CHANGE_PROCESS,
    "NAMELIST": PCFCommand.CHANGE_NAMELIST,
    "CHANNEL": PCFCommand.CHANGE_CHANNEL,
    "LISTENER": PCFCommand.CHANGE_LISTENER,
}
INQUIRES = {"QMGR": PCFCommand.INQUIRE_Q_MGR, "CFSTRUCT": PCFCommand.INQUIRE_CF_STRUC}
INQUIRES |= {
    "TOPIC": PCFCommand.INQUIRE_TOPIC,
    "SUB": PCFCommand.INQUIRE_SUBSCRIPTION,
    "PROCESS": PCFCommand.INQUIRE_PROCESS,
    "NAMELIST": PCFCommand.INQUIRE_NAMELIST,
    "CHANNEL": PCFCommand.INQUIRE_CHANNEL,
    "LISTENER": PCFCommand.INQUIRE_LISTENER,
}
#: Of every kind that Redis and the faces might treat in a way of their own.
TEXTS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12).map(lambda text: text.rstrip())
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9./_%]{0,20}", fullmatch=True) | st.just("")


def name_of(kind: str) -> str:
    return {"QMGR": "", "CFSTRUCT": "TEST"}.get(kind, f"Test.{kind}")


def values(kind: str, attribute: Attribute) -> st.SearchStrategy[Any]:
    """Values that the object may have when nothing else of it changes."""
    base: st.SearchStrategy[Any]
    if attribute.mqsc.words and not attribute.is_number:
        base = st.sampled_from(sorted(attribute.words))
    elif attribute.is_number:
        low, high = attribute.limits or (0, 9)
        base = st.integers(low, high) | st.sampled_from([low, high, *attribute.mqsc.words.values()])
    elif attribute.mqsc.is_hex:
        digits = 64 if attribute.keyword == "PUBACCT" else 48
        base = st.text("0123456789ABCDEF", min_size=digits, max_size=digits).map(lambda text: text[:-1] + "1")
    elif attribute.keyword in ("OFFLD1SZ", "OFFLD2SZ", "OFFLD3SZ"):
        base = st.integers(0, 64).map("{}K".format)
    elif attribute.keyword == "NAMES":
        base = st.lists(NAMES.filter(bool), max_size=5).map(",".join)
    elif attribute.mqsc.length == 48:
        base = NAMES
    else:
        base = TEXTS.filter(lambda text: len(text) <= (attribute.mqsc.length or len(text)))
    model: Any = MODELS[kind]
    model = model.model_construct(name=name_of(kind) or "QM1")

    def fits(value: Any) -> bool:
        try:
            model.with_changes({"name": model.name, attribute.field: value})
        except ValueError:
            return False
        return True

    return base.filter(fits)


class Faces:
    """The three faces of QM1's commands."""

    def __init__(self, group: TestGroup) -> None:
        repository = SessionRepository(group.group, "QM1")
        self._commands = Commands(Executor(repository), repository)
        self._asked = Asked(group)

    def mqsc(self, text: str) -> Answer:
        answer = self._commands.answer(CommandText(1, text, (text,)))
        assert not answer.fault, answer.lines
        return answer

    def json(self, **told: Any) -> Answer:
        answer = self._commands.answer_parsed(_command({"type": "runCommandJSON", **told}))
        assert not answer.fault, answer.lines
        return answer

    def set_by(self, face: str, kind: str, attribute: Attribute, value: Any) -> None:
        name, keyword = name_of(kind), attribute.keyword
        if face == "mqsc":
            quoted = str(attribute.text(value)).replace("'", "''")
            if attribute.mqsc.is_list:
                quoted = quoted.replace(",", "','")
            parameter = value if attribute.mqsc.is_bare else f"{keyword}('{quoted or ' '}')"
            self.mqsc(f"ALTER {kind}{f'({chr(39)}{name}{chr(39)})' if name else ''} {parameter}")
        elif face == "json":
            bare = value == attribute.keyword
            listed = value.split(",") if attribute.mqsc.is_list else value
            told = {"parameters": {keyword.lower(): bare if attribute.mqsc.is_bare else listed}}
            self.json(command="alter", qualifier=kind.lower(), **({"name": name} if name else {}), **told)
        else:
            self._asked.items(
                CHANGES.get(kind, PCFCommand.CHANGE_Q), self._object(kind), as_parameter(attribute, value)
            )

    def shown_by(self, face: str, kind: str, attribute: Attribute, value: Any) -> tuple[Any, Any]:
        """The attribute as the face shows it, and *value* as it would show that."""
        name, keyword = name_of(kind), attribute.keyword
        if face == "mqsc":
            lines = self.mqsc(f"DISPLAY {kind}{f'({chr(39)}{name}{chr(39)})' if name else ''} ALL").lines
            text = attribute.show(value)
            return text if any(text in line for line in lines) else lines, text
        if face == "json":
            told = {"name": name} if name else {}
            answer = self.json(command="display", qualifier=kind.lower(), responseParameters=["all"], **told)
            (record,) = _records(answer, kind)
            items = [each for each in str(value).split(",") if each]
            # A number that has a word is shown by that.
            known = attribute.text(value) if value in attribute.mqsc.words.values() else value
            return record["parameters"][keyword.lower()], items if attribute.mqsc.is_list else known
        (item,) = self._asked.items(INQUIRES.get(kind, PCFCommand.INQUIRE_Q), self._object(kind))
        assert attribute.mqsc.selector is not None
        return item[attribute.mqsc.selector], plain(as_parameter(attribute, value))

    @staticmethod
    def _object(kind: str) -> dict[int, Any]:
        if kind == "QMGR":
            return {}
        if kind == "CFSTRUCT":
            return {Char.CF_STRUC_NAME: name_of(kind)}
        if kind in ("TOPIC", "SUB"):
            return {Char.TOPIC_NAME if kind == "TOPIC" else PCFParameter.SUB_NAME: name_of(kind)}
        if kind in NAMED_OBJECTS:
            named_by = next(word.named_by for word in OBJECTS if word.name == kind)
            return {named_by: name_of(kind)}
        return {Char.Q_NAME: name_of(kind), Int.Q_TYPE: QUEUE_TYPE[kind]}


@pytest.fixture
def faces(group: TestGroup) -> Faces:
    found = Faces(group)
    for kind in (*QUEUE_KINDS, *NAMED_OBJECTS):
        found.mqsc(f"DEFINE {kind}('{name_of(kind)}')")
    found.mqsc(f"DEFINE CFSTRUCT({name_of('CFSTRUCT')})")
    found.mqsc("DEFINE TOPIC('Test.TOPIC') TOPICSTR('t')")
    found.mqsc("DEFINE SUB('Test.SUB') TOPICSTR('t') DEST('Test.QLOCAL')")
    return found


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [pair for pair in SETTABLE if (pair[0], pair[1].keyword) not in NOT_ALONE],
    ids=[f"{kind}-{attribute.keyword}" for kind, attribute in SETTABLE if (kind, attribute.keyword) not in NOT_ALONE],
)
def test_what_one_face_sets_every_other_shows(faces: Faces, kind: str, attribute: Attribute) -> None:
    @settings(
        max_examples=examples(4),
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(value=values(kind, attribute), setter=st.sampled_from(FACES))
    def agree(value: Any, setter: str) -> None:
        faces.set_by(setter, kind, attribute, value)
        for face in FACES:
            found, expected = faces.shown_by(face, kind, attribute, value)
            assert found == expected, f"set by {setter}, shown by {face}"

    agree()


def test_every_command_has_a_number_in_pcf() -> None:
    numbers = [each.number for each in COMMANDS if each.number is not None]
    assert len(numbers) == len(set(numbers))
    # A queue of one kind is inquired by INQUIRE_Q with a type.
    kinds = ("QLOCAL", "QREMOTE", "QALIAS", "QMODEL")
    assert [each.objects for each in COMMANDS if each.number is None] == [kinds]
    assert {int(each) for each in PCFCommand if "EVENT" not in each.name} == set(_BY_NUMBER)


def figures() -> list[Attribute]:
    found = [each for reports in REPORTS.values() for report in reports.values() for each in report]
    return [each for each in (*found, *OPTIONS) if each.mqsc.selector is not None]


@pytest.mark.parametrize("attribute", figures(), ids=lambda each: each.keyword)
def test_a_figure_or_an_option_reads_as_it_is_written(attribute: Attribute) -> None:
    # Of a number, PCF has the number that a word stands for.
    known = () if attribute.is_number else attribute.mqsc.words
    examples: list[Any] = [word for word in known if word] or (
        ["7"] if attribute.is_integer else ["ABCD"] if attribute.mqsc.is_hex else ["text"]
    )
    for value in examples:
        assert read_parameter(attribute, as_parameter(attribute, value), NATIVE) == (value,)


@pytest.mark.parametrize(
    ("family", "prefixes"),
    [
        (MQRCCF, ("MQRCCF_",)),
        (PCFCommand, ("MQCMD_",)),
        (PCFType, ("MQCFT_",)),
        (CommandInfo, ("MQCMDI_",)),
        (FilterOperator, ("MQCFOP_",)),
        (EventOrigin, ("MQEVO_",)),
        (PCFParameter, ("MQIACF_", "MQIACH_", "MQCACF_", "MQCACH_", "MQBACF_", "MQGACF_")),
    ],
)
def test_numbers_of_pcf_are_those_of_the_pymqi_face(family: Any, prefixes: tuple[str, ...]) -> None:
    for member in family:
        if member is PCFParameter.Q_MGR_UOW:
            # MQCACF_Q_MGR_UOW_ID, its text, has the name.
            assert member == CMQCFC.MQBACF_Q_MGR_UOW_ID
            continue
        if member in (PCFParameter.CHANNEL_LAST_MSG_DATE, PCFParameter.CHANNEL_LAST_MSG_TIME):
            # MQCACF_LAST_MSG_DATE and MQCACF_LAST_MSG_TIME, of subscriptions, have the names.
            assert int(member) == getattr(CMQCFC, f"MQCACH_{member.name.removeprefix('CHANNEL_')}")
            continue
        numbers = {getattr(CMQCFC, prefix + member.name, None) for prefix in prefixes}
        assert int(member) in numbers, member.name
