"""The folders of an MQRFH2: text in a syntax like XML, each with properties, or with data of a program's own.

It reads one element with elements in it, attributes in either kind of quotes, the five entities of XML and numbers
of characters. Anything else of XML (comments, CDATA, processing instructions, declarations) makes a folder unreadable.

Source: IBM MQ, "NameValueData", "MQRFH2 folder restrictions", "Mapping property descriptor fields into MQRFH2 headers".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from sharedq.mqi.constants import PropertyContext, PropertyCopy, PropertySupport, PropertyType
from sharedq.mqi.structures import MQPD
from sharedq.properties.names import (
    COMPATIBLE_FOLDERS,
    PROPERTY_FOLDERS,
    USER_FOLDER,
    is_accessible,
    name_at,
    place_of,
)
from sharedq.properties.values import TYPES, WORDS, Value, text_of, value_of

_NAME: Final = r"[^\s<>/=&'\"!?]+"
_TAG: Final = re.compile(
    rf"<(/?)({_NAME})((?:\s+{_NAME}\s*=\s*(?:'[^'<>]*'|\"[^\"<>]*\"))*)\s*(/?)>",
    re.ASCII,
)
_ATTRIBUTE: Final = re.compile(rf"({_NAME})\s*=\s*(?:'([^'<>]*)'|\"([^\"<>]*)\")", re.ASCII)
_ENTITY: Final = re.compile(r"&(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z]+);")
_ENTITIES: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
#: Of XML, for texts between tags and in attributes. Its module in the standard library imports one that opens URLs.
_TEXT_MARKS: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTED_MARKS: Final = _TEXT_MARKS | str.maketrans({"'": "&apos;", '"': "&quot;"})
#: Types that JMS does not write, because each of its own properties has its type.
_IMPLIED: Final = {"jms.Exp": "i8", "jms.Tms": "i8", "jms.Pri": "i4", "jms.Dlv": "i4", "jms.Seq": "i4"}
#: Elements in each other, at most.
_MOST_LEVELS: Final = 100
_BLANKS: Final = " \t\r\n\0"
#: Where each value of a property descriptor stands in an element.
_COPIES: Final = {
    "forward": PropertyCopy.FORWARD,
    "publish": PropertyCopy.PUBLISH,
    "reply": PropertyCopy.REPLY,
    "report": PropertyCopy.REPORT,
    "all": PropertyCopy.ALL,
    "default": PropertyCopy.DEFAULT,
    "none": PropertyCopy.NONE,
}
_SUPPORTS: Final = {
    "optional": PropertySupport.OPTIONAL,
    "local": PropertySupport.REQUIRED_IF_LOCAL,
    "required": PropertySupport.REQUIRED,
}


class FolderError(ValueError):
    """A folder cannot be read."""


@dataclass(slots=True)
class Property:
    """One property.

    Attributes:
        name: as it is kept, see ``names``.
        unknown_type: the word of a type that nobody knows; the value is its text then.
    """

    name: str
    type_: PropertyType
    value: Value
    descriptor: MQPD = field(default_factory=MQPD)
    unknown_type: str = ""


@dataclass(slots=True)
class Element:
    """An element of a folder: its attributes, its text, the elements in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    elements: list[Element] = field(default_factory=list)


# -- reading -------------------------------------------------------------------------------------------------


def folder_name(text: str) -> str:
    """The name of a folder, whatever else is in it. Raises FolderError: it has none."""
    return _root(text).name


def has_properties(text: str) -> bool:
    """Whether a folder is one of properties, by its name or because it says so.

    Raises:
        FolderError: it cannot be told.
    """
    root = _root(text)
    return root.name in PROPERTY_FOLDERS or root.attributes.get("content") == "properties"


def is_compatible(text: str) -> bool:
    """Whether MQPROP_COMPATIBILITY returns all properties of a message that has this folder of properties."""
    return folder_name(text) in COMPATIBLE_FOLDERS


def _root(text: str) -> Element:
    match = _TAG.match(text.lstrip(_BLANKS))
    if match is None or match[1]:
        raise FolderError(f"no element begins at {text[:20]!r}")
    return Element(match[2], _attributes(match[3]))


def parse_folder(text: str) -> Element:
    """The element that a folder is. Raises FolderError: it is not in the syntax above."""
    text = text.strip(_BLANKS)
    outside = Element("")
    stack, at = [outside], 0
    while at < len(text):
        match = _TAG.match(text, at)
        if match is None:
            raise FolderError(f"no element begins or ends at {text[at : at + 20]!r}")
        closes, name, attributes, is_empty = match.groups()
        if closes:
            if len(stack) == 1 or stack[-1].name != name or attributes or is_empty:
                raise FolderError(f"</{name[:80]}> does not end what is open")
            stack.pop()
        else:
            element = Element(name, _attributes(attributes))
            stack[-1].elements.append(element)
            if not is_empty:
                stack.append(element)
        at = match.end()
        end = text.find("<", at)
        between = text[at : end if end >= 0 else len(text)]
        if between:
            if len(stack) == 1:
                raise FolderError(f"{between[:20]!r} is in no element")
            stack[-1].text += _unescaped(between)
            at += len(between)
        if len(stack) > _MOST_LEVELS:
            raise FolderError("too many elements are in each other")
    if len(stack) > 1 or len(outside.elements) != 1:
        raise FolderError("a folder is one element")
    return outside.elements[0]


