"""Names of objects and structures, and generic names. Pure."""

from __future__ import annotations

import re

#: The transmit queue: defined once, with parts (``sharedq.objects.store.parts``).
SYSTEM_QSG_TRANSMIT_QUEUE = "SYSTEM.QSG.TRANSMIT.QUEUE"
#: Separates its name and a manager's in the name of a part in an application structure. No object name contains it.
PART_SEPARATOR = "@"

#: The most names of a list.
NAMES_MAX = 256

_OBJECT_NAME = re.compile(r"[A-Za-z0-9./_%]{1,48}")
_STRUCTURE_NAME = re.compile(r"[A-Z][A-Z0-9]{0,11}")


def check_object_name(name: str) -> str:
    """Return *name* if it can name a queue.

    Raises:
        ValueError: it is empty, longer than 48 characters, or has characters other than A-Z a-z 0-9 . / _ %
    """
    if not _OBJECT_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no object name: 1 to 48 of A-Z a-z 0-9 . / _ %")
    return name


def queue_of(name: str) -> str:
    """Return the users' name of the queue that its structure calls *name*."""
    return name.partition(PART_SEPARATOR)[0]


def check_optional_name(name: str) -> str:
    """Check like `check_object_name`. Blank is allowed and becomes empty."""
    return check_object_name(name) if name.strip() else ""


def check_structure_name(name: str) -> str:
    """Return *name* if it can name an application structure.

    Raises:
        ValueError: it is not 1 to 12 of A-Z 0-9 with a letter first.
    """
    if not _STRUCTURE_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no structure name: 1 to 12 of A-Z 0-9, the first a letter")
    return name


def check_optional_structure(name: str) -> str:
    """Check like `check_structure_name`. Blank is allowed and becomes empty."""
    return check_structure_name(name) if name.strip() else ""


def is_generic(pattern: str) -> bool:
    """Whether *pattern* is generic: it means all names that begin with it."""
    return pattern.endswith("*")


def matches(pattern: str, name: str) -> bool:
    """Whether *pattern*, a name or a generic name, means *name*."""
    return name.startswith(pattern[:-1]) if is_generic(pattern) else name == pattern


def check_names(names: str) -> str:
    """Check each of several names, with commas between them: see `check_object_name`."""
    listed = names.split(",") if names else []
    if len(listed) > NAMES_MAX:
        raise ValueError(f"there can be at most {NAMES_MAX} names")
    return ",".join(map(check_object_name, listed))
