"""Writes definitions as MQSC that ``igq mqsc`` takes back: the same text for the same definitions, whenever it is made.

Without *every_attribute* an attribute is left out only if DEFINE gives it the same value: it equals igq's default and
every SYSTEM.DEFAULT.*.QUEUE of its kind. Dates are not written, and neither are dynamic queues, which only programs
make.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from igq.definitions.catalog import AUTHORITY, Catalog, Item, is_dynamic, is_selected, settable
from igq.mqsc.messages import left_out
from igq.operations.group_settings import settings_in_force
from sharedq.members.group import Group
from sharedq.objects.commands.changes import TEMPLATES
from sharedq.objects.definitions.attributes import Attribute
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.definitions.topics import DEFAULT_TOPIC, Topic
from sharedq.objects.store.authorities import AuthorityRecord

_INDENT = "   "


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """The part of the group to export.

    Attributes:
        manager: only objects that belong to this manager. Its commands then name no CMDSCOPE, so another manager can
            run them. Empty: everything.
        pattern: a name, or its beginning and ``*``. An authority record goes by its profile.
        kinds: kinds of objects as MQSC names them. Empty: all.
        every_attribute: also write attributes that have their default value.
        one_line: a command a line, instead of an attribute a line.
    """

    manager: str = ""
    pattern: str = "*"
    kinds: tuple[str, ...] = ()
    every_attribute: bool = False
    one_line: bool = False

    @property
    def is_everything(self) -> bool:
        """Whether nothing of the group is excluded."""
        return not self.manager and self.pattern == "*" and not self.kinds


@dataclass(frozen=True, slots=True)
class Exported:
    """An export as lines, and the lines about what could not be exported."""

    lines: list[str]
    missing: list[str] = field(default_factory=list)


def export(group: Group, catalog: Catalog, selection: ExportSelection) -> Exported:
    """Return the selected definitions as lines of MQSC."""
    writer = _Writer(catalog.items, selection)
    lines = [f"* Definitions of the queue-sharing group {group.name}"]
    if selection.is_everything:
        # They are no MQSC. The first manager of a group takes them from its own settings.
        lines += [f"* igq group set {name}={value}" for name, value in settings_in_force(group).items()]
    missing = left_out(catalog.left_out)
    lines += [f"* {line}" for line in missing]
    wanted = [item for item in catalog.items if is_selected(item, selection.pattern, selection.kinds)]
    if not selection.manager:
        lines += writer.section("", [item for item in wanted if not item.qmgr and item.kind != AUTHORITY])
    for qmgr in sorted({item.qmgr for item in wanted if item.qmgr}):
        if selection.manager in ("", qmgr):
            lines += writer.section(f"Queue manager {qmgr}", [item for item in wanted if item.qmgr == qmgr])
    if not selection.manager:
        lines += writer.section("Authority records", [item for item in wanted if item.kind == AUTHORITY])
    return Exported(lines, missing)


class _Writer:
    """Writes items as commands. It knows the whole catalog, because that says which attributes DEFINE would give."""

    def __init__(self, catalog: Sequence[Item], selection: ExportSelection) -> None:
        self._selection = selection
        self._group_objects = {(item.kind, item.name): item for item in catalog if item.disposition == "GROUP"}
        templates = {*TEMPLATES.items(), (Topic.kind, DEFAULT_TOPIC)}
        self._templates = [item for item in catalog if (item.kind, item.name) in templates]

    def section(self, title: str, items: Iterable[Item]) -> list[str]:
        """Return the commands for *items*, with an empty line and the title as a comment before them."""
        commands = [lines for item in items if (lines := self._command(item))]
        if not commands:
            return []
        return ["", *([f"* {title}"] if title else []), *(line for command in commands for line in command)]

    def _command(self, item: Item) -> list[str]:
        parts = list(self._parts(item))
        if len(parts) < 2:
            return []
        if self._selection.one_line:
            return [" ".join(parts)]
        return [
            f"{_INDENT if number else ''}{part}{' +' if number < len(parts) - 1 else ''}"
            for number, part in enumerate(parts)
        ]

    def _parts(self, item: Item) -> Iterator[str]:
        """Yield the command, then each of its parameters. Nothing, or the command alone: it is not needed."""
        definition = item.definition
        if isinstance(definition, AuthorityRecord):
            yield f"SET {AUTHORITY}"
            yield f"PROFILE({quoted(definition.profile)})"
            yield f"OBJTYPE({definition.object_type})"
            yield f"PRINCIPAL({quoted(definition.principal)})"
            yield f"AUTHADD({','.join(definition.authorities) or 'NONE'})"
            return
        if is_dynamic(item) or (item.disposition == "COPY" and self._is_plain_copy(item)):
            return
        written = list(self._attributes(item, definition))
        if isinstance(definition, QueueManagerAttributes):
            if written:
                yield "ALTER QMGR"
                yield from self._scope(item)
                yield from written
            return
        yield f"DEFINE {item.kind}({quoted(item.name)})"
        if item.disposition:
            yield f"QSGDISP({item.disposition})"
        yield from self._scope(item)
        yield from written
        yield "REPLACE"

    def _scope(self, item: Item) -> Iterator[str]:
        if item.qmgr and not self._selection.manager:
            yield f"CMDSCOPE({quoted(item.qmgr)})"

    def _attributes(self, item: Item, definition: ObjectDefinition) -> Iterator[str]:
        bases = self._bases(item, definition)
        for attribute in settable(definition):
            value = getattr(definition, attribute.field)
            if attribute.keyword == CFStruct.kind and not (value or item.kind == "QMODEL"):
                # Only shared queues and some models have a structure, and DEFINE refuses it for others.
                continue
            is_given = not bases or any(getattr(base, attribute.field) != value for base in bases)
            if is_given or self._selection.every_attribute:
                yield text_of(attribute, value)

    def _bases(self, item: Item, definition: ObjectDefinition) -> list[ObjectDefinition]:
        """Return the definitions from which DEFINE may take an attribute that it does not set."""
        if item.disposition == "COPY":
            known = self._group_objects.get((item.kind, item.name))
            return [] if known is None or isinstance(known.definition, AuthorityRecord) else [known.definition]
        # Constructed: a shared queue's model demands a structure, and here only the defaults are wanted.
        default = type(definition).model_construct(name=item.name)
        found: list[ObjectDefinition] = [default]
        if item.kind in (*QUEUE_KINDS, Topic.kind):
            # DEFINE does not take these from a template.
            found += [
                each.definition.model_copy(update={"description": "", "structure": "", "topic_string": ""})
                for each in self._templates
                if each.kind == item.kind and not isinstance(each.definition, AuthorityRecord)
            ]
        return found

    def _is_plain_copy(self, item: Item) -> bool:
        """Whether the definition of the GROUP object makes this copy."""
        known = self._group_objects.get((item.kind, item.name))
        if known is None or isinstance(known.definition, AuthorityRecord):
            return False
        copy = known.definition.model_copy(update={"disposition": "COPY"})
        return isinstance(item.definition, ObjectDefinition) and copy.is_same_as(item.definition)


def text_of(attribute: Attribute, value: str | int) -> str:
    """Return an attribute as a command sets it. Free text is in quotes."""
    if attribute.mqsc.is_bare:
        return attribute.text(value)
    if attribute.mqsc.is_list and not attribute.mqsc.words:
        return f"{attribute.keyword}({','.join(map(quoted, str(value).split(','))) if value else ''})"
    is_free_text = not attribute.is_number and not attribute.mqsc.words
    return f"{attribute.keyword}({quoted(str(value)) if is_free_text else attribute.text(value)})"


def quoted(text: str) -> str:
    """Return *text* in MQSC's quotes. Empty text is a blank."""
    return "'" + (text or " ").replace("'", "''") + "'"