def _attributes(text: str) -> dict[str, str]:
    return {name: _unescaped(one or other) for name, one, other in _ATTRIBUTE.findall(text)}


def _unescaped(text: str) -> str:
    if "&" not in text:
        return text
    if _ENTITY.sub("", text).find("&") >= 0:
        raise FolderError(f"an entity is not known: {text[:40]!r}")
    return _ENTITY.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    word = match[1]
    try:
        if word.startswith("#"):
            found = chr(int(word[2:], 16) if word[1] == "x" else int(word[1:]))
            # Half of a surrogate pair is no character: nothing could write it again.
            found.encode()
            return found
        return _ENTITIES[word]
    except (KeyError, ValueError, OverflowError):
        raise FolderError(f"an entity is not known: {match[0]}") from None


def read_properties(text: str) -> list[Property]:
    """The properties that a folder has, in their order; those that no program can name are left out.

    Raises:
        FolderError: it is not in the syntax above, or a value is none of its type.
    """
    root = parse_folder(text)
    return [each for element in root.elements for each in _properties_in(root.name, (), element)]


def _properties_in(folder: str, path: tuple[str, ...], element: Element) -> Iterator[Property]:
    path = (*path, element.name)
    if element.elements:
        for each in element.elements:
            yield from _properties_in(folder, path, each)
    elif is_accessible(folder, path):
        yield _property(name_at(folder, path), element)


def _property(name: str, element: Element) -> Property:
    descriptor = _descriptor(element.attributes)
    if element.attributes.get("xsi:nil") in ("true", "1"):
        return Property(name, PropertyType.NULL, None, descriptor)
    word = element.attributes.get("dt") or _IMPLIED.get(name, "string")
    type_ = TYPES.get(word)
    if type_ is None:
        return Property(name, PropertyType.STRING, element.text, descriptor, unknown_type=word)
    try:
        return Property(name, type_, value_of(type_, element.text), descriptor)
    except ValueError as error:
        raise FolderError(f"{name[:80]}: {error}") from None


def _descriptor(attributes: dict[str, str]) -> MQPD:
    descriptor = MQPD()
    if attributes.get("context") == "user":
        descriptor.context = int(PropertyContext.USER_CONTEXT)
    for word in ("sr", "sx", "sa"):
        if attributes.get(word) in _SUPPORTS:
            descriptor.support = int(_SUPPORTS[attributes[word]])
            break
    if "copy" in attributes:
        words = attributes["copy"].replace(" ", "").split(",")
        descriptor.copy_options = sum({int(_COPIES[word]) for word in words if word in _COPIES})
    return descriptor


# -- writing -------------------------------------------------------------------------------------------------


def write_folders(properties: Iterable[Property]) -> list[str]:
    """The folders that carry these properties. Those of JMS come first, as JMS writes them."""
    roots: dict[str, Element] = {}
    for each in properties:
        folder, path = place_of(each.name)
        parent = roots.setdefault(folder, Element(folder))
        for group in path[:-1]:
            last = parent.elements[-1] if parent.elements else None
            if last is None or last.name != group or not last.elements:
                last = Element(group)
                parent.elements.append(last)
            parent = last
        parent.elements.append(_element(path[-1], each))
    for name, root in roots.items():
        if name not in PROPERTY_FOLDERS:
            root.attributes["content"] = "properties"
    first = [name for name in ("mcd", "jms", "mqext", USER_FOLDER) if name in roots]
    return [_written(roots[name]) for name in (*first, *(name for name in roots if name not in first))]


def _element(name: str, each: Property) -> Element:
    attributes: dict[str, str] = {}
    if each.type_ == PropertyType.NULL:
        attributes["xsi:nil"] = "true"
    elif each.unknown_type:
        attributes["dt"] = each.unknown_type
    elif WORDS[each.type_] != _IMPLIED.get(each.name, "string"):
        attributes["dt"] = WORDS[each.type_]
    descriptor = each.descriptor
    if descriptor.context == PropertyContext.USER_CONTEXT:
        attributes["context"] = "user"
    if descriptor.copy_options != PropertyCopy.DEFAULT:
        attributes["copy"] = _copies(descriptor.copy_options)
    if descriptor.support != PropertySupport.OPTIONAL and each.name.startswith("mq."):
        is_local = descriptor.support == PropertySupport.REQUIRED_IF_LOCAL
        attributes["sx" if is_local else "sr"] = "local" if is_local else "required"
    return Element(name, attributes, text_of(each.type_, each.value))


def _copies(options: int) -> str:
    if options & PropertyCopy.ALL or not options:
        return "all" if options else "none"
    words = ("forward", "publish", "reply", "report")
    return ",".join(word for word in words if options & _COPIES[word])


def _written(element: Element) -> str:
    attributes = "".join(f" {name}='{_quoted(value)}'" for name, value in element.attributes.items())
    inner = "".join(_written(each) for each in element.elements) or escaped(element.text)
    return f"<{element.name}{attributes}>{inner}</{element.name}>"


def escaped(text: str) -> str:
    """Write a text so that it can stand between tags."""
    return text.translate(_TEXT_MARKS)


def _quoted(text: str) -> str:
    return text.translate(_QUOTED_MARKS)
