"""The tables of PCF: commands with their numbers, and the parameter of each attribute, figure and option."""

from __future__ import annotations

from collections.abc import Iterable

from docs.generator.markdown import code, table
from igq.mqsc.language.parameters import OPTIONS, REPORTS
from igq.mqsc.language.words import COMMANDS, OBJECTS, CommandWords
from sharedq.mqi.constants import CharSelector, IntSelector
from sharedq.mqi.constants.pcf import PCFCommand, PCFParameter
from sharedq.objects.definitions.attributes import Attribute, attributes_of
from sharedq.objects.definitions.inert_attributes import MODELS
from sharedq.objects.definitions.parameters import FIRST_BYTE_STRING
from sharedq.pymqi import CMQCFC

_FAMILIES = ("MQIACF_", "MQIACH_", "MQCACF_", "MQCACH_", "MQBACF_", "MQGACF_")
_NAMED_BY = {each.name: each.named_by for each in OBJECTS}
_ATTRIBUTES = {each.name: each.shows for each in OBJECTS}


def command_table() -> str:
    """Each command with its number, the same command of MQSC, and the parameters that name the object."""
    rows = []
    for each in COMMANDS:
        objects = "|".join(each.objects)
        mqsc = code(f"{each.verb} {objects}")
        if each.number is not None:
            rows.append((_command(each.number), str(int(each.number)), mqsc, _parameters_of(each)))
        if each.like is not None:
            number, named_by = each.like
            rows.append((_command(number), str(int(number)), f"{mqsc} {code('LIKE')}", _parameter(named_by)))
        if each.names is not None:
            number, names = each.names
            rows.append((_command(number), str(int(number)), f"{mqsc}, names only", _parameter(names)))
    return table(("Command", "Number", "As in MQSC", "Parameters that name objects and attributes"), sorted(rows))


def attribute_sections() -> str:
    """A table of parameters for the attributes of each kind of object."""
    parts = [f"### {kind}\n\n{_table(attributes_of(model))}" for kind, model in MODELS.items()]
    return "\n\n".join(parts)


def figure_sections() -> str:
    """A table of parameters for each report."""
    parts = []
    for kind, reports in REPORTS.items():
        for report, figures in reports.items():
            parts.append(f"### {kind}{f' {report}' if report else ''}\n\n{_table(figures)}")
    return "\n\n".join(parts)


def option_table() -> str:
    """The parameters of the options of commands."""
    return _table(OPTIONS)


def _parameters_of(each: CommandWords) -> str:
    kind = each.objects[0]
    found = [each.named_by or _NAMED_BY[kind], _ATTRIBUTES[kind] if each.verb == "DISPLAY" else 0]
    return ", ".join(_parameter(number) for number in found if number)


def _command(number: PCFCommand) -> str:
    return code(f"MQCMD_{number.name}")


def _parameter(number: int) -> str:
    if number in list(PCFParameter):
        names = [name for name, value in vars(CMQCFC).items() if value == number and name.startswith(_FAMILIES)]
        # IBM MQ has a name in two families with two numbers now and then, which an enumeration cannot have.
        return code(next((name for name in names if name.endswith(f"_{PCFParameter(number).name}")), names[0]))
    if number in list(IntSelector):
        return code(f"MQIA_{IntSelector(number).name}")
    return code(f"MQCA_{CharSelector(number).name}")


def _structure(attribute: Attribute, number: int) -> str:
    if attribute.is_integer:
        return "MQCFIL" if attribute.mqsc.is_list else "MQCFIN"
    if number >= FIRST_BYTE_STRING:
        return "MQCFBS"
    return "MQCFSL" if attribute.mqsc.is_list else "MQCFST"


def _table(attributes: Iterable[Attribute]) -> str:
    rows = []
    for each in attributes:
        if each.mqsc.selector is None:
            continue
        number = int(each.mqsc.selector)
        keywords = ", ".join(code(keyword) for keyword in each.keywords if keyword)
        words = ", ".join(f"{word}={value}" for word, value in each.mqsc.words.items() if word)
        if len(words) > 110:
            words = "as IBM's"
        rows.append((keywords, _parameter(number), str(number), _structure(each, number), words))
    return table(("Keyword", "Parameter", "Number", "Structure", "Values"), rows)
