"""The log of a manager: lines with IBM's message ids on standard output and in NAME.log."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TextIO

import structlog

from igq.output.messages import MESSAGES, text_of
from sharedq.display.text import visible

#: Keys of a JSON line that every event has; a field of the event with such a name gets an underscore after it.
_OWN_KEYS = ("time", "level", "manager", "id", "text")
#: The level of a message by the last letter of its id.
_LEVELS = {"E": "error", "W": "warning"}


class LogFile:
    """The log file of a manager. If the manager creates it, only its user may read it.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file = self._open()

    def write(self, text: str) -> None:
        """Append *text*. Raises OSError."""
        with self._lock:
            self._file.write(text)

    def flush(self) -> None:
        """Write out what is buffered. Raises OSError."""
        with self._lock:
            self._file.flush()

    def reopen(self) -> None:
        """Go on in the file that has the name now, after a log rotation gave this file another name.

        Raises:
            OSError: the new file cannot be opened; lines go on to the old one.
        """
        new = self._open()
        with self._lock:
            old, self._file = self._file, new
            old.close()

    def _open(self) -> TextIO:
        return open(self._path, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600))


def start_log(
    qmgr: str, data_dir: Path, format_: str = "text", level: str = "info", *, is_shown: bool = True
) -> tuple[structlog.typing.FilteringBoundLogger, LogFile]:
    """Log to standard output and to ``QMGR.log`` in *data_dir*. Returns the manager's logger and its file.

    An event needs the fields that its text in `igq.output.messages` names. Events of libraries are written as they
    are.

    Args:
        format_: ``text`` or ``json``.
        level: the least level that is written.
        is_shown: log to standard output, too.

    Raises:
        OSError: the file cannot be opened.
    """
    file = LogFile(data_dir / f"{qmgr}.log")
    structlog.configure(
        processors=_processors(format_),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _Tee(sys.stdout, file) if is_shown else _Tee(file),
        cache_logger_on_first_use=False,
    )
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger().bind(qmgr=qmgr)
    return logger, file


def log_message(log: structlog.typing.FilteringBoundLogger, message_id: str, fields: Mapping[str, Any]) -> None:
    """Log the message *message_id* at the level that its last letter says."""
    getattr(log, _LEVELS.get(message_id[-1], "info"))(message_id, **fields)


def log_to_stderr(format_: str = "text", level: str = "info") -> None:
    """Log to standard error, in a process whose manager has the log: the same lines, and what ends the process."""
    structlog.configure(
        processors=_processors(format_),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    sys.excepthook = _log_what_ended_it
    threading.excepthook = lambda ended: _log_what_ended_it(ended.exc_type, ended.exc_value, ended.exc_traceback)


def _log_what_ended_it(kind: type[BaseException], error: BaseException | None, traceback: TracebackType | None) -> None:
    structlog.get_logger().error("ended by an error", exc_info=(kind, error, traceback))


class _Stream(Protocol):
    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class _Tee:
    """Writes each line to several streams. A reader that has gone must not end a queue manager."""

    def __init__(self, *streams: _Stream) -> None:
        self._streams = streams

    def msg(self, line: str) -> None:
        for stream in self._streams:
            try:
                stream.write(line + "\n")
                stream.flush()
            except (OSError, ValueError):
                continue

    debug = info = warning = error = critical = exception = msg


def _processors(format_: str) -> list[structlog.typing.Processor]:
    render = _as_json if format_ == "json" else _as_text
    # A list, because structlog's own capture_logs copies it.
    return [structlog.processors.add_log_level, structlog.processors.format_exc_info, render]


def _as_text(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    """Write an event for people: one line, and an indented traceback after it."""
    fields = dict(event)
    name = str(fields.pop("event"))
    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
    if name in MESSAGES:
        return visible(f"{at} {name} {text_of(name, fields)}")
    exception = fields.pop("exception", "")
    level, qmgr = fields.pop("level", ""), fields.pop("qmgr", "")
    details = " ".join(f"{key}={value}" for key, value in fields.items())
    line = visible(" ".join(part for part in (at, level, str(qmgr), name, details) if part))
    return f"{line}\n{_indented(exception)}" if exception else line


def _as_json(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    """Write an event for machines: one object with the message id, its text, and its fields as keys."""
    fields = dict(event)
    name = str(fields.pop("event"))
    is_message = name in MESSAGES
    line: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": str(fields.pop("level", "")),
        "manager": str(fields.get("qmgr", "")),
        "id": name if is_message else "",
        "text": text_of(name, fields) if is_message else name,
    }
    fields.pop("qmgr", None)
    line |= {f"{key}_" if key in _OWN_KEYS else key: value for key, value in fields.items()}
    return json.dumps({key: _as_value(value) for key, value in line.items()})


def _as_value(value: Any) -> Any:
    """Return *value* as JSON can have it: numbers, booleans and nulls stay, everything else is text.

    Numbers that JSON does not know and halves of characters are written out.
    """
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and value - value == 0):
        return value
    return str(value).encode("utf-8", "backslashreplace").decode()


def _indented(traceback: str) -> str:
    """Indent each line, so that none looks like a line of the log."""
    return "\n".join(f"    {visible(line)}" for line in traceback.splitlines())
