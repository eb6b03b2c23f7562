"""Reads the settings: defaults, then the TOML file that IGQ_CONFIG names, then the environment.

File and environment are each checked whole, before they are put together, so that an error names the place it
is in, and a wrong line in the file is found even where the environment covers it.
"""

from __future__ import annotations

import difflib
import errno
import logging
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sharedq.settings.directories import absolute, check_name, default_data_dir, make_private
from sharedq.settings.redis_url import check_redis_url, mask_password
from sharedq.settings.text_files import NotTextError, read_text
from sharedq.settings.values import ConfigError, Settings

#: Environment variable -> field of Settings.
ENVIRONMENT = {f"IGQ_{name.upper()}": name for name in Settings.model_fields}
#: Others that are ours: the file's name, and which server program is the embedded one
#: (``sharedq.redis.embedded_server``).
OTHER_VARIABLES = ("IGQ_CONFIG", "IGQ_REDIS_SERVER")
_PATHS = (
    "data_dir",
    "backup_dir",
    "console_certificate",
    "console_key",
    "console_users",
    "console_oidc_client_secret_file",
    "redis_url_file",
    "metrics_token_file",
    "metrics_certificate",
    "metrics_key",
)
#: Two settings for one thing: the environment's beats the file's, and one place may not have both.
_URLS = ("redis_url", "redis_url_file")
#: A program that has not set up logging has its warnings on standard error.
_LOGGER = logging.getLogger(__name__)
_MENTIONED: list[str] = []
#: How much a name must have in common with one of ours to be taken for it, misspelt.
_MISSPELT = 0.5
#: Names that Kubernetes and Docker set in a container for a service whose name begins with igq.
_OF_SERVICES = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?)$")


def load_settings(env: Mapping[str, str] | None = None) -> Settings:
    """The settings in force. Reads files and creates none.

    Args:
        env: the environment; None means the process's own. A variable that is set to nothing counts as unset.

    Raises:
        ConfigError: a setting, the file or the data directory cannot be used, or the name of a variable is misspelt.
    """
    env = os.environ if env is None else env
    _check_names(env)
    base: dict[str, Any] = {"data_dir": default_data_dir(env)}
    from_file: dict[str, Any] = {}
    if env.get("IGQ_CONFIG"):
        from_file = _read_file(absolute(Path(env["IGQ_CONFIG"]), Path.cwd()), base)
    from_environment = _read_environment(env, base)
    if from_environment.keys() & set(_URLS):
        from_file = {name: value for name, value in from_file.items() if name not in _URLS}
    values = _with_url_of_file(base | from_file | from_environment)
    # Checked again: a relative path got the working directory, which may have any name.
    settings = _made(values, lambda name: f"IGQ_{name.upper()}")
    if settings.is_embedded:
        # A program that reaches its Redis by a URL writes nothing there.
        _check_can_write(settings.data_dir)
    _mention_redis_url(env, settings)
    return settings


def with_place(settings: Settings, group: str, redis_url: str, given_as: Mapping[str, str]) -> Settings:
    """The settings with the group and the URL that somebody gave; those that are ``""`` stay as they are.

    Args:
        given_as: what an error calls ``group`` and ``redis_url``.

    Raises:
        ConfigError: one of them cannot be used.
    """
    told = {name: value for name, value in (("group", group), ("redis_url", redis_url)) if value}
    return _made(settings.model_dump(exclude_unset=True) | told, lambda name: given_as[name])


def with_changes(settings: Settings, changes: Mapping[str, str]) -> Settings:
    """The settings with some changed, as text gives them. Raises ConfigError: one of them cannot be so."""
    return _made(settings.model_dump(exclude_unset=True) | dict(changes), lambda name: name)


def prepare_data_dir(settings: Settings, given_as: str = "IGQ_DATA_DIR") -> Path:
    """The data directory, created for its owner alone if need be, and proved writable.

    Args:
        given_as: what an error calls it.

    Raises:
        ConfigError: it cannot be created or written.
    """
    path = settings.data_dir
    _check_data_dir_name(path, given_as)
    try:
        make_private(path)
        # Permission bits do not tell everything: a read-only mount, a full disk, an ACL.
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"x")
            probe.flush()
    except OSError as error:
        reason = "it is not a directory" if isinstance(error, FileExistsError) else error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = f"the disk is full: {reason}"
        raise _unusable_data_dir(path, reason, given_as) from None
    return path


def _check_names(env: Mapping[str, str]) -> None:
    """Refuse a variable that begins as ours do and is none: the group would be looked for elsewhere, in silence."""
    known = (*ENVIRONMENT, *OTHER_VARIABLES)
    for name in sorted(env):
        if not name.startswith("IGQ_") or name in known or _OF_SERVICES.search(name):
            continue
        near = _nearest(name, known)
        hint = f"did you mean {near}?" if near else f"allowed: {', '.join(known)}"
        raise ConfigError(f"{_shown(name)}: unknown setting; {hint}")


def _nearest(name: str, known: Sequence[str]) -> str:
    """Return the known setting that has all words of *name*, or is spelt alike; ``""`` for none."""
    words = set(name.split("_"))
    with_words = [each for each in known if len(words) > 1 and name != "IGQ_" and words <= set(each.split("_"))]
    bare = {each.removeprefix("IGQ_"): each for each in known}
    alike = difflib.get_close_matches(name.removeprefix("IGQ_"), bare, n=1, cutoff=_MISSPELT)
    return with_words[0] if with_words else bare[alike[0]] if alike else ""


