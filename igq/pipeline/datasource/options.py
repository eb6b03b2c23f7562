"""The options that all data sources share, and the errors about wrong values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from igq.pipeline.errors import PipelineError
from sharedq.redis.outage import OUTAGE_S

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from sharedq.selectors.selector import Selector
    from sharedq.settings.values import Settings

#: The options that say which queues are read. A query has one of them.
_QUEUES = ("queue", "queues", "queuePattern")
#: Options that Spark adds.
_OF_SPARK = ("path", "paths")
#: A pattern for names of queues.
_PATTERN = re.compile(r"[A-Za-z0-9./_%*?]{1,48}")
#: Units of a length of time, in seconds.
_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def check_chosen(schema: StructType, table: StructType) -> None:
    """Check a schema that was given to ``spark.read``: it may have some of a table's columns, in any order.

    Raises:
        PipelineError: a column is not in the table, has another type, or comes twice.
    """
    types = {field.name: field.dataType for field in table.fields}
    names = schema.fieldNames()
    for field in schema.fields:
        if field.name not in types:
            raise PipelineError(f"schema: there is no column {field.name}; allowed: {', '.join(types)}")
        if field.dataType != types[field.name]:
            raise PipelineError(f"schema: {field.name} is {types[field.name].simpleString()}")
        if names.count(field.name) > 1:
            raise PipelineError(f"schema: {field.name} comes {names.count(field.name)} times")


class SourceOptions:
    """The options of one read or write. Their names ignore case, as everywhere in Spark.

    Args:
        allowed: names besides ``group`` and ``url``. Errors do not mention names that begin with an underscore.

    Raises:
        PipelineError: an option that is not known.
    """

    def __init__(self, given: Mapping[str, str], allowed: Collection[str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        names = ("group", "url", *allowed)
        known = {name.lower() for name in (*names, *_OF_SPARK)}
        unknown = sorted(set(self._given) - known)
        if unknown:
            raise PipelineError(f"unknown option {unknown[0]}; allowed: {', '.join(_told(names))}")

    def text(self, name: str, default: str = "") -> str:
        return self._given.get(name.lower(), default).strip()

    def required(self, name: str, what: str) -> str:
        """The option. Raises PipelineError: it is missing; *what* says what it is."""
        value = self.text(name)
        if not value:
            raise PipelineError(f"the option {name} is missing: {what}")
        return value

    def managers(self) -> str:
        """The option ``qmgr``: the name of a manager, several names separated by commas, the group's, or ``""``.

        Raises:
            PipelineError: one of them cannot be a name.
        """
        names = [name.strip().removeprefix("*") for name in self.text("qmgr").split(",")]
        if len(names) > 1 and not all(names):
            raise PipelineError(f"qmgr={self.text('qmgr')}: allowed: names separated by commas, or the group's name")
        return ",".join(names)

    def queues(self) -> str:
        """The queues to read: names separated by commas, in order; or a pattern, which has a ``*`` or ``?``.

        Raises:
            PipelineError: none is given, or in two ways, or one of them cannot be a name.
        """
        given = [name for name in _QUEUES if self.text(name)]
        if not given:
            raise PipelineError(
                "the option queue is missing: the name of the queue to read; or queues, or queuePattern"
            )
        if len(given) > 1:
            raise PipelineError(f"{given[0]} and {given[1]}: allowed: one of {', '.join(_QUEUES)}")
        (name,), text = given, self.text(given[0])
        names = [each.strip() for each in text.split(",")]
        if name == "queue" and len(names) > 1:
            raise PipelineError(f"queue={text}: allowed: one name; the option queues takes several")
        if not all(names):
            raise PipelineError(f"{name}={text}: allowed: names separated by commas")
        if name == "queuePattern":
            # A pattern without a star means the queue of that name.
            if not _PATTERN.fullmatch(text):
                raise PipelineError(f"{name}={text}: allowed: a name with * for any characters and ? for one")
        elif "*" in text or "?" in text:
            raise PipelineError(f"{name}={text}: allowed: names; the option queuePattern takes * and ?")
        return ",".join(sorted(set(names)))

    def seconds(self, name: str, default: str) -> float:
        """A length of time in seconds, such as ``15m``. Raises PipelineError: it is not one."""
        text = self.text(name, default)
        found = re.fullmatch(r"([0-9]{1,9}) ?(ms|s|m|min|h|d)", text)
        if found is None:
            raise PipelineError(f"{name}={text}: allowed: a whole number with ms, s, m, h or d, such as 15m")
        return int(found[1]) * _UNITS_S[found[2]]

    def selector(self) -> Selector | None:
        """The option ``selector``, a selection string; None where every message fits. Raises MQIError: 2459, ..."""
        text = self.text("selector")
        if not text:
            return None
        from sharedq.selectors.selector import selector_for

        return selector_for(text)

    def outage_s(self) -> int:
        """The seconds for which Redis or the queue managers may be away. Raises PipelineError: it is no number."""
        return self.number("outage_s", OUTAGE_S, least=0)

    def number(self, name: str, default: int, *, least: int = 1) -> int:
        """A whole number from *least* on. Raises PipelineError: it is not one."""
        text = self.text(name, str(default))
        if not (text.isascii() and text.isdecimal() and int(text) >= least):
            raise PipelineError(f"{name}={text}: allowed: whole numbers from {least} on")
        return int(text)

    def flag(self, name: str, *, default: bool) -> bool:
        """A truth value. Raises PipelineError: it is not one."""
        text = self.text(name, str(default)).lower()
        if text not in ("true", "false"):
            raise PipelineError(f"{name}={text}: allowed: true, false")
        return text == "true"

    def settings(self) -> Settings:
        """The settings in force, with the group and URL of the options. The default URL is the embedded server's.

        Raises:
            PipelineError: no URL is set, and no embedded server runs.
            ConfigError: a setting, or one of these options, cannot be used.
        """
        # Import it here: Spark imports this module in many processes that need no settings.
        from sharedq.settings.loader import load_settings, with_place

        given_as = {"group": "option group", "redis_url": "option url"}
        settings = with_place(load_settings(), self.text("group"), self.text("url"), given_as)
        if settings.redis_url:
            return settings
        from sharedq.redis.embedded import EmbeddedRedis

        url = EmbeddedRedis.running_url(settings.data_dir)
        if url is None:
            where = f"no embedded server runs in {settings.data_dir}"
            raise PipelineError(f"where is Redis? {where}: give the option url, or set IGQ_REDIS_URL")
        return settings.model_copy(update={"redis_url": url})


def _told(names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if not name.startswith("_"))
