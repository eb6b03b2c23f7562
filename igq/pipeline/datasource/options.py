"""The options that all data sources share, and the errors about wrong values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from igq.pipeline.errors import PipelineError
from sharedq.redis.outage import OUTAGE_S

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from sharedq.settings.values import Settings

#: Options that Spark adds.
_OF_SPARK = ("path", "paths")


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
        """The option, or *default*."""
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