def _mention_redis_url(env: Mapping[str, str], settings: Settings) -> None:
    """Say, once in a process, that a variable which other products read is not read here."""
    if settings.is_embedded and env.get("REDIS_URL") and not _MENTIONED:
        _MENTIONED.append("REDIS_URL")
        _LOGGER.warning("REDIS_URL is not read, the embedded server is used; for a Redis of your own set IGQ_REDIS_URL")


def _read_file(path: Path, base: dict[str, Any]) -> dict[str, Any]:
    try:
        text = read_text(path)
    except (OSError, NotTextError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"IGQ_CONFIG={path}: cannot be read: {reason}; allowed: a TOML file") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # tomllib ends its text with the place: (at line 3, column 9).
        raise ConfigError(f"IGQ_CONFIG={path}: is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"IGQ_CONFIG={path}: is nested too deeply; allowed: lines of NAME = VALUE") from None
    for name, value in values.items():
        if isinstance(value, dict):
            raise ConfigError(f"{path}: [{_shown(name)}]: settings stand in no table; allowed: lines of NAME = VALUE")
    for name in _PATHS:
        # As a path that would be the directory of the file.
        if isinstance(values.get(name), str) and not values[name].strip():
            description = Settings.model_fields[name].description
            raise ConfigError(f"{path}: {name}={values[name]!r}: allowed: {description}")
    # TOML has no type for a path.
    values |= {name: Path(values[name]) for name in _PATHS if isinstance(values.get(name), str)}
    return _with_absolute_paths(_validate(values, base, lambda name: f"{path}: {name}", is_text=False), path.parent)


def _read_environment(env: Mapping[str, str], base: dict[str, Any]) -> dict[str, Any]:
    values = {field: env[variable] for variable, field in ENVIRONMENT.items() if env.get(variable)}
    given = _validate(values, base, lambda name: f"IGQ_{name.upper()}", is_text=True)
    return _with_absolute_paths(given, Path.cwd())


def _with_url_of_file(values: dict[str, Any]) -> dict[str, Any]:
    """The values with the URL of the file ``redis_url_file``, if one is named. No error shows what the file holds."""
    path = values.get("redis_url_file")
    if path is None:
        return values
    if values.get("redis_url") is not None:
        raise ConfigError(f"redis_url_file={_shown(str(path))}: redis_url is set too; allowed: one of them")
    try:
        url = read_text(path).strip()
    except (OSError, NotTextError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"redis_url_file={_shown(str(path))}: cannot be read: {reason}") from None
    try:
        check_redis_url(url)
    except ValueError as error:
        raise ConfigError(f"redis_url_file={_shown(str(path))}: holds no Redis URL: {error}") from None
    return values | {"redis_url": url}


def _with_absolute_paths(values: dict[str, Any], start: Path) -> dict[str, Any]:
    return values | {name: absolute(values[name], start) for name in _PATHS if name in values}


def _validate(
    values: dict[str, Any], base: dict[str, Any], place: Callable[[str], str], *, is_text: bool
) -> dict[str, Any]:
    """The values, typed. Text is converted (IGQ_LEASE_MS=2000); TOML has types, and those must be right."""
    try:
        if is_text:
            settings = Settings.model_validate_strings({name: str(value) for name, value in (base | values).items()})
        else:
            settings = Settings.model_validate(base | values, strict=True)
    except ValidationError as error:
        raise ConfigError(_one_line(error.errors(include_url=False)[0], place)) from None
    return {name: getattr(settings, name) for name in values}


def _made(values: Mapping[str, Any], place: Callable[[str], str]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_one_line(error.errors(include_url=False)[0], place)) from None


def _one_line(error: ErrorDetails, place: Callable[[str], str]) -> str:
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, Settings.model_fields, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(Settings.model_fields)}"
        return f"{place(_shown(name))}: unknown setting; {hint}"
    value = _shown(str(error["input"]))
    if error["type"] == "value_error":
        # A validator of ours has said what is allowed.
        return f"{place(name)}={value}: {error['ctx']['error']}"
    description = Settings.model_fields[name].description or "a Redis URL"
    if isinstance(error["input"], str) and error["type"] in ("int_type", "bool_type"):
        return (
            f"{place(name)}={_shown(error['input'])!r}: this is text, write it without quotes; allowed: {description}"
        )
    return f"{place(name)}={value}: allowed: {description}"


def _shown(value: str) -> str:
    """A value as it can stand in one line: no password, no line ends, not endless."""
    masked = mask_password(value)
    shown = masked if masked.isprintable() else repr(masked)
    return shown if len(shown) <= 200 else shown[:200] + "..."


def _check_can_write(path: Path) -> None:
    """Refuse what can be seen to be unusable, without making anything: `igq status` must leave no trace."""
    _check_data_dir_name(path)
    for candidate in (path, *path.parents):
        try:
            is_there, is_dir = candidate.exists(), candidate.is_dir()
        except OSError as error:
            raise _unusable_data_dir(path, f"{candidate}: {error.strerror}") from None
        if not is_there:
            continue
        if not is_dir:
            raise _unusable_data_dir(path, f"{candidate} is not a directory")
        if not os.access(candidate, os.W_OK | os.X_OK):
            raise _unusable_data_dir(path, f"{candidate} is not writable for you")
        return


def _check_data_dir_name(path: Path, given_as: str = "IGQ_DATA_DIR") -> None:
    try:
        check_name(path)
    except ValueError as error:
        raise ConfigError(f"{given_as}={_shown(str(path))}: {error}") from None


def _unusable_data_dir(path: Path, reason: str, given_as: str = "IGQ_DATA_DIR") -> ConfigError:
    return ConfigError(f"{given_as}={path}: {reason}; allowed: a directory that can be written, or created")
